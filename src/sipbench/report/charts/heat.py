"""Every attempt as a cell: tasks downwards, phases and repeats to the right, arm beside arm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sipbench.protocol.vocabulary import EVALUATION_SPLITS, Split, Status
from sipbench.report.charts.base import Chart
from sipbench.report.charts.theme import AXIS, INK, RAMP, Drawing, altair
from sipbench.report.reading import Study
from sipbench.report.words import clean, count
from sipbench.stats.per_task import Grid, GridCell, Pieces, attempt_grid, task_pieces

__all__ = ["heat_charts"]

MOST_PIECES = 100
MOST_ARMS = 8
_MOST_COLUMNS = 280
_NAMED_PIECES = 60
_WIDTH = 820
_GAP = 0.5
# 0 is a colour of its own, and so is 1; between them four steps.
_THRESHOLDS = [1e-9, 0.25, 0.5, 0.75, 1 - 1e-9]
_LOST = "not counted"


@dataclass(frozen=True, slots=True)
class _Panel:
    """One arm: its grid and where its columns stand."""

    name: str
    grid: Grid

    def place(self, column: int) -> float:
        """Left edge of a column, with a gap between phases."""
        phases = [at.phase for at in self.grid.columns[: column + 1]]
        return column + _GAP * (len(dict.fromkeys(phases)) - 1)


def heat_charts(study: Study) -> list[Chart]:
    """One chart for each split that was attempted."""
    return [chart for split in EVALUATION_SPLITS if (chart := _chart(study, split)) is not None]


def _chart(study: Study, split: Split) -> Chart | None:
    shown = [at for at in study.order if study.arms[at].tasks(split)][:MOST_ARMS]
    pieces = task_pieces([study.arms[at] for at in shown], split, MOST_PIECES) if shown else None
    if pieces is None:
        return None
    limit = max(3, _MOST_COLUMNS // len(shown))
    panels = [
        _Panel(study.names[at], grid)
        for at in shown
        if (grid := attempt_grid(study.arms[at], pieces, limit)) is not None
    ]
    records = [record for panel in panels for record in _records(panel, pieces)]
    single = all(cell.row is not None for panel in panels for cell in panel.grid.cells)
    what = "one attempt" if single else "the mean of several attempts"
    more = len([at for at in study.order if study.arms[at].tasks(split)]) - len(shown)
    notes = [f"{count(more, 'further arm')} not drawn."] if more else []
    if max(pieces.tasks) > 1:
        notes.append(f"A line is up to {count(max(pieces.tasks), 'task')}, neighbours in how hard they are.")
    return Chart(
        key=f"attempts-{split.value}",
        title=f"Attempts on {split.noun} tasks",
        reading=(
            f"A cell is {what}: the stronger its colour, the higher the score. Tasks stand from easy to "
            "hard by the mean of all their attempts, the same for all arms. × is an agent's error, which "
            "counts 0; ? is not counted: nobody graded it."
        ),
        alternative=" ".join(_said(panel, pieces) for panel in panels),
        columns={
            "arm": "arm",
            "split": "split",
            "piece": "line",
            "task": "task",
            "n": "tasks",
            "phase": "phase",
            "repeat": "repeat",
            "attempt": "attempt",
            "score": "score",
            "attempts": "attempts",
            "counted": "counted",
            "status": "status",
        },
        records=tuple(records),
        draw=lambda: _draw(panels, pieces),
        notes=tuple(notes),
        linked=tuple(cell.row for panel in panels for cell in panel.grid.cells if cell.row is not None),
    )


def _records(panel: _Panel, pieces: Pieces) -> Iterator[dict[str, Any]]:
    for cell in panel.grid.cells:
        column = panel.grid.columns[cell.column]
        yield {
            "arm": panel.name,
            "split": pieces.split.noun,
            "piece": cell.piece + 1,
            "task": pieces.names[cell.piece],
            "n": pieces.tasks[cell.piece],
            "phase": column.phase.value,
            "repeat": column.repeat,
            "attempt": column.attempt,
            "score": cell.value,
            "attempts": cell.attempts,
            "counted": cell.counted,
            "status": cell.status.value if cell.status is not None else None,
        }


def _said(panel: _Panel, pieces: Pieces) -> str:
    attempts = sum(cell.attempts for cell in panel.grid.cells)
    counted = sum(cell.counted for cell in panel.grid.cells)
    return (
        f"{panel.name}: {count(attempts, 'attempt')} of {count(sum(pieces.tasks), 'task')}, "
        f"{counted:,} of them counted."
    )


def _draw(panels: list[_Panel], pieces: Pieces) -> Drawing:
    alt = altair()
    columns = sum(panel.place(len(panel.grid.columns) - 1) + 1 for panel in panels)
    room = _WIDTH - 14 * len(panels)
    cell = max(2.5, min(15.0, room / columns))
    height = max(3.0, min(13.0, 640 / len(pieces.tasks))) * len(pieces.tasks)
    charts = [_panel(alt, panel, pieces, cell, height, number) for number, panel in enumerate(panels)]
    marks = {
        f"panel{number}": [_mark(found, panel, pieces) for found in panel.grid.cells]
        for number, panel in enumerate(panels)
    }
    return Drawing(alt.hconcat(*charts, spacing=14), marks)


def _panel(alt: Any, panel: _Panel, pieces: Pieces, cell: float, height: float, number: int) -> Any:
    last = len(panel.grid.columns) - 1
    end = panel.place(last) + 1
    labels = {piece: _label(pieces, piece) for piece in range(len(pieces.tasks))}
    named = number == 0 and len(pieces.tasks) <= _NAMED_PIECES
    base = alt.Chart(alt.NamedData(f"panel{number}")).encode(
        y=alt.Y(
            "piece:O",
            title=None,
            scale=alt.Scale(domain=list(labels), paddingInner=0.08, paddingOuter=0),
            axis=alt.Axis(
                labelExpr=_expression(labels), ticks=False, domain=False, labelFontSize=9, labelLimit=150
            )
            if named
            else None,
        ),
    )
    x = alt.X("left:Q", title=None, scale=alt.Scale(domain=[0, end], nice=False), axis=_axis(alt, panel))
    cells = (
        base.transform_filter("datum.score != null")
        .mark_rect(aria=True)
        .encode(
            x=x,
            x2="right:Q",
            color=alt.Color(
                "score:Q",
                scale=alt.Scale(type="threshold", domain=_THRESHOLDS, range=list(RAMP)),
                legend=None,
            ),
            description=alt.Description("tip:N"),
        )
    )
    lost = (
        base.transform_filter("datum.score == null")
        .mark_rect(aria=True, filled=False, stroke=AXIS, strokeWidth=0.5)
        .encode(x=x, x2="right:Q", description=alt.Description("tip:N"))
    )
    signs = (
        base.transform_filter("datum.sign != ''")
        .mark_text(fontSize=9, color=INK, baseline="middle")
        .encode(x=alt.X("middle:Q"), text="sign:N")
    )
    return alt.layer(cells, lost, signs).properties(
        width=end * cell, height=height, title=alt.Title(panel.name, limit=max(40, end * cell), frame="group")
    )


def _axis(alt: Any, panel: _Panel) -> Any:
    """One label for each phase, in the middle of its columns."""
    middles: dict[str, list[float]] = {}
    for number, column in enumerate(panel.grid.columns):
        middles.setdefault(column.phase.value, []).append(panel.place(number) + 0.5)
    labels = {round(sum(at) / len(at), 3): phase for phase, at in middles.items()}
    return alt.Axis(
        values=list(labels),
        labelExpr=_expression(labels),
        grid=False,
        ticks=False,
        domain=False,
        orient="top",
    )


def _expression(labels: dict[Any, str]) -> str:
    """A Vega expression that gives each value its label; the labels are quoted as JSON strings."""
    import json

    parts = [f"datum.value == {value} ? {json.dumps(label)}" for value, label in labels.items()]
    return " : ".join([*parts, "''"])


def _label(pieces: Pieces, piece: int) -> str:
    name = pieces.names[piece]
    return clean(name, 40) if name is not None else count(pieces.tasks[piece], "task")


def _mark(cell: GridCell, panel: _Panel, pieces: Pieces) -> dict[str, Any]:
    left = panel.place(cell.column)
    sign = ""
    if cell.status is Status.AGENT_ERROR:
        sign = "×"
    elif not cell.counted:
        sign = "?"
    if cell.row is not None:
        tip = f"@row {cell.row}@"
    else:
        column = panel.grid.columns[cell.column]
        found = _LOST if cell.value is None else f"{cell.value:.3f}"
        tip = (
            f"{panel.name}, {_label(pieces, cell.piece)}, {column.phase}: {found}, "
            f"{cell.counted} of {count(cell.attempts, 'attempt')} counted"
        )
    return {
        "piece": cell.piece,
        "left": left + 0.04,
        "right": left + 0.96,
        "middle": left + 0.5,
        "score": cell.value,
        "sign": sign,
        "tip": tip,
    }
