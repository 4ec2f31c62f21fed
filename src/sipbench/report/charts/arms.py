"""How each arm of a study looks, the same in all of its charts."""

from __future__ import annotations

from sipbench.report.charts.theme import Look, looks
from sipbench.report.reading import Study

__all__ = ["arm_looks"]


def arm_looks(study: Study) -> dict[str, Look]:
    """The look of each arm, by the name it is shown with."""
    paths = [study.summary.rows[at].path_type.value for at in study.order]
    return dict(zip((study.names[at] for at in study.order), looks(paths), strict=True))
