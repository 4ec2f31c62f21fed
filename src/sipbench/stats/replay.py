"""How replay was chosen, as the summary tells it, and the loss that the choice alone produces."""

from __future__ import annotations

from sipbench.protocol.inference import BySelection
from sipbench.protocol.manifest import Crossfit, Preregistered, ReplaySelection, SameRun
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats.changes import Change
from sipbench.stats.entries import contrast_entry
from sipbench.stats.means import ArmTable
from sipbench.stats.noise import pass_rates
from sipbench.stats.selection import expected_selection_bias, solved_rule

__all__ = ["expected_bias", "selection_entry"]

_WEIGHTED = "tasks count by their chance of being chosen by one trial"


def expected_bias(arm: ArmTable, selection: ReplaySelection | None) -> float | None:
    """BR to be expected of an unchanged agent whose replay tasks were chosen by the scored attempts.

    The pass rates are those of the held-out tasks at T0, which nothing selected. A rule over fewer
    attempts than are scored shifts the mean of all by its share of them.

    Returns:
        The bias, at most 0; None unless the method is ``same_run``, the rule can be read and
        held-out tasks have two attempts that score 0 or 1.
    """
    if not isinstance(selection, SameRun):
        return None
    rule, rates = solved_rule(selection.rule), pass_rates(arm, Phase.T0, Split.HELDOUT)
    scored = arm.counts.get((Phase.T0, Split.REPLAY))
    if rule is None or rates is None or scored is None or not scored.counted.any():
        return None
    bias = expected_selection_bias(rates.pass_hat[0], min(rates.pass_hat[:2]), rule.of, rule.least)
    if bias is None:
        return None
    attempts = float(scored.counted[scored.counted > 0].mean())
    return bias * min(1.0, rule.of / attempts)


def selection_entry(change: Change, selection: ReplaySelection | None, bias: float | None) -> BySelection:
    """How replay was chosen.

    Args:
        change: BR.
        selection: The declared choice, or None.
        bias: What it alone is expected to do to BR.
    """
    if selection is None:
        return BySelection(method="undeclared")
    rule = None if isinstance(selection, Preregistered) else selection.rule
    if not isinstance(selection, Crossfit):
        return BySelection(method=selection.method, rule=rule, expected_bias=bias)
    fitted = change.crossfit
    return BySelection(
        method=selection.method,
        rule=rule,
        plain=contrast_entry(change.plain),
        fold_sizes=fitted.fold_sizes if fitted else (),
        note=_WEIGHTED if fitted else change.reason,
    )
