"""``sip``: measure what an agent gained, kept and paid when it learned."""

from __future__ import annotations

from sipbench.cli.interrupts import leave_quietly


def main() -> None:
    """Entry point of the command."""
    leave_quietly()
    # Imported while a Ctrl-C already ends the process without a traceback.
    import sys

    from sipbench.cli.commands.app import app
    from sipbench.cli.main import run

    sys.exit(run(app, "sip"))
