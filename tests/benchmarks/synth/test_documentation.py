"""The documentation says what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sipbench.benchmarks.base import Options
from sipbench.benchmarks.synth.benchmark import AGENT_NAME, AgentArguments, SynthOptions
from sipbench.benchmarks.synth.language import MAX_TEXT, NAMES, apply
from sipbench.benchmarks.synth.learners import MacroOptions, WeightOptions

TEXT = (Path(__file__).parents[3] / "docs" / "synth.md").read_text(encoding="utf-8")


def test_every_primitive_is_listed_once() -> None:
    listed = re.findall(r"`(\w+)`", TEXT.partition("| primitives on")[2].partition("\n\n")[0])
    assert sorted(listed) == sorted(NAMES)


@pytest.mark.parametrize("options", [SynthOptions, AgentArguments, MacroOptions, WeightOptions])
def test_every_option_is_named_with_its_default(options: type[Options]) -> None:
    for name, field in options.model_fields.items():
        assert re.search(rf"`{name}`(?: \(| \| ){field.default:g}\b", TEXT), name


def test_the_agent_is_named() -> None:
    assert f"`{AGENT_NAME}`" in TEXT


def test_the_example_is_right() -> None:
    assert apply(("reverse",), "Hello there") == "ereht olleH"
    assert apply(("drop_vowels",), "ereht olleH") == "rht llH"
    assert f"more than {MAX_TEXT} characters" in TEXT


def test_the_sizes_of_the_space_are_right() -> None:
    assert (
        f"{1 + 24 + 24**2} programs of up to two steps, and {1 + 24 + 24**2 + 24**3:,} of up to three" in TEXT
    )
