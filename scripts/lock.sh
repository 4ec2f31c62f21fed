#!/bin/sh
# Pins the versions of everything that sipbench and its tools may install: constraints.txt, one file for
# Python >= 3.12 on Linux and macOS. It must hold no address of a registry.
#
#   sh scripts/lock.sh [--upgrade]
#
# constraints.in names the engines that are to resolve together before an extra needs them.
set -eu

uv=uv
command -v "$uv" >/dev/null 2>&1 && "$uv" --version >/dev/null 2>&1 || uv=.venv/bin/uv
[ "$uv" = uv ] || [ -x "$uv" ] || .venv/bin/python -m ensurepip >/dev/null 2>&1 || true
[ "$uv" = uv ] || [ -x "$uv" ] || .venv/bin/python -m pip install --quiet uv

"$uv" pip compile pyproject.toml constraints.in --group dev --group build --all-extras \
    --python-version 3.12 --universal --no-annotate --no-header --no-emit-index-url --no-emit-find-links \
    --quiet --output-file constraints.txt "$@"
if grep -n '://' constraints.txt; then
    echo "constraints.txt holds addresses: take the lines above out, they are not the same everywhere." >&2
    exit 1
fi
