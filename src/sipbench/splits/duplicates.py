"""Tasks that are the same or nearly the same: by id, by digest, by text."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, product
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from sipbench.splits.base import TaskLike
from sipbench.splits.lsh import components, pairs_by_minhash
from sipbench.splits.similar import EPS, Measure, Pairs, no_pairs, pairs_by_index
from sipbench.splits.sketch import banding, signatures
from sipbench.splits.words import MAX_CHARACTERS, normal_text, shingle_sets, word_shingles

__all__ = ["DuplicateSettings", "Duplicates", "Kind", "Pair", "near_duplicates"]

Kind = Literal["digest", "text", "near"]


class DuplicateSettings(BaseModel):
    """How near-duplicates are searched; recorded with every result.

    Attributes:
        shingle: Words in a row that are compared as one.
        threshold: Similarity from which two texts are near-duplicates.
        measure: ``jaccard``, shared / all shingles of the two, or ``containment``, shared / shingles of
            the shorter: a task that quotes another one whole.
        method: ``index`` misses nothing and is for texts that share little, ``minhash`` is for any
            number of any texts, ``auto`` takes the index where it can.
        permutations: Length of MinHash signatures.
        seed: Decides the permutations.
        max_pairs: Pairs that are listed at most; groups are always whole.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    shingle: Annotated[int, Field(ge=1, le=100)] = 5
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.5
    measure: Measure = "jaccard"
    method: Literal["auto", "index", "minhash"] = "auto"
    permutations: Annotated[int, Field(ge=16, le=1024)] = 128
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    max_pairs: Annotated[int, Field(ge=0, le=10_000_000)] = 10_000

    def __str__(self) -> str:
        return f"{self.shingle}-word shingles, {self.measure} >= {self.threshold:g}"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks that are alike.

    Attributes:
        first: Id of the one that comes first among the tasks.
        second: Id of the other.
        kind: ``digest`` equal digests, ``text`` equal texts after normalisation, ``near`` similar ones.
        similarity: By the measure that was asked for; 1 for equal ones.
    """

    first: str
    second: str
    kind: Kind
    similarity: float


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What a search found.

    Attributes:
        settings: How it was searched.
        method: ``index``, ``minhash``, or None where fewer than two texts were to be compared.
        recall: Probability that a pair of equally long texts just at the threshold is found.
        tasks: Number of tasks.
        groups: Tasks connected by being alike, two or more each, in the order of the tasks.
        pairs: The pairs, equal ones first, then by falling similarity.
        complete: Whether ``pairs`` holds all that were found. If not, ``groups`` still holds what
            belongs together.
        repeated_ids: Ids that several tasks have.
        without_text: Tasks that have no words, and so could be compared by digest only.
        shortened: Tasks of whose text only the beginning was compared.
    """

    settings: DuplicateSettings
    method: Literal["index", "minhash"] | None
    recall: float
    tasks: int
    groups: tuple[tuple[str, ...], ...]
    pairs: tuple[Pair, ...]
    complete: bool
    repeated_ids: tuple[str, ...]
    without_text: tuple[str, ...]
    shortened: tuple[str, ...]

    def summary(self) -> dict[str, Any]:
        """What a manifest records of the search: plain JSON."""
        return {
            **self.settings.model_dump(exclude={"max_pairs"}),
            "method": self.method,
            "recall": self.recall,
            "groups": len(self.groups),
            "tasks_in_groups": sum(map(len, self.groups)),
            "without_text": len(self.without_text),
            "shortened": len(self.shortened),
        }


def near_duplicates(tasks: Sequence[TaskLike], settings: DuplicateSettings | None = None) -> Duplicates:
    """Find tasks with equal ids, equal digests, equal texts, and similar texts.

    Equal texts are put together first and compared once, so that many copies of one task cost no
    more than one. A similarity that is reported was computed from words, not from a sketch.

    Raises:
        MissingExtraError: MinHash is needed, and datasketch is not installed.
    """
    settings = settings or DuplicateSettings()
    texts = [normal_text(task.text or "") for task in tasks]
    alike = _Alike(
        tasks,
        texts,
        same_digest=_positions((at, task.digest) for at, task in enumerate(tasks) if task.digest),
        same_text=_positions((at, text) for at, text in enumerate(texts) if text),
    )
    found = _search([texts[group[0]] for group in alike.same_text], settings)
    listed = list(islice(alike.pairs(found.pairs, settings), settings.max_pairs + 1))
    return Duplicates(
        settings=settings,
        method=found.method,
        recall=found.recall,
        tasks=len(tasks),
        groups=alike.groups(found.pairs),
        pairs=tuple(listed[: settings.max_pairs]),
        complete=found.pairs.complete and len(listed) <= settings.max_pairs,
        repeated_ids=tuple(name for name, times in Counter(task.id for task in tasks).items() if times > 1),
        without_text=tuple(task.id for task, text in zip(tasks, texts, strict=True) if not text),
        shortened=tuple(task.id for task in tasks if len(task.text or "") > MAX_CHARACTERS),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """Similar pairs among different texts, most similar first."""

    pairs: Pairs
    method: Literal["index", "minhash"] | None
    recall: float


def _search(texts: Sequence[str], settings: DuplicateSettings) -> _Found:
    threshold, measure = settings.threshold, settings.measure
    if len(texts) < 2:
        return _Found(no_pairs(), None, 1.0)
    sets = shingle_sets(texts, settings.shingle)
    if settings.method != "minhash":
        pairs = pairs_by_index(sets, threshold, measure, limited=settings.method == "auto")
        if pairs is not None:
            return _Found(pairs.sorted(), "index", 1.0)
    # Equally long texts at containment c have the Jaccard similarity c / (2 - c).
    bands = banding(threshold if measure == "jaccard" else threshold / (2 - threshold), settings.permutations)
    signature = signatures(sets, settings.permutations, settings.seed)
    pairs = pairs_by_minhash(sets, signature, bands, threshold, measure)
    return _Found(pairs.sorted(), "minhash", bands.recall)


def _positions[T](keyed: Iterable[tuple[int, T]]) -> list[list[int]]:
    """The positions that share a key, in order; compared by a digest, since keys may be long texts."""
    groups: dict[bytes, list[int]] = defaultdict(list)
    for at, key in keyed:
        groups[hashlib.blake2b(str(key).encode("utf-8", "replace"), digest_size=16).digest()].append(at)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class _Alike:
    """Tasks and which of them are equal; of similar texts, pairs of positions in ``same_text``."""

    tasks: Sequence[TaskLike]
    texts: Sequence[str]
    same_digest: list[list[int]]
    same_text: list[list[int]]

    def groups(self, near: Pairs) -> tuple[tuple[str, ...], ...]:
        """Tasks connected by being alike."""
        heads = np.array([group[0] for group in self.same_text], np.int64)
        equal = [(group[0], other) for group in self.same_digest + self.same_text for other in group[1:]]
        links = np.array(equal, np.int64).reshape(-1, 2)
        first = np.concatenate([links[:, 0], heads[near.first]])
        second = np.concatenate([links[:, 1], heads[near.second]])
        groups: dict[int, list[str]] = defaultdict(list)
        for task, label in zip(self.tasks, components(len(self.tasks), first, second).tolist(), strict=True):
            groups[label].append(task.id)
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)

    def pairs(self, near: Pairs, settings: DuplicateSettings) -> Iterator[Pair]:
        """Every pair, one at a time: there may be very many."""
        for a, b in _couples(self.same_digest):
            yield self._pair(a, b, "digest", 1.0)
        for a, b in _couples(self.same_text):
            if not self._one_digest(a, b):
                yield self._pair(a, b, "text", 1.0)
        for one, other in zip(near.first, near.second, strict=True):
            members = self.same_text[one], self.same_text[other]
            similarity = self._similarity(members[0][0], members[1][0], settings)
            for a, b in product(*members):
                if similarity >= settings.threshold - EPS and not self._one_digest(a, b):
                    yield self._pair(a, b, "near", similarity)

    def _pair(self, a: int, b: int, kind: Kind, similarity: float) -> Pair:
        first, second = sorted((a, b))
        return Pair(self.tasks[first].id, self.tasks[second].id, kind, similarity)

    def _one_digest(self, a: int, b: int) -> bool:
        return self.tasks[a].digest is not None and self.tasks[a].digest == self.tasks[b].digest

    def _similarity(self, a: int, b: int, settings: DuplicateSettings) -> float:
        first = word_shingles(self.texts[a], settings.shingle)
        second = word_shingles(self.texts[b], settings.shingle)
        shared = len(first & second)
        whole = len(first | second) if settings.measure == "jaccard" else min(len(first), len(second))
        return shared / whole


def _couples(groups: list[list[int]]) -> Iterator[tuple[int, int]]:
    return chain.from_iterable(combinations(group, 2) for group in groups)
