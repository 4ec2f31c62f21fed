"""``asb show``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sipbench.cards.load import LoadedCard


def show(
    card: Annotated[Path, typer.Argument(metavar="CARD", help="A card, or its capsule.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print a card as a person reads it, with what each export still needs.

    It prints the finding: do not show it to an agent that is to find it.
    """
    from sipbench.cards.load import load_card
    from sipbench.cli.output import print_json

    loaded = load_card(card)
    missing = {name: _missing(name, loaded) for name in _formats()}
    if as_json:
        print_json(_document(loaded, missing))
    else:
        _print(loaded, missing)


def _formats() -> list[str]:
    from sipbench.plugins import names

    return names("formats")


def _missing(name: str, loaded: LoadedCard) -> dict[str, Any]:
    """What an export of the card lacks, as the export itself says it."""
    from sipbench.cards.checks.run import eval_of
    from sipbench.errors import SipbenchError
    from sipbench.export.base import Job
    from sipbench.plugins import load

    try:
        built = load("formats", name)().build(Job(card=loaded, plan=eval_of(loaded)))
    except SipbenchError as error:
        return {"draft": str(error), "items": []}
    items = [{"id": todo.id, "need": todo.need, "blocks": todo.blocks} for todo in built.todos]
    return {"draft": built.draft, "items": items}


def _document(loaded: LoadedCard, missing: dict[str, Any]) -> dict[str, Any]:
    return {
        "capsule_key": loaded.key,
        "file": str(loaded.path),
        "sha256": loaded.sha256,
        "collection": loaded.collection,
        "paper": loaded.paper,
        "capsule": str(loaded.capsule.path) if loaded.capsule else None,
        "deviations": [str(deviation) for deviation in loaded.deviations],
        "card": loaded.card.model_dump(mode="json", exclude_none=True),
        "exports": missing,
    }


def _print(loaded: LoadedCard, missing: dict[str, Any]) -> None:
    from sipbench.cards.checks.run import eval_of
    from sipbench.cards.leaks.guard import Guard
    from sipbench.cards.leaks.secrets import no_finding

    card = loaded.card
    _line(card.title)
    _line(f"{loaded.key} ({loaded.collection or 'no collection'}, paper {loaded.paper})")
    facts = (card.task_kind, card.primary_domain or card.domain, card.reproducibility_tier, card.crossref_doi)
    _line(", ".join(fact for fact in facts if fact) or "nothing more is said of it")
    for name, value in (
        ("Task", card.task_description),
        ("Question", card.research_question),
        ("Inputs", card.inputs),
        ("Starts from", card.input_from or ""),
        ("Outputs", card.expected_outputs),
        ("Output file", card.expected_artifact_name or ""),
        ("Tools", ", ".join(card.tools)),
        ("Skills", ", ".join(card.skills)),
        ("Finding (hidden from agents)", card.finding),
        ("Missing in the paper", card.missing_information),
    ):
        _section(name, value)
    plan = eval_of(loaded)
    where = "authored" if plan.folder else "drafted from the card"
    counted = Counter((check.kind, check.status) for check in plan.checks.checks)
    _section(
        f"Checks ({where})",
        [f"{count} {kind}, {status}" for (kind, status), count in sorted(counted.items())],
    )
    report, reason = Guard(loaded).fields(loaded), no_finding(card)
    notes = [str(deviation) for deviation in loaded.deviations] + [str(leak) for leak in report.blocking]
    _section("Notes", notes + ([reason] if reason else []))
    for name, found in missing.items():
        state = f"a draft: {found['draft']}" if found["draft"] else "a task"
        _section(f"As {name}: {state}; still to give", [item["need"] for item in found["items"]])


def _section(name: str, value: Any) -> None:
    items = [value] if isinstance(value, str) else list(value)
    if not any(items):
        return
    _line("")
    _line(name)
    for item in items:
        _line(f"  {'' if isinstance(value, str) else '- '}{' '.join(str(item).split())}")


def _line(text: str) -> None:
    from sipbench.cli.output import printable

    typer.echo(printable(text))
