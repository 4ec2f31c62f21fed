from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from sipbench.errors import ConfigError
from sipbench.study.config import ArmConfig, StudyAnalysis, StudyConfig
from sipbench.study.load import LoadedStudy, load_study
from sipbench.study.schema import SCHEMAS
from tests.repo.tree import ROOT

STUDY: dict[str, Any] = {
    "name": "try",
    "benchmark": {"name": "synth"},
    "agent": {"name": "enumerative-search"},
    "arms": {"frozen": {"path_type": "frozen"}},
    "analysis": {"sesoi": 0.05},
}
T2 = ["T0", "T1", "T2"]


def load(folder: Path, text: str | bytes, **given: Any) -> LoadedStudy:
    path = folder / "study.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    given.setdefault("environment", {})
    return load_study(path, **given)


def written(**changes: Any) -> str:
    return yaml.safe_dump({**STUDY, **changes}, sort_keys=False)


def refused(folder: Path, text: str | bytes, **given: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder, text, **given)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{folder}/", "")


def test_the_smallest_study_has_the_defaults_of_the_protocol(tmp_path: Path) -> None:
    config = load(tmp_path, written()).config
    assert (config.repeats, list(config.phases), config.seed) == (3, ["T0", "T1"], 0)
    analysis = config.analysis
    assert (analysis.alpha, analysis.power, analysis.margin, analysis.lambda_) == (0.05, 0.8, 0.05, 1.0)
    assert (analysis.eps, analysis.coverage_gate, analysis.scope) == (0.05, 0.9, "agent")


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("caps: {usd: no}", "caps.usd"),
        ("estimate: {ask_above_usd: off}", "estimate.ask_above_usd"),
        ("retries: no", "retries"),
        ("attempts: {heldout: yes}", "attempts.heldout"),
        ("splits: {sizes: {replay: no}}", "splits.sizes"),
    ],
)
def test_a_switch_is_no_number(tmp_path: Path, change: str, where: str) -> None:
    # `usd: no` means no cap; as a number it would be a cap of 0.
    assert f"{where}: expected a value, not " in refused(tmp_path, written() + change + "\n")


def test_the_analysis_takes_no_switch_for_a_number(tmp_path: Path) -> None:
    found = refused(tmp_path, written(analysis={"sesoi": True}))
    assert "analysis.sesoi: expected a value, not true" in found


def test_one_number_of_attempts_is_that_number_for_every_split(tmp_path: Path) -> None:
    config = load(tmp_path, written(attempts=4)).config
    assert {config.attempts.replay, config.attempts.adapt, config.attempts.heldout} == {4}


def test_an_adaptation_may_be_one_word(tmp_path: Path) -> None:
    arms = {"a": {"path_type": "external", "adaptation": "synth-macros"}}
    chosen = load(tmp_path, written(arms=arms)).config.arms["a"].adaptation
    assert chosen is not None
    assert (chosen.kind, chosen.options) == ("synth-macros", {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "name: x\nbenchmrk: {name: synth}\n",
            "study.yaml:2: benchmrk: unknown key, did you mean 'benchmark'?",
        ),
        (written(analysis={}), "study.yaml:9: analysis.sesoi: is missing: The smallest effect of interest"),
        (
            written(analysis={"sesoi": 0.1, "lambada": 2}),
            "analysis.lambada: unknown key, did you mean 'lambda'?",
        ),
        (written(phases=["T0", "T2"]), "phases: expected [T0], [T0, T1] or [T0, T1, T2]"),
        (written(repeats=0), "repeats: input should be greater than or equal to 1 (found 0)"),
        (written(agent=None), "arms.frozen: it names no agent, and the study has no default"),
        (written(allow=["disjoint-everything"]), "'disjoint-everything' is no split rule; rules are"),
        (written(t2={"by": "drift"}), "t2: the study has no phase T2"),
        (written(t2={"delay": "7d"}), "t2: the study has no phase T2"),
        (written(phases=T2, t2={"delay": 7}), "t2.delay: expected a length such as 7d, 36h or"),
        (written(phases=T2, t2={"delay": "7 days"}), "t2.delay: expected a length such as 7d, 36h or"),
        (
            written(phases=T2, t2={"delay": "2026-12-08T13:50:00"}),
            "names no time zone; end it with Z for UTC",
        ),
        (written(phases=T2, t2={"by": "delay"}), "`delay` needs the `delay` itself, such as `delay: 7d`"),
        (written(order="shuffled"), "order: input should be 'interleaved' or 'by_arm'"),
        (written(arms={}), "arms: "),
        (written(arms={"../x": {"path_type": "frozen"}}), "letters, digits, dot, hyphen and underscore"),
        (written(analysis={"sesoi": float("nan")}), "analysis.sesoi"),
        (
            written(agent={"name": "a", "arguments": {"t": float("nan")}}),
            "agent.arguments.t: .nan is not a finite number",
        ),
        (written(agent={"name": "a", "arguments": {"t": [2**5000]}}), "is not a finite number"),
        (
            written(analysis={"sesoi": 0.1, "alpha": 1e-9}),
            "analysis.alpha: input should be greater than or equal",
        ),
        (
            written(analysis={"sesoi": 0.1, "power": 0.01}),
            "analysis.power: input should be greater than or equal",
        ),
        (
            written(analysis={"sesoi": 0.1, "lambda": 1e308}),
            "analysis.lambda: input should be less than or equal",
        ),
        (written(arms={"a": {"path_type": "frozen", "seed": 10**20}}), "arms.a.seed: input should be less"),
        (written(splits={"sizes": {"heldout": 3}, "file": "x"}), "the file already says which tasks"),
        (written(splits={"sizes": {"smoke": 3}}), "'smoke' is no split of a study"),
        (written(replay_selection={"method": "screened"}), "screen_run_id"),
    ],
)
def test_what_is_wrong_is_said_with_line_field_and_way_out(tmp_path: Path, text: str, said: str) -> None:
    message = refused(tmp_path, text)
    assert said in message
    assert message.startswith("study.yaml:")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "empty"),
        (b"- a\n", "expected keys and values"),
        (b"name: [\n", "not YAML"),
        (b"name: a\nname: b\n", "study.yaml:2: 'name' stands twice (first on line 1)"),
        (b"name: \xff\n", "study.yaml:1: not UTF-8"),
        (b"name: a\n---\nname: b\n", "a second document"),
        (b"name: !!python/object/apply:os.system [echo]\n", "study.yaml:1"),
        (b"a: &a [1]\nb: {<<: *a}\n", "merge keys"),
        (b"? [a]\n: b\n", "a key must be a word"),
        (b"name: " + b"[" * 50, "nested more than 40 levels deep"),
        (b"name: " + b"[" * 100_000, "study.yaml:1: not YAML"),
        (b"x: [" + b"1," * 300_000 + b"]", "more than 200000 values"),
        (b"#" * (5 * 1024 * 1024), "larger than"),
        (b"name: &a [*a]\n", "study.yaml:1"),
    ],
)
def test_hostile_files_are_one_line(tmp_path: Path, text: bytes, said: str) -> None:
    assert said in refused(tmp_path, text)


def test_aliases_cannot_multiply_a_file(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    assert "aliases multiply the file" in refused(tmp_path, "\n".join(lines))


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file"):
        load_study(tmp_path / "none.yaml")


def test_command_line_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    text = written(concurrency=3, retries=5)
    environment = {"SIPBENCH_CONCURRENCY": "7", "SIPBENCH_RETRIES": "6"}
    loaded = load(tmp_path, text, environment=environment, overrides={"retries": 9, "seed": None})
    assert (loaded.config.concurrency, loaded.config.retries) == (7, 9)
    sources = loaded.sources
    assert sources["retries"] == "command line"
    assert sources["concurrency"] == "environment"
    assert sources["name"] == "study file"
    assert sources["seed"] == "default"


def test_a_wrong_variable_is_named_as_such(tmp_path: Path) -> None:
    message = refused(tmp_path, written(), environment={"SIPBENCH_CONCURRENCY": "many"})
    assert message.startswith("SIPBENCH_CONCURRENCY: concurrency: ")


def test_allowed_rules_add_up(tmp_path: Path) -> None:
    text = written(allow=["disjoint-ids"])
    loaded = load(tmp_path, text, overrides={"allow": ["drift-declared"]})
    assert loaded.config.allow == ("disjoint-ids", "drift-declared")


def test_the_shipped_schema_is_that_of_the_model() -> None:
    assert SCHEMAS.stale() == [], "run `make schemas`"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"attempts": 4},
        {"attempts": {"heldout": 2}},
        {"arms": {"a": {"path_type": "external", "adaptation": "synth-macros"}}},
        {"phases": T2, "t2": {"by": "drift"}},
        {"phases": T2, "t2": {"by": "delay", "delay": "1d12h"}},
        {"phases": T2, "t2": {"by": ["delay", "adaptation"], "delay": "2026-12-08T13:50:00Z"}},
        {"order": "by_arm"},
        {"replay_selection": "preregistered"},
    ],
)
def test_the_schema_takes_what_the_model_takes(tmp_path: Path, changes: dict[str, Any]) -> None:
    load(tmp_path, written(**changes))
    jsonschema.validate({**STUDY, **changes}, SCHEMAS.load("study"))


def test_the_schema_refuses_an_unknown_key() -> None:
    with pytest.raises(jsonschema.ValidationError, match="repeat"):
        jsonschema.validate({**STUDY, "repeat": 3}, SCHEMAS.load("study"))


@pytest.mark.parametrize("model", [StudyConfig, ArmConfig, StudyAnalysis])
def test_every_field_is_in_the_reference(model: type[Any]) -> None:
    text = (ROOT / "docs" / "study-file.md").read_text(encoding="utf-8")
    names = [field.alias or name for name, field in model.model_fields.items()]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_the_example_in_the_reference_is_a_study(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "study-file.md").read_text(encoding="utf-8")
    example = text.split("```yaml\n")[1].split("```")[0]
    assert load(tmp_path, example).config.name == "skills-on-my-tasks"
