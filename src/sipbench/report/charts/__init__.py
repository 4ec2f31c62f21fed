"""The charts of a study, in the order of the page.

Each module is one chart: a function from a study to a :class:`~sipbench.report.charts.base.Chart`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sipbench.report.charts.attrition import attrition_chart
from sipbench.report.charts.base import Chart
from sipbench.report.charts.exposure import exposure_chart
from sipbench.report.charts.frontier import frontier_chart
from sipbench.report.charts.heat import heat_charts
from sipbench.report.charts.plane import plane_chart
from sipbench.report.charts.slope import slope_chart
from sipbench.report.charts.waterfall import waterfall_chart
from sipbench.report.reading import Study

__all__ = ["Chart", "all_charts"]


def all_charts(study: Study) -> Iterator[Chart]:
    """Every chart of a study, in the order of the page."""
    yield slope_chart(study)
    yield plane_chart(study)
    yield waterfall_chart(study)
    yield from heat_charts(study)
    yield frontier_chart(study)
    yield exposure_chart(study)
    yield attrition_chart(study)
