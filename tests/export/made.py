"""A card with everything that an author owes: checks, reference, oracle, inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sipbench.cards.checks.model import EVAL_VERSION
from sipbench.cards.load import LoadedCard, load_card
from sipbench.export.driver import Exported, Outcome, Request, export
from sipbench.export.given import Given
from sipbench.export.harbor import HarborFormat
from tests.cards.made import card, collection, put

RIGHT = "slope,r2\n0.4,0.625\n"


def check(id_: str, **parameters: Any) -> dict[str, Any]:
    return {"id": id_, "points": 1.0, "text": id_, "origin": "author", "status": "ready", **parameters}


CHECKS = [
    check("there", kind="file_exists", path="fit.csv"),
    check("named", kind="contains_substring", path="fit.csv", value="slope"),
    check("columns", kind="field_present", path="fit.csv", fields=["slope", "r2"]),
    check(
        "share",
        kind="value_in_range",
        path="fit.csv",
        selector={"by": "cell", "column": "r2", "row": 0},
        min=0.6,
        max=0.65,
        sources=["finding", "ev_001", "claim_001"],
    ),
    check(
        "same",
        kind="output_matches_reference",
        path="fit.csv",
        reference="ref/fit.csv",
        comparator="table",
        rtol=0.01,
    ),
    check("talk", kind="llm_judge", question="Is it explained?", threshold=0.5),
    check("person", kind="expert_review", question="Is a line adequate?"),
]


@dataclass(frozen=True)
class Made:
    """A card and the folders that its author gives."""

    card: LoadedCard
    root: Path
    request: Request

    def export(self, *cards: LoadedCard, out: str = "out", **changes: Any) -> Exported:
        request = replace(self.request, **changes)
        return export(HarborFormat(), cards or (self.card,), self.root / out, request)

    def one(self, **changes: Any) -> Outcome:
        (outcome,) = self.export(**changes).outcomes
        return outcome

    @property
    def task(self) -> Path:
        return self.root / "out" / "tasks" / self.card.key


def author(root: Path, card_: LoadedCard, *checks: dict[str, Any]) -> None:
    """Write eval.json and its reference."""
    folder = root / "evals" / card_.key
    put(folder / "ref" / "fit.csv", RIGHT)
    document = {
        "schema_version": EVAL_VERSION,
        "capsule_key": card_.key,
        "task_id": card_.card.task_id,
        "card_sha256": card_.sha256,
        "checks": list(checks or CHECKS),
    }
    put(folder / "eval.json", document)


def made(root: Path, **changes: Any) -> Made:
    """A card that can be exported as a task."""
    card_ = load_card(collection(root, card(**({"tools": ["Python"]} | changes)))[0])
    author(root, card_)
    put(root / "inputs" / card_.key / "rain.csv", "basin,rain\na,1\n")
    put(root / "oracle" / card_.key / "fit.csv", RIGHT)
    for name in ("skills",):
        (root / name).mkdir()
    given = Given(inputs=root / "inputs", oracle=root / "oracle", evals=root / "evals")
    return Made(card_, root, Request(given=given, authors=("Ann Example",)))


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
