"""``asb leaks``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sipbench.cards.leaks.guard import GuardReport, Leak
    from sipbench.cards.load import LoadedCard


def leaks(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Cards, or folders of them.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    warnings: Annotated[bool, typer.Option("--warnings", help="List what may be a coincidence too.")] = False,
) -> None:
    """Search what an agent would see of each card for its answer.

    Lists the finding, the evidence and the ledger where they are found in the visible fields, with the
    id that --allow-leak takes; numbers of the finding are warnings. Exits with 1 if an export would be
    stopped.
    """
    from sipbench.cards.leaks.guard import Guard
    from sipbench.cards.leaks.secrets import no_finding
    from sipbench.cards.load import load_card
    from sipbench.cards.validate import find_cards
    from sipbench.cli.asb_commands.progress import watched
    from sipbench.cli.output import print_json

    cards = [load_card(path) for path in find_cards(paths)]
    found = [(card, Guard(card).fields(card), no_finding(card.card)) for card in watched(cards, "searching")]
    if as_json:
        print_json({"counts": _counts(found), "cards": [_document(*item) for item in found]})
    else:
        _print(found, warnings)
    if any(report.blocking for _, report, _ in found):
        raise typer.Exit(1)


type _Found = list[tuple[LoadedCard, GuardReport, str | None]]


def _counts(found: _Found) -> dict[str, int]:
    blocking = Counter(rule for _, report, _ in found for rule in {leak.rule for leak in report.blocking})
    return {
        "cards": len(found),
        "stopped": sum(bool(report.blocking) for _, report, _ in found),
        **{f"stopped_by_{rule.replace('-', '_')}": count for rule, count in sorted(blocking.items())},
        "numbers": sum(any(leak.rule == "number" for leak in report.warnings) for _, report, _ in found),
        "no_finding": sum(reason is not None for _, _, reason in found),
    }


def _document(card: LoadedCard, report: GuardReport, reason: str | None) -> dict[str, object]:
    return {
        "capsule_key": card.key,
        "card": str(card.path),
        "no_finding": reason,
        "blocking": [_leak(leak) for leak in report.blocking],
        "warnings": [_leak(leak) for leak in report.warnings],
    }


def _leak(leak: Leak) -> dict[str, object]:
    return {
        "id": leak.id,
        "rule": leak.rule,
        "source": leak.source,
        "place": leak.place,
        "context": leak.context,
    }


def _print(found: _Found, warnings: bool) -> None:
    from sipbench.cli.output import counted, printable

    for card, report, reason in found:
        if reason is not None:
            typer.echo(printable(f"{card.key}: no finding to grade by: {reason}"))
        for leak in report.blocking:
            typer.echo(printable(f"{card.key}: {leak}"))
        for leak in report.warnings if warnings else ():
            typer.echo(printable(f"{card.key}: warning: {leak}"))
    counts = _counts(found)
    by = ", ".join(
        f"{name.removeprefix('stopped_by_').replace('_', '-')} {count}"
        for name, count in counts.items()
        if name.startswith("stopped_by_")
    )
    typer.echo(
        f"{counted(counts['cards'], 'card')}: {counts['stopped']} would be stopped"
        f"{f' ({by})' if by else ''}; {counts['numbers']} show numbers of their finding (warning); "
        f"{counts['no_finding']} have no finding"
    )
