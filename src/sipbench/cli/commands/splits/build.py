"""``sip splits build``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from sipbench.cli.commands.splits.options import (
    Keep,
    Measure,
    Option,
    Runs,
    Shingle,
    Threshold,
    records,
    settings,
)

if TYPE_CHECKING:
    from sipbench.cli.task_sources import TaskSource
    from sipbench.protocol.manifest import SplitManifest
    from sipbench.protocol.records import RunRecord
    from sipbench.protocol.vocabulary import Split
    from sipbench.splits.build import DriftTasks
    from sipbench.splits.replay import ReplayChoice
    from sipbench.splits.sizes import Size

_METHODS = ["preregistered", "screened", "crossfit", "same_run"]


def build(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A benchmark's name, a study file (.yaml), or a list of tasks (.jsonl).",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--out", "--output", "-o", metavar="FILE", help="Where to; default: stdout."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Decides every free choice; default: the study's, or 0.")
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(help="Counts or shares; default: adapt=30%,heldout=40%,replay=30%.")
    ] = None,
    own: Annotated[
        bool, typer.Option("--own", help="The division that the benchmark itself makes, as it is.")
    ] = False,
    keep_together: Keep = None,
    stratify: Annotated[
        str | None, typer.Option(metavar="KEY", help="Metadata key (difficulty) to share out evenly.")
    ] = None,
    search: Annotated[
        bool, typer.Option("--near-duplicates/--no-near-duplicates", help="Keep near-duplicates on one side.")
    ] = True,
    shingle: Shingle = 5,
    threshold: Threshold = 0.5,
    measure: Measure = "jaccard",
    replay: Annotated[
        str, typer.Option(help="How replay is chosen: preregistered, screened, crossfit or same_run.")
    ] = "preregistered",
    replay_list: Annotated[
        Path | None, typer.Option(metavar="FILE", help="preregistered: these tasks, one id a line.")
    ] = None,
    screen: Runs = None,
    screen_arm: Annotated[str | None, typer.Option(metavar="ARM", help="The arm that screened.")] = None,
    rule: Annotated[
        str, typer.Option(metavar="M/K[@S]", help="Solved (or score >= S) in at least M of K attempts.")
    ] = "1/1",
    folds: Annotated[int, typer.Option(min=2, help="crossfit: attempts per replay task at T0.")] = 3,
    drift: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Drift tasks are those with this in their metadata."),
    ] = None,
    drift_changes: Annotated[
        str, typer.Option(help="What changes in them: evidence, user_state, policy, environment.")
    ] = "",
    exclude: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Leave out the tasks of this exclusion list.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The benchmark's name, for a list of tasks.")] = None,
    option: Option = None,
) -> None:
    """Divide the tasks of a benchmark into adapt, held-out, replay and drift.

    Families, --keep-together keys and near-duplicates stay on one side: learned from or tested on.
    """
    from sipbench.cli.task_sources import task_source
    from sipbench.splits.build import SplitOptions, build_splits
    from sipbench.splits.duplicates import near_duplicates
    from sipbench.splits.exclusions import read_exclusions
    from sipbench.splits.screening import flag_tasks
    from sipbench.splits.sizes import DEFAULT_SIZES

    found = task_source(source, option or (), name)
    chosen_seed = seed if seed is not None else found.study.config.seed if found.study else 0
    wanted = _sizes(sizes, found)
    if own:
        _write(_own(found, chosen_seed, wanted or {}), output)
        return
    screened = records(screen)
    _check_benchmark(found, screened)
    options = SplitOptions(
        sizes=wanted or DEFAULT_SIZES,
        keep_together=tuple(keep_together or ()),
        stratify=stratify,
        replay=_replay(replay, replay_list, screened, screen_arm, rule, folds),
        drift=_drift(drift or [], drift_changes),
        exclusions=read_exclusions(exclude) if exclude else None,
        flags=flag_tasks(screened) if screened else None,
        # Last, since it takes the longest: what is wrong with the other options is said at once.
        duplicates=near_duplicates(found.tasks, settings(shingle, threshold, measure)) if search else None,
    )
    manifest = build_splits(
        found.tasks, chosen_seed, options, benchmark_name=found.name, benchmark_version=found.version
    )
    _write(manifest, output)


def _check_benchmark(found: TaskSource, screened: Sequence[RunRecord]) -> None:
    from sipbench.errors import ConfigError

    others = sorted({record.benchmark_name for record in screened} - {found.name})
    if others and found.benchmark is not None:
        raise ConfigError(f"--screen: these are attempts at '{others[0]}', the tasks are of '{found.name}'")


def _write(manifest: SplitManifest, output: Path | None) -> None:
    from sipbench.cli.commands.splits.show import print_splits
    from sipbench.cli.output import write_text
    from sipbench.splits.files import manifest_text

    if output is None:
        typer.echo(manifest_text(manifest), nl=False)
        return
    write_text(output, manifest_text(manifest))
    print_splits(manifest)


def _sizes(given: str | None, found: TaskSource) -> dict[str, Size] | None:
    from sipbench.splits.sizes import Size, parse_sizes

    if given is not None:
        return parse_sizes(given)
    of_study = found.study.config.splits.sizes if found.study else {}
    return {split.value: Size(count=count) for split, count in of_study.items()} or None


def _own(found: TaskSource, seed: int, sizes: Mapping[str, Size]) -> SplitManifest:
    from sipbench.errors import ConfigError
    from sipbench.protocol.vocabulary import METRIC_SPLITS
    from sipbench.study.guard import guarded

    benchmark = found.benchmark
    if benchmark is None:
        raise ConfigError("--own: a list of tasks divides nothing; leave the option out")
    counts: dict[Split, int] = {}
    for split in METRIC_SPLITS:
        if (size := sizes.get(split.value)) is not None:
            if size.count is None:
                raise ConfigError(
                    f"--sizes: {split}: with --own a size is a count, since only it knows its tasks"
                )
            counts[split] = size.count
    return guarded(f"benchmark '{found.name}'", lambda: benchmark.splits(seed, counts))


def _replay(
    method: str, listed: Path | None, screened: Sequence[RunRecord], arm: str | None, rule: str, folds: int
) -> ReplayChoice:
    from sipbench.cli.task_sources import ids_in
    from sipbench.errors import ConfigError
    from sipbench.plugins import suggestion
    from sipbench.protocol.records import timestamp
    from sipbench.splits import replay
    from sipbench.splits.screening import ScreenRule, screen

    if method not in _METHODS:
        raise ConfigError(
            f"--replay {method}: expected one of {', '.join(_METHODS)}{suggestion(method, _METHODS)}"
        )
    if listed is not None and method != "preregistered":
        raise ConfigError(f"--replay-list leaves --replay {method} nothing to choose; drop one of the two")
    if method == "preregistered":
        return replay.preregistered(timestamp(), ids_in(listed) if listed else None)
    if method == "crossfit":
        return replay.crossfit("solved", folds)
    if not screened:
        raise ConfigError(f"--replay {method} needs the attempts that choose the tasks: --screen RUNS.jsonl")
    found = screen(screened, ScreenRule.parse(rule), arm=arm)
    return replay.by_screening(found) if method == "screened" else replay.same_run(found)


def _drift(pairs: Sequence[str], changes: str) -> DriftTasks | None:
    from sipbench.errors import ConfigError
    from sipbench.protocol.manifest import DriftChange
    from sipbench.splits.build import DriftTasks

    if not pairs:
        return None
    parts = [pair.partition("=") for pair in pairs]
    keys = {key for key, _, _ in parts}
    if len(keys) > 1 or not all(equals for _, equals, _ in parts):
        raise ConfigError("--drift: expected KEY=VALUE; give it several times for several values of one KEY")
    asked = {change.strip() for change in changes.split(",")}
    named: tuple[DriftChange, ...] = tuple(change for change in get_args(DriftChange) if change in asked)
    if not named or len(named) < len(asked):
        raise ConfigError(
            f"--drift-changes: say what changes in drift tasks, from {', '.join(get_args(DriftChange))}"
        )
    return DriftTasks(keys.pop(), frozenset(value for _, _, value in parts), named)
