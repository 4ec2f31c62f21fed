"""Near-duplicate search over many task texts: time, memory, recall, and the ratio to datasketch alone.

    python benchmarks/bench_near_duplicates.py [--tasks 100000] [--words 200] [--only NAME]

Goal: 100,000 tasks of 200 words in 60 s and 2 GiB on two cores. Each corpus is searched in a process
of its own, since memory is the peak of a process:

random       words drawn at random; every tenth task is an edited copy of another one
minhash      the same corpus, with the index switched off
templates    1,000 tasks from each template, three words in a hundred changed: nearly all are similar
boilerplate  three fifths of the words are the same in all tasks: similar, but not enough
identical    one text, with other white space and capitals
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from itertools import combinations

from sipbench.splits.duplicates import Duplicates, DuplicateSettings, near_duplicates
from sipbench.splits.files import ListedTask

VOCABULARY = [f"word{number}" for number in range(20_000)]
CORPORA = ("random", "minhash", "templates", "boilerplate", "identical")
SAMPLE = 1_500


def edited(words: list[str], share: float, draw: random.Random) -> list[str]:
    return [draw.choice(VOCABULARY) if draw.random() < share else word for word in words]


def corpus(name: str, tasks: int, words: int) -> tuple[list[ListedTask], list[tuple[int, int]]]:
    """The tasks, and which one is an edited copy of which."""
    draw = random.Random(7)
    copies = []

    def fresh(count: int = words) -> list[str]:
        return draw.choices(VOCABULARY, k=count)

    made: list[list[str]] = []
    templates = [fresh() for _ in range(max(1, tasks // 1000))]
    same = fresh(words * 3 // 5)
    for number in range(tasks):
        if name == "templates":
            made.append(edited(templates[number % len(templates)], 0.03, draw))
        elif name == "boilerplate":
            made.append(same + fresh(words - len(same)))
        elif name == "identical":
            made.append([word.upper() if number % 3 else word for word in templates[0]])
        elif number % 10 == 9:
            copies.append((number, draw.randrange(number)))
            made.append(edited(made[copies[-1][1]], draw.choice([0.01, 0.03, 0.06, 0.1]), draw))
        else:
            made.append(fresh())
    return [ListedTask(id=f"t{number}", text="  ".join(text)) for number, text in enumerate(made)], copies


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, tasks: int, words: int) -> dict[str, object]:
    made, copies = corpus(name, tasks, words)
    before = peak_mib()
    settings = DuplicateSettings(method="minhash" if name == "minhash" else "auto")
    start, busy = time.perf_counter(), time.process_time()
    found = near_duplicates(made, settings)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    result: dict[str, object] = {
        "corpus": name,
        "tasks": tasks,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(busy, 2),
        "peak_mib": round(peak_mib()),
        "peak_mib_before": round(before),
        "method": found.method,
        "expected_recall": round(found.recall, 4),
        "groups": len(found.groups),
        "largest_group": max(map(len, found.groups), default=0),
        "pairs_listed": len(found.pairs),
        "complete": found.complete,
    }
    if name in ("random", "minhash"):
        result |= recall(made, copies, found)
    if name == "minhash":
        result |= versus_datasketch(made[: max(1000, tasks // 10)])
    return result


def shingles(text: str, size: int = 5) -> frozenset[tuple[str, ...]]:
    words = text.split()
    return frozenset(tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1)))


def recall(made: list[ListedTask], copies: list[tuple[int, int]], found: Duplicates) -> dict[str, object]:
    """Pairs found among those that comparing everything with everything finds, in a sample."""
    listed = {(pair.first, pair.second) for pair in found.pairs}
    draw = random.Random(11)
    chosen = set(draw.sample(range(len(made)), min(SAMPLE, len(made))))
    for pair in draw.sample(copies, min(SAMPLE, len(copies))):
        chosen.update(pair)
    sets = {number: shingles(made[number].text or "") for number in sorted(chosen)}
    true = missed = 0
    for first, second in combinations(sets, 2):
        shared = len(sets[first] & sets[second])
        if shared and shared / (len(sets[first]) + len(sets[second]) - shared) >= 0.5:
            true += 1
            missed += (made[first].id, made[second].id) not in listed
    return {"sampled_tasks": len(sets), "true_pairs": true, "missed_pairs": missed}


def versus_datasketch(made: list[ListedTask]) -> dict[str, object]:
    """The same bands and the same check, with datasketch one text at a time."""
    from datasketch import MinHash, MinHashLSH

    start = time.perf_counter()
    ours = near_duplicates(made, DuplicateSettings(method="minhash"))
    middle = time.perf_counter()
    index = MinHashLSH(num_perm=128, params=(42, 3))
    sets = [shingles((task.text or "").casefold()) for task in made]
    pairs = set()
    for number, members in enumerate(sets):
        sketch = MinHash(num_perm=128)
        sketch.update_batch([" ".join(member).encode() for member in members])
        for other in index.query(sketch):
            shared = len(members & sets[other])
            if shared / (len(members) + len(sets[other]) - shared) >= 0.5:
                pairs.add((made[other].id, made[number].id))
        index.insert(number, sketch, check_duplication=False)
    end = time.perf_counter()
    mine = {(pair.first, pair.second) for pair in ours.pairs}
    return {
        "compared_tasks": len(made),
        "datasketch_seconds": round(end - middle, 2),
        "seconds_for_the_same": round(middle - start, 2),
        "times_as_fast": round((end - middle) / (middle - start), 1),
        "found_by_datasketch_only": len(pairs - mine),
        "found_here_only": len(mine - pairs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=200)
    parser.add_argument("--only", choices=CORPORA)
    parser.add_argument("--here", action="store_true", help="search in this process")
    asked = parser.parse_args()
    for name in (asked.only,) if asked.only else CORPORA:
        if asked.here:
            print(json.dumps(measure(name, asked.tasks, asked.words)))
            continue
        sizes = ["--tasks", str(asked.tasks), "--words", str(asked.words)]
        subprocess.run([sys.executable, __file__, *sizes, "--only", name, "--here"], check=True)


if __name__ == "__main__":
    main()
