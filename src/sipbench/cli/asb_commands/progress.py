"""A progress bar on stderr, where somebody watches and there is something to watch."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

__all__ = ["watched"]

_WORTH_A_BAR = 200


def watched[Item](items: Sequence[Item], what: str) -> Iterator[Item]:
    """Yield ``items``; with a bar when there are many and stderr is a terminal."""
    if len(items) < _WORTH_A_BAR or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, description=what, console=Console(stderr=True), transient=True)
