"""What the attacks share: the same attempt, made outside, where it works, and in a box."""

from __future__ import annotations

import subprocess

from sipbench.sandbox.policy import Policy
from tests.sandbox.conftest import Place

__all__ = ["SECRET", "both", "outside"]

SECRET = "only-the-host-knows-this"


def outside(script: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def both(place: Place, script: str, policy: Policy | None = None) -> tuple[str, str]:
    """Run a script outside and inside; return what each printed."""
    return outside(script).stdout, place.run(script, policy=policy).text()[0]
