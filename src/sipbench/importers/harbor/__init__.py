"""Finished jobs of Harbor: what their trials came to, read as plain JSON. Harbor itself is not needed.

============  =====================================================================
``trial``     the files of one trial
``causes``    whose doing an exception is
``outcome``   status and reward
``usage``     tokens, money, tool calls, durations
``exposure``  skills given and opened
``jobs``      the trials of a job, and which of them belong to one agent
``importer``  run records of them
============  =====================================================================

The benchmark ``harbor`` reads its own trials in the same way.
"""

from __future__ import annotations

from sipbench.importers.harbor.importer import HarborImporter

__all__ = ["HarborImporter"]
