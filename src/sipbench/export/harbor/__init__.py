"""Cards as Harbor tasks, the format of Terminal-Bench and Terminal-Bench-Science.

==================  ============================================================================
``format``          :class:`HarborFormat`: one card in, the files of one task out
``instruction``     what the agent is told: four fields of the card, and where outputs go
``environment``     the Dockerfile, in the subset that also runs without Docker; inputs; skills
``verifier``        a verifier of its own, without network: the grader, its checks, references
``rewardkit``       the same checks as RewardKit criteria, and judges outside of the reward
``manifest``        ``task.toml``
``authoring``       provenance, the solution's slot, and what the author owes
``science``         the stricter conditions of Terminal-Bench-Science
==================  ============================================================================
"""

from sipbench.export.harbor.format import HarborFormat

__all__ = ["HarborFormat"]
