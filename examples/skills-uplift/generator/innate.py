"""What the plumbing agent can do before it learns anything: sorting lines, counting words."""

from __future__ import annotations

from collections import Counter
from random import Random

from generator.base import Made

WORDS = (
    *("amber", "birch", "cedar", "daisy", "elder", "fern", "grape", "hazel"),
    *("ivy", "juniper", "kale", "lilac", "maple", "nettle", "oak", "pine"),
)


def line_sorting(rng: Random, number: int) -> Made:
    """The distinct lines of a file, sorted."""
    lines = [rng.choice(WORDS) + rng.choice(["", "-a", "-b"]) for _ in range(40)]
    asked = (
        "Sort the lines of list.txt",
        "Put the lines of list.txt in order",
        "list.txt is a list in no order. Sort it",
        "Order the entries of the text file list.txt",
    )
    text = f"{asked[number % 4]} alphabetically, byte by byte, and keep each line once."
    return Made(text, {"list.txt": "\n".join(lines) + "\n"}, tuple(sorted(set(lines))))


def word_counting(rng: Random, number: int) -> Made:
    """How often each word occurs."""
    words = [rng.choice(WORDS[: rng.randint(6, 14)]) for _ in range(90)]
    lines = [" ".join(words[at : at + 9]) for at in range(0, len(words), 9)]
    asked = (
        "Count how often each word occurs in words.txt",
        "How many times does every word of words.txt occur",
        "Make a count of the words in the text words.txt",
        "Count the words of words.txt, each for itself",
    )
    text = f"{asked[number % 4]}: one `word count` per line, most frequent first, ties by word."
    ranked = sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))
    return Made(text, {"words.txt": "\n".join(lines) + "\n"}, tuple(f"{word} {n}" for word, n in ranked))
