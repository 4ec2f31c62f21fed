"""What a study found, in words that need no acquaintance with it. All numbers are the summary's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sipbench.protocol.summary import Estimate, Row, Summary, Verdict
from sipbench.protocol.vocabulary import PathType
from sipbench.report.estimates import bounded, uncovered
from sipbench.report.words import amount, count, percent, plain, points, share, spent

__all__ = ["verdict_lines"]

_FG = {
    "improved": "improved on new tasks: {found}",
    "worse": "got worse on new tasks: {found}",
    "no evidence": (
        "no evidence of a change on new tasks: {found}, and a change of {sesoi}, the smallest of "
        "interest, would probably have been found"
    ),
    "inconclusive": "inconclusive on new tasks: {found}; {why}",
    None: "no verdict on new tasks: {why}",
}
_BR = {
    "retained": "kept what it could do before: {found}, so a loss of {margin} or more is ruled out",
    "loss": "lost some of what it could do before: {found}",
    "inconclusive": "whether it kept what it could do before is open: {found}; {why}",
    None: "no verdict on what it could do before: {why}; measured {found}",
}
_PDS = {
    "persists": "the later score holds: {found}, so a decay of {margin} or more is ruled out",
    "decays": "the later score decays: {found}",
    "inconclusive": "whether the later score holds is open: {found}; {why}",
    None: "no verdict on the later score: {why}",
}
_SENTENCES = (("fg", _FG), ("br", _BR), ("pds", _PDS))


def verdict_lines(summary: Summary, names: Mapping[int, str]) -> Iterator[str]:
    """A few lines per arm: new tasks, old tasks, later, the price, and what all of it rests on.

    Arms without a verdict, controls and oracles, are left out; warnings stand elsewhere.

    Args:
        summary: What was found.
        names: The name of each row, by its id.
    """
    for row in summary.rows:
        found = [
            (template, getattr(row.metrics, metric))
            for metric, template in _SENTENCES
            if getattr(row.metrics, metric).verdict is not None
        ]
        if not found or row.path_type is PathType.ORACLE:
            continue
        first, *rest = (_sentence(template, estimate) for template, estimate in found)
        yield f"{names[id(row)]}: {first}"
        yield from (f"  {sentence}" for sentence in rest)
        yield from (f"  {line}" for line in _price(row))
        yield from (f"  {line}" for line in _basis(row))


def _sentence(template: Mapping[str | None, str], estimate: Estimate) -> str:
    verdict = estimate.verdict
    assert verdict is not None
    return template[verdict.word].format(
        found=_found(verdict, estimate),
        why="; ".join(verdict.reasons),
        margin=_points(verdict.margin or 0.0),
        sesoi=_points(verdict.sesoi or 0.0),
    )


def _found(verdict: Verdict, estimate: Estimate) -> str:
    """What is claimed: a number with its interval, or where too few attempts count what it lies between."""
    control = estimate.adjusted.control if verdict.basis == "adjusted" and estimate.adjusted else None
    other = f"against '{control}', which learned nothing" if control is not None else "against itself before"
    lost = uncovered(estimate)
    if verdict.value is None:
        return "nothing can be computed"
    if lost is not None:
        return plain(bounded(lost, other))
    interval, value = verdict.interval, plain(f"{points(verdict.value)} points")
    if interval is None:
        return f"{value} {other} (no interval)"
    ends = plain(f"{points(interval.low)} to {points(interval.high)}")
    return f"{value} {other} ({plain(percent(interval.level))} interval {ends})"


def _points(value: float) -> str:
    return f"{value * 100:.3g} points"


def _price(row: Row) -> Iterator[str]:
    cost = row.learning_cost
    if cost is not None and cost.value is not None:
        yield f"learning cost {spent(cost.value, cost.unit)} per repeat"


def _basis(row: Row) -> Iterator[str]:
    """What the first verdict rests on, and what the study could have found at all."""
    estimate = next(
        getattr(row.metrics, name) for name, _ in _SENTENCES if getattr(row.metrics, name).verdict
    )
    verdict: Verdict = estimate.verdict
    parts = [count(verdict.n_tasks, "task")]
    if verdict.n_families != verdict.n_tasks:
        parts[0] += f" in {count(verdict.n_families, 'family', 'families')}"
    if verdict.attempts is not None:
        before, after = (amount(attempts) for attempts in verdict.attempts)
        noun = "attempt" if verdict.attempts[0] == 1 else "attempts"
        parts.append(f"{before} {noun} of each before and {after} after")
    if verdict.coverage is not None:
        parts.append(f"{plain(share(verdict.coverage))} of the planned attempts counted")
    scope = "the method that made these agents" if verdict.scope == "method" else "these agents"
    yield f"rests on {', '.join(parts)}; speaks of {scope}"
    limits = []
    if estimate.noise_floor is not None and estimate.noise_floor.value > 0:
        floor = _points(estimate.noise_floor.value)
        limits.append(f"two runs of an agent that does not change differ by up to {floor} on held-out tasks")
    elif estimate.noise_floor is not None:
        limits.append("repeats of an agent that did not change showed no difference on held-out tasks")
    effect = estimate.detectable.effect if estimate.detectable else None
    if effect is not None:
        power = estimate.detectable.power
        limits.append(
            f"a change of {_points(effect)} would be found in {plain(percent(power))} of such studies"
        )
    if limits:
        yield "; ".join(limits)
