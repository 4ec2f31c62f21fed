#!/bin/sh
# Prints the path of a Python >= 3.12; exit 2 and one line when there is none.
#
#   sh scripts/find-python.sh [PYTHON]
#
# With PYTHON that one must do. Else candidates are run, not looked up: a name on PATH may be a
# version manager's shim that fails. What is printed is the interpreter under a virtual environment,
# not the environment's own, so that .venv never rests on another environment (or on itself); and it
# has no links in it, so that one interpreter has one path whatever it was called by.
set -u

base_of() {
    "$1" -c '
import os, sys
if sys.version_info < (3, 12):
    sys.exit(1)
print(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))' 2>/dev/null </dev/null
}

if [ -n "${1:-}" ]; then
    base_of "$1" && exit
    echo "PYTHON=$1 is not a Python 3.12 or newer that runs: name another one, or leave PYTHON out." >&2
    exit 2
fi

# An environment that is there keeps its Python, so it comes first.
for candidate in .venv/bin/python python3.13 python3.12 python3.14 python3; do
    base_of "$candidate" && exit
done
for candidate in "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.1[2-9]*/bin/python; do
    base_of "$candidate" && exit
done

echo "sipbench needs Python 3.12 or newer and found none: install one (Debian, Ubuntu: python3.12" \
    "with python3.12-venv; macOS: brew install python@3.13; pyenv: pyenv install 3.12)," \
    "or name it: make PYTHON=/path/to/python3.12" >&2
exit 2
