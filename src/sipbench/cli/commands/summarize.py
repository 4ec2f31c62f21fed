"""``sip summarize``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sipbench.protocol.settings import AnalysisSettings

_COMPAT = "0.1.0"
_MOST = 1e15
_UNITS = "tokens, seconds, tool_calls, usd or human_interventions"


def summarize(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS...",
            help="Files of run records (- is the standard input), or one study directory.",
            show_default=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the summary to this file.")] = None,
    schema: Annotated[
        str | None, typer.Option(metavar=_COMPAT, help="Compat: v0.1.0's records, summaries and arithmetic.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON, not as a table.")
    ] = False,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Check by column only: faster, for files that sip wrote.")
    ] = False,
    cost_unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help=f"What learning is paid in: {_UNITS}.")
    ] = None,
    lambda_: Annotated[
        float | None, typer.Option("--lambda", help="Weight of lost retention in NIS.")
    ] = None,
    eps: Annotated[float | None, typer.Option(help="Floor of BR_ratio's denominator.")] = None,
    adaptation_cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARM=VALUE",
            help="What an arm's adaptation itself spent per repeat, where no study recorded it.",
        ),
    ] = None,
    arm: Annotated[str | None, typer.Option(help="With --schema: only this arm.")] = None,
    records: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --schema: write the records as v0.1.0 too.")
    ] = None,
    unknown_as_zero: Annotated[
        bool, typer.Option("--unknown-as-zero", help="With --schema: write unknown counts and times as 0.")
    ] = False,
) -> None:
    """Summarise attempts: FG, BR, BR_ratio, IE, PDS and NIS per arm."""
    given = {"cost_unit": cost_unit, "lambda": lambda_, "eps": eps}
    from sipbench.cli.given import given_files

    if schema is None:
        needs = "--arm, --records and --unknown-as-zero need --schema 0.1.0"
        _refuse(bool(arm or records or unknown_as_zero), needs)
        with given_files(runs) as named:
            files = [path for path, _ in named]
            _strict(files, out, given, adaptation_cost or [], as_json=as_json, trusted=trusted)
        return
    _refuse(
        schema != _COMPAT, f"--schema {schema}: only {_COMPAT} can be asked for; without it, the current one"
    )
    nothing = "--trusted and --adaptation-cost mean nothing to --schema 0.1.0"
    _refuse(trusted or bool(adaptation_cost), nothing)
    with given_files(runs) as named:
        files = [path for path, _ in named]
        _compat(files, out, given, arm=arm, records=records, unknown_as_zero=unknown_as_zero)


def _refuse(condition: bool, message: str) -> None:
    from sipbench.errors import ConfigError

    if condition:
        raise ConfigError(message)


def _strict(
    runs: list[Path],
    out: Path | None,
    given: dict[str, Any],
    adaptation_cost: list[str],
    *,
    as_json: bool,
    trusted: bool,
) -> None:
    from sipbench import api
    from sipbench.cli.output import console, print_json, write_text
    from sipbench.report.tables import print_summary

    summary = api.summarize(
        runs,
        settings=_settings(runs, given),
        adaptation_cost=dict(_declared(item) for item in adaptation_cost),
        trusted=trusted,
    )
    if out is not None:
        write_text(out, summary.to_json())
    if as_json:
        print_json(summary.document())
    else:
        print_summary(summary, console())


def _settings(runs: list[Path], given: dict[str, Any]) -> AnalysisSettings | None:
    """The settings of the study, if there is one, with what the command line says instead."""
    from pydantic import ValidationError

    from sipbench.errors import ConfigError
    from sipbench.protocol.folder import read_folder
    from sipbench.protocol.settings import AnalysisSettings

    chosen = {name: value for name, value in given.items() if value is not None}
    if not chosen:
        return None
    base = read_folder(runs[0]).settings if len(runs) == 1 and runs[0].is_dir() else AnalysisSettings()
    try:
        return AnalysisSettings.model_validate(base.model_dump(by_alias=True) | chosen)
    except ValidationError as error:
        item = error.errors(include_url=False, include_input=False)[0]
        option = str(item["loc"][0]).replace("_", "-") if item["loc"] else "settings"
        raise ConfigError(f"--{option}: {item['msg']}") from None


def _declared(text: str) -> tuple[str, float]:
    arm, sign, value = text.rpartition("=")
    try:
        amount = float(value)
    except ValueError:
        amount = float("nan")
    wrong = not sign or not arm or not 0 <= amount <= _MOST
    _refuse(wrong, f"--adaptation-cost {text}: expected ARM=VALUE with a number from 0 to {_MOST:g}")
    return arm, amount


def _compat(
    runs: list[Path],
    out: Path | None,
    given: dict[str, Any],
    *,
    arm: str | None,
    records: Path | None,
    unknown_as_zero: bool,
) -> None:
    from sipbench.cli.output import write_text
    from sipbench.protocol.compat import compat_records, compat_summaries
    from sipbench.protocol.folder import read_folder
    from sipbench.protocol.settings import COST_FIELDS

    settings = _settings([], given)
    options: dict[str, Any] = {}
    if settings is not None:
        options = {"lambda_": settings.lambda_}
        if given["eps"] is not None:
            options["eps"] = settings.eps
        if settings.cost_unit is not None:
            options["cost_field"] = COST_FIELDS[settings.cost_unit]
    files = [read_folder(path).runs if path.is_dir() else path for path in runs]
    found = compat_records(files, unknown_as_zero=unknown_as_zero, arm=arm)
    if records is not None:
        write_text(records, _lines(found.records))
    text = _lines(compat_summaries(found, **options))
    if out is not None:
        write_text(out, text)
    else:
        sys.stdout.write(text)
    sys.stderr.write("compat: v0.1.0 arithmetic, to compare with v0.1.0 only; see provenance.notes\n")
    for remark in found.remarks:
        sys.stderr.write(f"compat: {remark}\n")


def _lines(documents: Any) -> str:
    return "".join(json.dumps(document, ensure_ascii=True, allow_nan=False) + "\n" for document in documents)
