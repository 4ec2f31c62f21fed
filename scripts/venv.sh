#!/bin/sh
# Makes .venv from a Python >= 3.12 and installs the package, editable, with its tools at the pinned
# versions. Does nothing when the environment is what was asked for.
#
#   sh scripts/venv.sh PYTHON [EXTRAS [DIR]]      EXTRAS: names of extras, separated by commas; DIR: .venv
#
# Run it from the repository's root. Needs no uv: where there is none it is installed into .venv.
set -eu

python=$1
extras=${2:-}
venv=${3:-.venv}
stamp=$venv/.sipbench

# Digests rather than times: a checkout touches files that it does not change.
wanted=$(
    printf '%s\n' "$(pwd -P)" "$python" "extras: $extras"
    cksum pyproject.toml constraints.txt
)
if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi

# No interpreter is downloaded: the one that was found is the one that is meant.
export UV_PYTHON_DOWNLOADS=never

usable() { # a shim fails here, and a uv too old for dependency groups
    "$1" pip install --help 2>/dev/null </dev/null | grep -q -e --group
}

# Kept when it has this Python and was not moved here (its scripts name the folder it was made in).
keeps() {
    [ -x "$venv/bin/python" ] || return 1
    [ ! -f "$stamp" ] || [ "$(head -n 1 "$stamp")" = "$(pwd -P)" ] || return 1
    [ "$(sh scripts/find-python.sh "$venv/bin/python" 2>/dev/null)" = "$python" ]
}

install_uv() {
    set -- install --quiet --disable-pip-version-check --constraint constraints.txt uv
    echo "No usable uv on PATH: installing it into $venv." >&2
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        "$python" -m venv "$venv"
        "$venv/bin/python" -m pip "$@"
    elif "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --without-pip "$venv"
        "$python" -m pip --python "$venv/bin/python" "$@"
    else
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        echo "$python has neither ensurepip nor pip: install python$version-venv, or uv, and run this again." >&2
        exit 2
    fi
}

if keeps; then
    rm -f "$stamp"
else
    rm -rf "$venv"
fi
if usable uv; then
    uv=uv
    [ -d "$venv" ] || uv venv --quiet --python "$python" "$venv"
else
    uv=$venv/bin/uv
    usable "$uv" || install_uv
fi

"$uv" pip install --python "$venv/bin/python" --compile-bytecode \
    --constraint constraints.txt --build-constraint constraints.txt \
    --group dev --editable ".${extras:+[$extras]}"
printf '%s\n' "$wanted" >"$stamp"
