"""``asb draft-eval``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sipbench.cards.checks.model import EvalFile


def draft_eval(
    cards: Annotated[
        list[Path], typer.Argument(metavar="CARD...", help="Cards, or folders of them.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Write DIR/<capsule key>/eval.json for each card."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Draft eval.json from a card's direct checks, rubric and ledger.

    Only what stands in the card is filled in: the rest is todo, or a question to an expert. Without -o
    the draft of a single card is printed, and of many only how many checks of each kind there are.
    """
    from sipbench.cards.checks.draft import draft_eval as draft
    from sipbench.cards.load import load_card
    from sipbench.cards.validate import find_cards
    from sipbench.cli.asb_commands.progress import watched
    from sipbench.cli.output import print_json

    files = find_cards(cards)
    drafts = [draft(load_card(path)) for path in watched(files, "drafting")]
    if out is not None:
        _write(drafts, out, force)
    elif len(drafts) == 1:
        print_json(drafts[0].model_dump(mode="json"))
        return
    _print(drafts)


def _write(drafts: list[EvalFile], out: Path, force: bool) -> None:
    from sipbench.cards.keys import safe_name
    from sipbench.cli.output import write_text
    from sipbench.errors import CardError

    for draft in drafts:
        path = out / safe_name(draft.capsule_key) / "eval.json"
        if path.exists() and not force:
            raise CardError(f"{path}: is there already; --force replaces it")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(draft.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")


def _print(drafts: list[EvalFile]) -> None:
    from sipbench.cli.output import counted

    found = Counter[tuple[str, str]]((check.kind, check.status) for draft in drafts for check in draft.checks)
    typer.echo(f"{'':26}{'ready':>8}{'todo':>8}")
    for kind in sorted({kind for kind, _ in found}):
        typer.echo(f"{kind:26}{found[kind, 'ready']:>8}{found[kind, 'todo']:>8}")
    checks = [check for draft in drafts for check in draft.checks]
    about = sum(check.scope == "repository" for check in checks)
    scored = sum(bool(draft.scored()) for draft in drafts)
    typer.echo(
        f"{counted(len(drafts), 'card')}, {counted(len(checks), 'check')}, {about} of them about a repository"
        f"; cards with a check that a program decides: {scored}"
    )
