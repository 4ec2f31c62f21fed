#!/bin/sh
# Puts the MCP Inspector, and the Node that it needs, into .node-engines at the pinned versions. Does nothing
# when they are there. Tests that drive the Inspector are skipped without it, so that a machine without npm,
# or a registry that does not answer, is said in one line and is no failure.
#
# Run it from the repository's root.
set -eu

source=tests/skills/inspector
target=.node-engines
stamp=$target/.sipbench

wanted=$(cksum "$source/package.json" "$source/package-lock.json")
if [ -x "$target/node_modules/.bin/mcp-inspector" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
    echo "no npm on PATH: the tests with the MCP Inspector will be skipped" >&2
    exit 0
fi

mkdir -p "$target"
rm -f "$stamp"
cp "$source/package.json" "$source/package-lock.json" "$target"
# The Node of this machine only unpacks: that it is too old for the packages is no news.
if (cd "$target" && npm ci --no-audit --no-fund --loglevel=error) >"$target/install.log" 2>&1 &&
    "$target/node_modules/.bin/node" --version >>"$target/install.log" 2>&1; then
    printf '%s\n' "$wanted" >"$stamp"
else
    echo "the MCP Inspector cannot be installed ($target/install.log): its tests will be skipped" >&2
    tail -n 1 "$target/install.log" >&2
fi
