"""A study: config, plan, journal, runner.

``load``, ``config``         the study file, settled
``design``, ``plan``         what will be attempted, by whom, in which order
``session``, ``lock``        what is there already, and whether it is the same study
``runner``, ``agenda``       what is done next, and how many at a time
``attempting``, ``scoring``  one attempt: tries, score, record
``adapting``, ``states``     one adaptation: what it may see, and the agent state it makes
``ledger``, ``journal``      what is written, durably
``executors/``               what carries out jobs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sipbench.study.api import StudyResult, run_study

__all__ = ["StudyResult", "run_study"]


def __getattr__(name: str) -> Any:
    # Loaded when asked for: parts of the study are needed where running one is not.
    if name in __all__:
        from sipbench.study import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
