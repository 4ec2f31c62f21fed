"""Measure what an agent gained, kept and paid when it learned."""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which would take a tenth of a command's start-up
if TYPE_CHECKING:
    from typing import Any

    from sipbench.api import load_runs, summarize

__all__ = ["load_runs", "run_study", "summarize"]

_HOMES = {"load_runs": "sipbench.api", "run_study": "sipbench.study", "summarize": "sipbench.api"}


def __getattr__(name: str) -> Any:
    # Loaded on first use: `import sipbench` and `sip --help` must not wait for polars.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sipbench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
