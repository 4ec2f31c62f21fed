"""Arms of several studies, ranked: only where they were measured on the very same tasks.

The order is that of FG's lower bound, so that a wide interval does not win; never that of NIS, which is a
convenience. Rows that the protocol keeps out of a main comparison stand apart, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sipbench.errors import RecordError
from sipbench.protocol.summary import Row
from sipbench.protocol.vocabulary import PathType, Split
from sipbench.report.estimates import bounds, uncovered
from sipbench.report.metrics import metric_cell
from sipbench.report.reading import Study
from sipbench.report.tabular import Cell, Table, cell
from sipbench.report.words import NOTHING, clean, headline, interval, points, spent

__all__ = ["Leaderboard", "leaderboard"]

_APART = {"few_repeats", "high_variance", "low_coverage", "no_gain", "split_overlap"}
_HEAD = ("rank", "arm", "study", "FG", "BR", "verdicts", "learning cost", "IE", "repeats", "coverage")


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """What came out.

    Attributes:
        benchmark: Whose tasks they are.
        ranked: The main table.
        apart: Rows that are kept out of it, with reasons; None without one.
        controls: Frozen arms, for reference; None without one.
        notes: What a reader must know.
    """

    benchmark: str
    ranked: Table
    apart: Table | None
    controls: Table | None
    notes: tuple[str, ...]

    def tables(self) -> list[Table]:
        """All tables, in order."""
        return [table for table in (self.ranked, self.apart, self.controls) if table is not None]


def leaderboard(studies: Sequence[Study]) -> Leaderboard:
    """Rank the arms of studies of the same tasks.

    Raises:
        RecordError: The studies are not comparable; the message says which one differs, and in what.
    """
    if not studies:
        raise RecordError("no study to rank; name one study directory or more")
    for other in studies:
        _whole(other)
    for other in studies[1:]:
        _refuse_other(studies[0], other)
    _refuse_twice(studies)
    ranked, apart, controls, oracles = [], [], [], []
    for study in studies:
        for at in study.order:
            row = study.summary.rows[at]
            place = (study, at)
            if row.path_type is PathType.ORACLE:
                oracles.append(f"{study.names[at]} of {study.name}")
            elif row.path_type is PathType.FROZEN:
                controls.append(place)
            elif list(_reasons(row)):
                apart.append(place)
            else:
                ranked.append(place)
    notes = list(_notes(studies, ranked))
    if oracles:
        notes.append(f"Left out, an upper bound and no competitor: {', '.join(oracles)}.")
    return Leaderboard(
        benchmark=_benchmark(studies[0]),
        ranked=_table("ranked", "Ranked by the lower bound of FG", _by_bound(ranked), numbered=True),
        apart=_apart(_by_bound(apart)),
        controls=_table("controls", "Controls: what changed without learning", controls)
        if controls
        else None,
        notes=tuple(notes),
    )


def _whole(study: Study) -> None:
    benchmarks = {(row.benchmark_name, row.benchmark_version) for row in study.summary.rows}
    if len(benchmarks) != 1:
        raise RecordError(f"{study.place}: holds {len(benchmarks)} benchmarks; a leaderboard has one")
    for split, tasks in study.seen.tasks.items():
        for task, digests in tasks.items():
            if None in digests:
                raise RecordError(
                    f"{study.place}: {split} task '{clean(task)}' has no task_digest, so nobody can tell "
                    "whether it is the same task in another study"
                )
            if len(digests) > 1:
                raise RecordError(
                    f"{study.place}: {split} task '{clean(task)}' changed while it was measured"
                )


def _benchmark(study: Study) -> str:
    row = study.summary.rows[0]
    return clean(f"{row.benchmark_name} {row.benchmark_version or ''}".strip())


def _refuse_other(first: Study, other: Study) -> None:
    """Refuse a study that is not of the same tasks, graded and analysed in the same way."""

    def refuse(what: str) -> None:
        raise RecordError(f"{other.place}: {what} than in {first.place}; they cannot stand in one ranking")

    ours, theirs = first.summary, other.summary
    if _benchmark(first) != _benchmark(other):
        refuse(f"another benchmark ({_benchmark(other)}, not {_benchmark(first)})")
    for split in Split:
        difference = _difference(first.seen.tasks.get(split, {}), other.seen.tasks.get(split, {}))
        if difference is not None:
            refuse(f"other {split} tasks ({difference})")
    graders = [
        sorted({grader for one in study.seen.identities.values() for grader in one.graders})
        for study in (first, other)
    ]
    if graders[0] != graders[1]:
        refuse(
            f"another grader ({', '.join(graders[1]) or 'unknown'}, not {', '.join(graders[0]) or 'unknown'})"
        )
    if ours.settings.alpha != theirs.settings.alpha:
        refuse(
            f"another level of the intervals (alpha {theirs.settings.alpha:g}, not {ours.settings.alpha:g})"
        )


def _difference(ours: Mapping[str, set[str | None]], theirs: Mapping[str, set[str | None]]) -> str | None:
    missing, extra = sorted(ours.keys() - theirs.keys()), sorted(theirs.keys() - ours.keys())
    if missing or extra:
        name = clean((missing or extra)[0])
        return f"{len(missing)} are missing, {len(extra)} are new, such as '{name}'"
    changed = sorted(task for task in ours if ours[task] != theirs[task])
    return f"{len(changed)} have another digest, such as '{clean(changed[0])}'" if changed else None


def _refuse_twice(studies: Sequence[Study]) -> None:
    for number, study in enumerate(studies):
        mine = set(study.frame["run_id"].to_list())
        for other in studies[:number]:
            theirs = set(other.frame["run_id"].to_list())
            if mine <= theirs or theirs <= mine:
                raise RecordError(
                    f"{study.place}: holds the same attempts as {other.place}; name one of them"
                )


def _reasons(row: Row) -> Iterator[str]:
    for warning in row.warnings:
        if warning.keeps_out or warning.code in _APART:
            yield clean(warning.message, 300)
    _, ends = headline(row.metrics.fg)
    if ends is None and row.metrics.fg.value is not None:
        yield f"FG has no interval: {clean(row.metrics.fg.interval_reason or 'unknown', 300)}"


type _Place = tuple[Study, int]


def _by_bound(places: Sequence[_Place]) -> list[_Place]:
    def bound(place: _Place) -> tuple[bool, float, str, str]:
        study, at = place
        _, ends = headline(study.summary.rows[at].metrics.fg)
        return ends is None, -ends.low if ends else 0.0, study.names[at], study.name

    return sorted(places, key=bound)


def _table(key: str, caption: str, places: Sequence[_Place], *, numbered: bool = False) -> Table:
    rows = tuple(
        (cell(rank) if numbered else cell(None), *_row(*place)) for rank, place in enumerate(places, 1)
    )
    head = _HEAD if numbered else ("", *_HEAD[1:])
    return Table(key, caption, head, rows)


def _apart(places: Sequence[_Place]) -> Table | None:
    if not places:
        return None
    rows = tuple(
        (cell(None), *_row(*place), Cell(tuple(_reasons(place[0].summary.rows[place[1]]))))
        for place in places
    )
    head = ("", *_HEAD[1:], "why")
    return Table("apart", "Kept apart: few repeats, high variance, low coverage", head, rows)


def _row(study: Study, at: int) -> tuple[Cell, ...]:
    row = study.summary.rows[at]
    unit = study.summary.settings.cost_unit
    cost = row.learning_cost.value if row.learning_cost is not None else None
    words = [
        f"{label} {verdict.word or 'no verdict'}"
        for label, verdict in (("FG", row.metrics.fg.verdict), ("BR", row.metrics.br.verdict))
        if verdict is not None
    ]
    ie = metric_cell(row, "ie")
    return (
        Cell((study.names[at], f"{row.path_type}, {clean(row.model_name)}"), study.names[at]),
        cell(study.name),
        _headline(row, "fg"),
        _headline(row, "br"),
        Cell(tuple(words) or (NOTHING,), words[0] if words else None),
        cell(cost, text=NOTHING if unit is None else spent(cost, unit)),
        Cell(ie.lines[:2], ie.value, ie.numeric),
        cell(row.repeats),
        cell(row.evaluation.least_coverage, text=_coverage(row)),
    )


def _headline(row: Row, name: str) -> Cell:
    """What is claimed; with too few attempts for a verdict also, or only, what it lies between."""
    estimate = row.metrics.fg if name == "fg" else row.metrics.br
    value, ends = headline(estimate)
    lost = uncovered(estimate)
    basis = f"against {clean(row.control)}" if row.control is not None else "own change"
    between: tuple[str, ...] = ()
    if lost is not None:
        between = (f"bounds {bounds(name, lost, in_points=True)}",)
    if value is None:
        return Cell((*between, basis)) if between else Cell((NOTHING,))
    lines = (points(value), interval(ends), *between, basis)
    return Cell(lines, ends.low if ends else None, numeric=True)


def _coverage(row: Row) -> str:
    return f"{row.evaluation.counted:,} of {row.evaluation.planned:,}"


def _notes(studies: Sequence[Study], ranked: Sequence[_Place]) -> Iterator[str]:
    yield (
        "In points. Sorted by the lower bound of FG, so that a wide interval does not win; two arms whose "
        "intervals overlap are not told apart by their ranks. NIS never ranks."
    )
    bases = {study.summary.rows[at].control is not None for study, at in ranked}
    if len(bases) > 1:
        yield "Some rows are differences from a control arm, others an arm's own change: compare with care."
    if len({study.summary.settings.cost_unit for study in studies}) > 1:
        yield "Learning cost and IE are in different units."
