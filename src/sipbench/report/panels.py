"""Splits and leaks, skills, errors, and where everything comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.overlap import overlaps, split_sizes
from sipbench.protocol.rules import RULES, check_manifest
from sipbench.protocol.versions import SUMMARY_VERSION
from sipbench.protocol.vocabulary import Phase
from sipbench.report.reading import Identity, Study
from sipbench.report.tabular import Cell, Table, cell
from sipbench.report.timing import declared_delay, order_line
from sipbench.report.words import NOTHING, clean, count, points, score, share

__all__ = [
    "Entry",
    "error_table",
    "overlap_table",
    "provenance",
    "skill_table",
    "split_notes",
    "split_table",
    "state_table",
]

_MOST_SKILLS = 60
_MOST_ERRORS = 40
_MOST_VALUES = 12


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list of terms."""

    label: str
    value: str


def split_table(study: Study) -> Table | None:
    """What each split holds; None without a manifest."""
    manifest = study.context.manifest
    if manifest is None:
        return None
    rows = tuple(
        (
            cell(size.split.value),
            cell(size.tasks),
            cell(size.families),
            cell(size.concepts),
            cell(size.digests),
        )
        for size in split_sizes(manifest)
    )
    return Table("splits", "Splits", ("split", "tasks", "families", "concepts", "with a digest"), rows)


def overlap_table(study: Study) -> Table | None:
    """What each two splits share; None with fewer than two splits."""
    manifest = study.context.manifest
    found = overlaps(manifest) if manifest is not None else []
    rows = tuple(
        (
            cell(f"{pair.first} and {pair.second}"),
            cell(pair.tasks),
            cell(pair.families),
            cell(pair.concepts),
        )
        for pair in found
    )
    if not rows:
        return None
    notes = ("A shared concept is what can transfer, and no leak; shared tasks and families are.",)
    return Table(
        "overlaps", "What two splits share", ("splits", "tasks", "families", "concepts"), rows, notes
    )


def split_notes(study: Study) -> list[Entry]:
    """Rules, replay, near-duplicates, exclusions: each in a sentence."""
    manifest = study.context.manifest
    if manifest is None:
        return [Entry("Splits", "no manifest (splits.json), so nothing is known of leaks")]
    return [
        *_rules(study, manifest),
        *_replay(study, manifest),
        *_drift(manifest),
        *_selection(manifest.selection),
    ]


def _rules(study: Study, manifest: SplitManifest) -> Iterator[Entry]:
    broken = Counter(found.rule for found in check_manifest(manifest))
    allowed = {mark.rule for mark in study.summary.allowed}
    said = []
    for rule in RULES:
        if rule in allowed:
            said.append(f"{rule} broken with consent")
        else:
            said.append(f"{rule} {'broken' if broken[rule] else 'kept'}")
    yield Entry("Split rules", "; ".join(said))
    for mark in study.summary.allowed:
        tasks = f" ({', '.join(clean(task, 60) for task in mark.tasks[:5])})" if mark.tasks else ""
        yield Entry(f"Allowed: {mark.rule}", clean(mark.message, 500) + tasks)


def _replay(study: Study, manifest: SplitManifest) -> Iterator[Entry]:
    selection = manifest.replay_selection
    if selection is None:
        if manifest.replay:
            yield Entry("Replay chosen", "not declared, so a loss may be regression to the mean")
        return
    fields = selection.model_dump(mode="json")
    method = fields.pop("method")
    extra = ", ".join(f"{name.replace('_', ' ')} {clean(str(value), 80)}" for name, value in fields.items())
    yield Entry("Replay chosen", f"{method}: {extra}" if extra else method)
    for at in study.order:
        by = study.summary.rows[at].metrics.br.selection
        if by is not None and by.expected_bias is not None:
            text = f"{points(by.expected_bias)} points of BR are to be expected of an unchanged agent"
            yield Entry(
                f"Selection bias, {study.names[at]}", text + (f"; {clean(by.note, 500)}" if by.note else "")
            )


def _drift(manifest: SplitManifest) -> Iterator[Entry]:
    if manifest.drift:
        changes = ", ".join(manifest.drift_changes) or "not declared"
        note = f": {clean(manifest.drift_note, 500)}" if manifest.drift_note else ""
        yield Entry("Drift changes", changes + note)


def _selection(selection: Mapping[str, Any]) -> Iterator[Entry]:
    """What the manifest says of how it was made; whoever wrote it, only plain values are shown."""
    searched = selection.get("near_duplicates")
    yield Entry(
        "Near-duplicates",
        _plain(searched) if searched is not None else "the manifest does not say that they were looked for",
    )
    excluded = selection.get("exclusions")
    yield Entry("Exclusions", _plain(excluded) if excluded is not None else "none")
    for key in ("passes_noop", "oracle_fails"):
        if selection.get(key):
            yield Entry(key.replace("_", " ").capitalize(), _plain(selection[key]))
    for key, value in selection.items():
        if key not in ("near_duplicates", "exclusions", "passes_noop", "oracle_fails") and value is not None:
            yield Entry(clean(key.replace("_", " "), 40).capitalize(), _plain(value))


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        parts = (f"{str(key).replace('_', ' ')} {_plain(item)}" for key, item in value.items())
        return clean(", ".join(parts), 600) or "none"
    if isinstance(value, list | tuple):
        shown = ", ".join(_plain(item) for item in value[:_MOST_VALUES])
        more = f" and {len(value) - _MOST_VALUES} more" if len(value) > _MOST_VALUES else ""
        return clean(shown, 600) + more or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "unknown"}[value]
    return clean(str(value), 200)


def skill_table(study: Study) -> Table | None:
    """Every skill that was given or opened, arm by arm and phase by phase; None without one."""
    rows: list[tuple[Cell, ...]] = []
    left = 0
    for at in study.order:
        for exposure in study.seen.exposure.exposures(study.keys(study.summary.rows[at])):
            room = max(0, _MOST_SKILLS - len(rows))
            left += max(0, len(exposure.skills) - room)
            for use in exposure.skills[:room]:
                rows.append(
                    (
                        cell(use.name),
                        cell(study.names[at]),
                        cell(exposure.phase.value),
                        cell(use.given),
                        cell(use.opened),
                        cell(use.digest),
                    )
                )
    if not rows:
        return None
    notes = (f"{count(left, 'further skill')} not listed.",) if left else ()
    head = ("skill", "arm", "phase", "given", "opened", "digest")
    return Table(
        "skills", "Skills, by attempts that were given and that opened them", head, tuple(rows), notes
    )


def error_table(study: Study) -> Table | None:
    """How attempts ended that were not graded, by what was said; None without one."""
    rows = []
    for at in study.order:
        total: Counter[tuple[str, str]] = Counter()
        for key in study.keys(study.summary.rows[at]):
            total.update(study.seen.errors.get(key, Counter()))
        for (status, kind), n in total.most_common():
            rows.append(
                (cell(study.names[at]), cell(status.replace("_", " ")), cell(kind or "none given"), cell(n))
            )
    if not rows:
        return None
    left = len(rows) - _MOST_ERRORS
    notes = (f"{count(left, 'further kind')} not listed.",) if left > 0 else ()
    head = ("arm", "status", "error type", "attempts")
    return Table(
        "errors", "Attempts with an error, adapt attempts as well", head, tuple(rows[:_MOST_ERRORS]), notes
    )


def state_table(study: Study) -> Table | None:
    """Agents and agent states of each arm, phase and repeat, by digest; None where none is known."""
    rows = []
    for at in study.order:
        for phase in Phase:
            found = _identities(study, at, phase)
            repeats = sorted({repeat for one in found for repeat in one.states})
            for repeat in repeats:
                states = sorted({state for one in found for state in one.states.get(repeat, ())})
                agents = sorted({agent for one in found for agent in one.agents})
                rows.append(
                    (
                        cell(study.names[at]),
                        cell(phase.value),
                        cell(repeat),
                        Cell(_digests(agents), agents[0] if agents else None),
                        Cell(_digests(states), states[0] if states else None),
                    )
                )
    if not rows:
        return None
    head = ("arm", "phase", "repeat", "agent", "agent state")
    return Table("states", "Agents and agent states, by digest", head, tuple(rows))


def _identities(study: Study, at: int, phase: Phase) -> list[Identity]:
    keys = study.keys(study.summary.rows[at])
    return [study.seen.identities[key, phase] for key in keys if (key, phase) in study.seen.identities]


def provenance(study: Study) -> list[Entry]:
    """Digests, versions, seeds and settings."""
    summary, every = study.summary, list(study.seen.identities.values())
    sources = summary.provenance.sources
    found = [
        Entry("Benchmark", _several(sorted({_benchmark(row) for row in summary.rows}))),
        *(Entry(f"Records: {clean(s.name)}", f"{s.records:,} attempts, {s.digest}") for s in sources),
        Entry(
            "Computed",
            f"{summary.provenance.generated_at} with sipbench {summary.provenance.sipbench_version}",
        ),
        Entry("Summary format", SUMMARY_VERSION),
        Entry("Engines", _several(sorted({engine for one in every for engine in one.engines}))),
        Entry("Grader versions", _several(sorted({grader for one in every for grader in one.graders}))),
        Entry("Seeds of the repeats", _several([str(seed) for seed in _seeds(every)])),
    ]
    return [*found, *_locked(study.lock), *_timing(study), *_settings(study)]


def _timing(study: Study) -> Iterator[Entry]:
    if (order := order_line(study.lock)) is not None:
        yield Entry("Order of attempts", order)
    if (delay := declared_delay(study)) is not None:
        yield Entry("T2 begins", delay)


def _benchmark(row: Any) -> str:
    return f"{row.benchmark_name} {row.benchmark_version or ''}".strip()


def _seeds(every: Sequence[Identity]) -> list[int]:
    return sorted({seed for one in every for seed in one.seeds})


def _locked(lock: Mapping[str, Any]) -> Iterator[Entry]:
    """What ``study.lock.json`` says; only what is there."""
    if not lock:
        yield Entry("Study lock", "none: the plan of these attempts is not known")
        return
    if created := lock.get("created_at"):
        yield Entry("Planned", f"{_plain(created)} with sipbench {_plain(lock.get('sipbench_version'))}")
    identity = lock.get("identity")
    if isinstance(identity, Mapping):
        for key, label in (("slots", "Digest of the plan"), ("splits", "Digest of the splits")):
            if key in identity:
                yield Entry(label, _plain(identity[key]))
        tasks = identity.get("tasks")
        if isinstance(tasks, Mapping):
            known = sum(value is not None for value in tasks.values())
            yield Entry("Task digests", f"{known:,} of {count(len(tasks), 'task')} in study.lock.json")
        benchmark = identity.get("benchmark")
        if isinstance(benchmark, Mapping) and benchmark.get("normalization"):
            yield Entry("Score", _plain(benchmark["normalization"]))


def _settings(study: Study) -> Iterator[Entry]:
    settings = study.summary.settings
    sesoi = NOTHING if settings.sesoi is None else f"{points(settings.sesoi, sign=False)} points"
    yield Entry("Smallest effect of interest", sesoi)
    yield Entry(
        "Declared analysis",
        f"scope {settings.scope}, margin {points(settings.margin, sign=False)} points, alpha "
        f"{settings.alpha:g}, power {share(settings.power)}, coverage gate {share(settings.coverage_gate)}, "
        f"lambda {settings.lambda_:g}, eps {score(settings.eps, 'g')}",
    )
    if study.planned is not None:
        yield Entry(
            "Attempts", f"{study.summary.records.total:,} of {study.planned:,} planned, adapt included"
        )
    left = {"smoke": study.summary.records.smoke, "golden": study.summary.records.golden}
    for name, n in left.items():
        if n:
            yield Entry(f"{name.capitalize()} attempts", f"{n:,}, left out of every metric")


def _several(values: Sequence[str]) -> str:
    shown = ", ".join(clean(value, 80) for value in values[:_MOST_VALUES])
    more = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
    return shown + more or "unknown"


def _digests(values: Sequence[str]) -> tuple[str, ...]:
    more = (f"and {len(values) - _MOST_VALUES} more",) if len(values) > _MOST_VALUES else ()
    return (*values[:_MOST_VALUES], *more) or (NOTHING,)
