"""Texts: logs to triage, references to extract, paths to match."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase
from random import Random

from generator.base import Made

SERVICES = ("auth", "billing", "cart", "mail", "search", "store")
FILLER = (
    *("the", "report", "of", "last", "week", "was", "sent", "late", "since"),
    *("nobody", "had", "checked", "the", "list", "of", "open", "points", "again"),
)


def log_triage(rng: Random, number: int) -> Made:
    """Errors by service within some hours."""
    first = rng.randint(0, 18)
    last = first + rng.randint(1, 4)
    counts: Counter[str] = Counter()
    lines = []
    for _ in range(80):
        hour, level = rng.randint(0, 23), rng.choice(["INFO", "WARN", "ERROR", "ERROR"])
        hour = rng.randint(first, last) if rng.random() < 0.4 else hour
        service = rng.choice(SERVICES)
        said = rng.choice(["timeout", "retry of ERROR 17", "ok", "queue full"])
        lines.append(f"2024-05-06T{hour:02d}:{rng.randint(0, 59):02d}:00Z {level} [{service}] {said}")
        if level == "ERROR" and first <= hour <= last:
            counts[service] += 1
    counts.update({"auth": 0})
    lines.sort()
    asked = (
        f"Triage the log app.log: count the level ERROR per service from hour {first} to hour {last}",
        f"Which service failed most? Count ERROR in app.log by service between hour {first} and hour {last}",
        f"Go through the server log app.log and count errors per service, hour {first} to hour {last}",
    )
    text = (
        f"{asked[number % 3]}, both included, one `service count` per line, most first, ties by name, "
        "services without an error left out."
    )
    ranked = sorted(((name, n) for name, n in counts.items() if n), key=lambda item: (-item[1], item[0]))
    return Made(text, {"app.log": "\n".join(lines) + "\n"}, tuple(f"{name} {n}" for name, n in ranked))


def text_extraction(rng: Random, number: int) -> Made:
    """Order numbers out of prose, among look-alikes."""
    prefix = rng.choice(["ORD", "INV", "REF"])
    found, words = set(), []
    for _ in range(120):
        words.append(rng.choice(FILLER))
        roll = rng.random()
        if roll < 0.08:
            found.add(token := f"{prefix}-{rng.randint(10_000, 99_999)}")
            words.append(rng.choice(["({})", "{},", "{}.", "{}"]).format(token))
        elif roll < 0.16:
            words.append(
                rng.choice(
                    [
                        f"{prefix}-{rng.randint(100, 999)}",
                        f"{prefix.lower()}-{rng.randint(10_000, 99_999)}",
                        f"X{prefix}-{rng.randint(10_000, 99_999)}",
                        f"{prefix}-{rng.randint(100_000, 999_999)}",
                    ]
                )
            )
    found.add(last := f"{prefix}-{rng.randint(10_000, 99_999)}")
    words.append(last)
    lines = [" ".join(words[at : at + 12]) for at in range(0, len(words), 12)]
    asked = (
        f"Extract every reference of the form {prefix}-NNNNN from the text mail.txt",
        f"mail.txt mentions references such as {prefix}-NNNNN. Pull them out",
        f"Find all mentions of {prefix}-NNNNN in the letter mail.txt",
    )
    text = (
        f"{asked[number % 3]}: N is a digit, exactly five of them, with no letter or digit right before or "
        "after; each reference once, sorted."
    )
    return Made(text, {"mail.txt": "\n".join(lines) + "\n"}, tuple(sorted(found)))


def path_globbing(rng: Random, number: int) -> Made:
    """Paths that match one pattern and not another."""
    folders = ("src", "docs", "tests", "src/core", "docs/img")
    names = ("main", "util", "readme", "test_io", "plan")
    endings = (".py", ".md", ".txt", ".png")
    paths = sorted({f"{rng.choice(folders)}/{rng.choice(names)}{rng.choice(endings)}" for _ in range(60)})
    while True:
        wanted = f"{rng.choice(['*', 'src*', 'docs*', 'tests*'])}/*{rng.choice(endings)}"
        unwanted = f"*{rng.choice(names)}*"
        kept = [path for path in paths if fnmatchcase(path, wanted) and not fnmatchcase(path, unwanted)]
        if kept:
            break
    asked = (
        f"Which paths in paths.txt match the glob `{wanted}` and do not match `{unwanted}`?",
        f"Filter the names in paths.txt with the glob `{wanted}`, without those that match `{unwanted}`.",
        f"Select from paths.txt by pattern: include the glob `{wanted}`, exclude `{unwanted}`.",
    )
    text = f"{asked[number % 3]} `*` stands for any characters, slashes too. One path per line, sorted."
    shuffled = rng.sample(paths, len(paths))
    return Made(text, {"paths.txt": "\n".join(shuffled) + "\n"}, tuple(kept))
