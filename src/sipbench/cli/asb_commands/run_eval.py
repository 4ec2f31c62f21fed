"""``asb run-eval``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sipbench.cards.checks.result import ResultFile
    from sipbench.cards.checks.run import JudgeOption


def run_eval(
    card: Annotated[
        Path,
        typer.Argument(
            metavar="CARD|DIR",
            help="A card, a capsule, an exported task, or a folder with eval.json.",
            show_default=False,
        ),
    ],
    submission: Annotated[
        Path,
        typer.Option(metavar="DIR", help="The outputs, or a Harbor trial's directory.", show_default=False),
    ],
    evals: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder with <capsule key>/eval.json.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write result.json here.")
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            metavar="MODEL", help="litellm's name of a model that answers llm_judge, which may cost; or none."
        ),
    ] = "none",
    votes: Annotated[int, typer.Option(min=1, max=99, help="How often the judge is asked.")] = 3,
    run_scripts: Annotated[
        bool, typer.Option("--run-scripts", help="Start programs of the submission, shut in (script_runs).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print result.json.")] = False,
) -> None:
    """Grade a submission by the ready checks of a card.

    The score is the share of points whose checks pass; checks that wait for an author, a person or a
    model are counted beside it.
    """
    from sipbench.cards.checks.run import plan_of
    from sipbench.cards.checks.run import run_eval as grade
    from sipbench.cards.checks.submission import submission_folder
    from sipbench.cli.output import print_json, write_text

    plan, folder = plan_of(card, evals), submission_folder(submission)
    result = grade(plan, folder, judging=_judging(judge, votes), run_scripts=run_scripts)
    document = result.model_dump(mode="json")
    if out is not None:
        write_text(out, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    if as_json:
        print_json(document)
    else:
        _print(result)


def _judging(model: str, votes: int) -> JudgeOption | None:
    if model == "none":
        return None
    from sipbench.cards.checks.judge import litellm_judge
    from sipbench.cards.checks.run import JudgeOption

    return JudgeOption(model, litellm_judge(model), votes)


def _print(result: ResultFile) -> None:
    from sipbench.cli.output import printable

    for check in result.checks:
        typer.echo(printable(f"{check.outcome:8}{check.id:10} {check.kind}: {check.reason}"))
    counts, judge = result.counts, result.judge
    if result.score is not None:
        said = f"score {result.score:.4g} ({result.points:g} of {result.max_points:g} points)"
    elif counts.undecided:
        said = f"no score: {counts.undecided} checks could not be decided"
    else:
        said = "no score: no check that a program decides is ready"
    beside = f"{counts.todo} todo, {counts.expert_review} expert_review, {counts.llm_judge} llm_judge"
    typer.echo(f"{said}; {counts.passed} pass, {counts.failed} fail; beside: {beside}")
    if judge is not None:
        cost = "unknown" if judge.cost_usd is None else f"{judge.cost_usd:.4f} USD"
        typer.echo(
            printable(
                f"judge {judge.model}, prompt {judge.prompt_version}, {judge.votes} votes each: "
                f"{judge.passed} pass, {judge.failed} fail, {judge.pending} pending; cost {cost}"
            )
        )
