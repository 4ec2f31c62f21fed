"""``sip demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sipbench.cli.commands.run import carry_out

DEFAULT_FOLDER = Path("sipbench-demo")
STUDY = Path(__file__).resolve().parents[2] / "study" / "demo.yaml"
"""The study file that is installed with the package; ``examples/synth/study.yaml`` is the same."""


def demo(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Study directory.", show_default=True)
    ] = DEFAULT_FOLDER,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run the main job on the embedded benchmark: four arms, three repeats, T0 to T2. No key, no network."""
    carry_out(context, STUDY, out, as_json=as_json)
