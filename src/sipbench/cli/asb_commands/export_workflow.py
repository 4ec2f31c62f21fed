"""``asb export-workflow``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sipbench.cards.load import LoadedCard
    from sipbench.export.base import Network
    from sipbench.export.driver import Exported, Outcome


def export_workflow(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Cards, or folders of them.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="A new folder or an earlier export.")
    ],
    format_: Annotated[str, typer.Option("--format", metavar="NAME", help="The target format.")] = "harbor",
    evals: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder with <capsule key>/eval.json.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder with <capsule key>/ of input data.")
    ] = None,
    oracle: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with <capsule key>/ of reference outputs or solve.sh."),
    ] = None,
    environment: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder with <capsule key>/Dockerfile.")
    ] = None,
    skills: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of skills; the linked ones are bundled.")
    ] = None,
    org: Annotated[str, typer.Option(metavar="NAME", help="Organisation in task names.")] = "asb",
    author: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="An author of the tasks; may be repeated.")
    ] = None,
    tb_science: Annotated[
        bool, typer.Option("--tb-science", help="Apply the conditions of Terminal-Bench-Science.")
    ] = False,
    agent_network: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="What the agent may reach: public (the default) or no-network."),
    ] = None,
    agent_host: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="The agent may reach only this host; may be repeated."),
    ] = None,
    allow_leak: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=REASON", help="Let a leak go, and write the reason down; may be repeated."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace tasks that were edited since the last export.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Turn cards into tasks of a benchmark.

    Cards that cannot be graded yet go to DIR/draft, with what their author owes; a card whose answer
    would reach an agent is stopped. Exits with 1 if any card is.
    """
    from sipbench.cards.leaks.guard import parse_allowed
    from sipbench.cli.output import print_json
    from sipbench.errors import ConfigError
    from sipbench.export.driver import Request, export
    from sipbench.export.given import Given
    from sipbench.plugins import load

    target = load("formats", format_)()
    if tb_science and target.strict_option != "--tb-science":
        raise ConfigError(f"--tb-science: the format {format_} knows no such conditions")
    request = Request(
        given=Given(inputs=inputs, oracle=oracle, environment=environment, skills=skills, evals=evals),
        org=_org(org),
        authors=tuple(_author(name) for name in author or []),
        strict=tb_science,
        network=_network(agent_network, agent_host or []),
        allowed=parse_allowed(allow_leak or []),
        force=force,
    )
    cards, broken = _cards(paths)
    exported = export(target, cards, out, request)
    if as_json:
        print_json(_document(exported, broken))
    else:
        _print(exported, broken)
    if exported.counts["blocked"] or broken:
        raise typer.Exit(1)


def _network(mode: str | None, hosts: list[str]) -> Network | None:
    import re

    from sipbench.errors import ConfigError
    from sipbench.export.base import Network

    if hosts and mode is not None:
        raise ConfigError("--agent-network and --agent-host exclude each other; drop one")
    for host in hosts:
        if len(host) > 253 or not re.fullmatch(r"(?:\*\.)?[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+", host):
            raise ConfigError(f"--agent-host {host[:64]!r}: expected a name such as api.example.com")
    match mode:
        case None:
            return Network("allowlist", tuple(dict.fromkeys(hosts))) if hosts else None
        case "public" | "no-network":
            return Network(mode)
        case _:
            raise ConfigError(f"--agent-network {mode[:64]!r}: expected public or no-network")


def _org(name: str) -> str:
    import re

    from sipbench.errors import ConfigError

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise ConfigError(f"--org {name[:64]!r}: letters, digits, '_' and '-', a letter or digit first")
    return name


def _author(name: str) -> str:
    from sipbench.errors import ConfigError

    said = " ".join(name.split())
    if not said or "@" in said or not said.isprintable():
        raise ConfigError(f"--author {said[:64]!r}: a name without an address")
    return said


def _cards(paths: list[Path]) -> tuple[list[LoadedCard], dict[str, str]]:
    """The cards that can be read, and what is wrong with the others."""
    from sipbench.cards.load import load_card
    from sipbench.cards.validate import find_cards
    from sipbench.cli.asb_commands.progress import watched
    from sipbench.errors import CardError

    cards, broken = [], {}
    for path in watched(find_cards(paths), "reading"):
        try:
            cards.append(load_card(path))
        except CardError as error:
            broken[str(path)] = str(error)
    return cards, broken


def _document(exported: Exported, broken: dict[str, str]) -> dict[str, object]:
    return {
        "counts": {**exported.counts, "unreadable": len(broken)},
        "unreadable": broken,
        "cards": [
            {
                "capsule_key": outcome.key,
                "state": outcome.state,
                "reason": outcome.reason,
                "folder": str(outcome.folder) if outcome.folder else None,
                "version": outcome.version,
                "why": outcome.release.why if outcome.release else None,
                "todos": outcome.todos,
                "blocking": [str(leak) for leak in outcome.report.blocking],
                "warnings": [str(leak) for leak in outcome.report.warnings],
                "allowed": [f"{leak.id}: {reason}" for leak, reason in outcome.report.allowed],
            }
            for outcome in exported.outcomes
        ],
    }


def _print(exported: Exported, broken: dict[str, str]) -> None:
    from sipbench.cli.output import counted, printable

    for reason in broken.values():
        typer.echo(printable(f"unreadable: {reason}"))
    for outcome in exported.outcomes:
        typer.echo(printable(_line(outcome)))
    counts = exported.counts
    reasons = Counter(outcome.reason for outcome in exported.outcomes if outcome.state == "draft")
    why = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common())
    numbers = sum(bool(outcome.report.warnings) for outcome in exported.outcomes)
    typer.echo(
        f"{counted(counts['task'], 'task')}, {counted(counts['draft'], 'draft')}, "
        f"{counts['blocked']} blocked, {len(broken)} unreadable"
        + (f"; {numbers} with warnings of the leak guard (asb leaks --warnings)" if numbers else "")
    )
    if why:
        typer.echo(printable(f"drafts: {why}"))


def _line(outcome: Outcome) -> str:
    if outcome.state == "blocked":
        return f"blocked  {outcome.reason}"
    if outcome.state == "draft":
        return f"draft    {outcome.key}: {outcome.todos} open items"
    version = (
        f"{outcome.version} ({outcome.release.why})" if outcome.release else f"{outcome.version} (unchanged)"
    )
    return f"task     {outcome.key} {version}, {outcome.todos} open items"
