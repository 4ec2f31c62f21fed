"""Grades a submission by the checks of a card."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from sipbench.cards.checks.draft import draft_eval
from sipbench.cards.checks.grader.places import Place
from sipbench.cards.checks.grader.verdicts import ERROR, FAIL, PASS, Verdict
from sipbench.cards.checks.grader.worker import decide
from sipbench.cards.checks.judge import PROMPT_VERSION, Judge, Judgement, judge, total
from sipbench.cards.checks.model import Check, EvalFile, LlmJudge, read_eval
from sipbench.cards.checks.result import CheckResult, Counts, JudgeRecord, ResultFile
from sipbench.cards.files import read_bytes
from sipbench.cards.leaks.secrets import no_finding
from sipbench.cards.load import LoadedCard, load_card
from sipbench.errors import CardError
from sipbench.protocol.digests import json_digest

__all__ = ["JudgeOption", "Plan", "eval_of", "plan_of", "run_eval"]

NAME = "eval.json"


@dataclass(frozen=True)
class Plan:
    """The checks of a card, and where they came from.

    Attributes:
        checks: The checks.
        sha256: Digest of the file that they stand in; of the draft where there is none.
        folder: What references are relative to; None for a draft, which has none.
    """

    checks: EvalFile
    sha256: str
    folder: Path | None


def eval_of(card: LoadedCard, evals: Path | None = None) -> Plan:
    """The checks of a card: its author's file in ``evals`` or in the capsule, else a draft.

    Args:
        card: The card.
        evals: Folder with ``<capsule key>/eval.json``.

    Raises:
        CardError: The file is invalid, or was made for another card or another state of this one.
    """
    authored = [evals / card.key / NAME] if evals is not None else []
    if card.capsule is not None:
        authored.append(card.capsule.eval_path)
    for path in authored:
        if path.exists() or path.is_symlink():
            plan = _read(path)
            _refuse_foreign(plan.checks, card, path)
            _refuse_placeholder(plan.checks, card, path)
            return plan
    drafted = draft_eval(card)
    return Plan(drafted, json_digest(drafted.model_dump(mode="json")), None)


def _read(path: Path) -> Plan:
    return Plan(read_eval(path), "sha256:" + hashlib.sha256(read_bytes(path)).hexdigest(), path.parent)


def _refuse_foreign(checks: EvalFile, card: LoadedCard, path: Path) -> None:
    if checks.capsule_key != card.key:
        raise CardError(f"{path}: capsule_key: made for {checks.capsule_key}, the card here is {card.key}")
    if checks.card_sha256 != card.sha256:
        raise CardError(
            f"{path}: card_sha256: the card has changed since its checks were made; "
            f"review them and write {card.sha256}"
        )


def _refuse_placeholder(checks: EvalFile, card: LoadedCard, path: Path) -> None:
    """A finding that is none must not become what a submission is compared with."""
    reason = no_finding(card.card)
    using = [check.id for check in checks.scored() if "finding" in check.sources]
    if reason and using:
        raise CardError(f"{path}: {using[0]}: takes its value from the finding, which is none ({reason})")


def plan_of(path: Path, evals: Path | None = None) -> Plan:
    """The checks that ``path`` means: a card, a capsule, an exported task, or a folder with eval.json.

    Raises:
        CardError: It means none.
    """
    if path.name == NAME and path.is_file():
        return _read(path)
    if (path / NAME).is_file():
        return _read(path / NAME)
    exported = path / "authoring" / NAME
    if exported.is_file():
        return replace(_read(exported), folder=path / "tests" / "references")
    return eval_of(load_card(path), evals)


@dataclass(frozen=True)
class JudgeOption:
    """Which model judges, and how often it is asked."""

    model: str
    ask: Judge
    votes: int = 3


def run_eval(
    plan: Plan,
    submission: Path,
    *,
    judging: JudgeOption | None = None,
    run_scripts: bool = False,
) -> ResultFile:
    """Grade a submission.

    Args:
        plan: The checks.
        submission: The folder that their paths are relative to.
        judging: Who answers ``llm_judge``; without one those checks stay pending.
        run_scripts: Whether programs of the submission may be started (``script_runs``).

    Raises:
        CardError: A judge's reference cannot be read.
        EngineError: The judge cannot be asked.
    """
    scored = plan.checks.scored()
    references = str(plan.folder) if plan.folder is not None else None
    verdicts = dict(
        zip(
            (check.id for check in scored),
            decide(
                [check.parameters() for check in scored],
                str(submission),
                references,
                run_scripts=run_scripts,
            ),
            strict=True,
        )
    )
    judgements = _judged(plan, submission, judging) if judging is not None else {}
    results = [_result(check, verdicts, judgements) for check in plan.checks.checks]
    most = sum(check.points for check in scored)
    points = sum(check.points for check in scored if verdicts[check.id].outcome == PASS)
    decided = bool(scored) and all(verdict.outcome != ERROR for verdict in verdicts.values())
    return ResultFile(
        capsule_key=plan.checks.capsule_key,
        card_sha256=plan.checks.card_sha256,
        eval_sha256=plan.sha256,
        grader=f"sipbench {version('sipbench')}",
        score=points / most if decided else None,
        points=points if decided else None,
        max_points=most,
        counts=_counts(results),
        judge=_record(judging, judgements) if judging is not None else None,
        checks=tuple(results),
    )


def _judged(plan: Plan, submission: Path, judging: JudgeOption) -> dict[str, Judgement]:
    place = Place(str(submission))
    references = Place(str(plan.folder)) if plan.folder is not None else None
    return {
        check.id: judge(check, place, references, judging.ask, judging.votes)
        for check in plan.checks.checks
        if isinstance(check, LlmJudge) and check.status == "ready"
    }


def _result(check: Check, verdicts: dict[str, Verdict], judgements: dict[str, Judgement]) -> CheckResult:
    base = {
        "id": check.id,
        "kind": check.kind,
        "points": check.points,
        "status": check.status,
        "scope": check.scope,
        "counted": check.counts,
    }
    if check.id in verdicts:
        verdict = verdicts[check.id]
        return CheckResult(**base, outcome=verdict.outcome, reason=verdict.reason)  # type: ignore[arg-type]
    if check.id in judgements:
        found = judgements[check.id]
        return CheckResult(
            **base,  # type: ignore[arg-type]
            outcome=found.outcome,  # type: ignore[arg-type]
            reason=found.reason,
            votes=found.votes,
            agreement=found.agreement,
        )
    if check.status == "todo":
        return CheckResult(**base, outcome="todo", reason=f"owed: {', '.join(check.missing)}")  # type: ignore[arg-type]
    waiting = "a model" if check.kind == "llm_judge" else "a person"
    return CheckResult(**base, outcome="pending", reason=f"waits for {waiting}")  # type: ignore[arg-type]


def _counts(results: Sequence[CheckResult]) -> Counts:
    counted = Counter[str](result.outcome for result in results if result.counted)
    beside = Counter(result.kind for result in results if result.status == "ready" and not result.counted)
    return Counts(
        passed=counted[PASS],
        failed=counted[FAIL],
        undecided=counted[ERROR],
        todo=sum(result.status == "todo" for result in results),
        expert_review=beside["expert_review"],
        llm_judge=beside["llm_judge"],
    )


def _record(judging: JudgeOption, judgements: dict[str, Judgement]) -> JudgeRecord:
    outcomes = Counter(judgement.outcome for judgement in judgements.values())
    answers = [answer for judgement in judgements.values() for answer in judgement.answers]
    tokens = [
        total([answer.input_tokens for answer in answers]),
        total([answer.output_tokens for answer in answers]),
    ]
    return JudgeRecord(
        model=judging.model,
        prompt_version=PROMPT_VERSION,
        votes=judging.votes,
        passed=outcomes[PASS],
        failed=outcomes[FAIL],
        pending=outcomes["pending"],
        cost_usd=total([answer.cost_usd for answer in answers]) if answers else None,
        input_tokens=int(tokens[0]) if answers and tokens[0] is not None else None,
        output_tokens=int(tokens[1]) if answers and tokens[1] is not None else None,
    )
