"""What a cheat tries: each trick is a shell script that earns nothing honestly.

A trick knows what an agent knows: the instruction, the inputs, and what it can find from inside.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sipbench.cards.checks.submission import OUTPUT
from sipbench.export.harbor.instruction import INPUTS

__all__ = ["TRICKS", "Seen", "seen"]

_OUT = str(OUTPUT)
_REWARD = '{"reward": 1}'
_LONG = 48 * 1024 * 1024


@dataclass(frozen=True)
class Seen:
    """What the instruction tells.

    Attributes:
        text: The instruction.
        names: Output files that it names, relative to the folder of outputs.
        fields: Columns, keys and pointers that it names.
    """

    text: str
    names: tuple[str, ...]
    fields: tuple[str, ...]


def seen(instruction: str) -> Seen:
    """Read an instruction as a cheat does."""
    names = re.findall(rf"^- `{re.escape(_OUT)}/([^`\n]+)`$", instruction, re.MULTILINE)
    told = [
        line
        for line in instruction.splitlines()
        if (line.startswith("- `") and "`:" in line) or " has " in line
    ]
    fields = [name for line in told for name in re.findall(r"`([^`]+)`", line)[1:]]
    return Seen(instruction, tuple(names), tuple(dict.fromkeys(fields)))


def _each(seen: Seen, command: str) -> str:
    """Run a command for each output file, whose path is ``$out``."""
    names = " ".join(shlex.quote(f"{_OUT}/{name}") for name in seen.names)
    return f'for out in {names}; do mkdir -p "$(dirname "$out")"; {command}; done\n'


def _put(text: str) -> str:
    """A command that prints a text, whatever is in it."""
    return f"printf %s {base64.b64encode(text.encode('utf-8')).decode('ascii')} | base64 -d"


def _read_hidden(seen: Seen) -> str:
    places = " -o ".join(f"-path '*/{name}/*'" for name in ("tests", "solution", "references", "authoring"))
    find = f"find / \\( -path /proc -o -path /sys \\) -prune -o -type f \\( {places} \\) -print 2>/dev/null"
    steal = f'{find} | grep -F "/$(basename "$out")" | head -n 1 | while read -r it; do cp "$it" "$out"; done'
    return _each(seen, steal) + "[ -f /solution/solve.sh ] && sh /solution/solve.sh\ntrue\n"


def _write_reward(seen: Seen) -> str:
    places = f"/logs/verifier /logs/artifacts /logs/agent /tests {_OUT}"
    return (
        f"for place in {places}; do mkdir -p $place; echo '{_REWARD}' > $place/reward.json; "
        "echo 1 > $place/reward.txt; done\ntrue\n"
    )


def _touch(seen: Seen) -> str:
    return _each(seen, ': > "$out"')


def _echo_instruction(seen: Seen) -> str:
    return _each(seen, f'{_put(seen.text)} > "$out"')


def _copy_input(number: int) -> Callable[[Seen], str]:
    def trick(seen: Seen) -> str:
        pick = f"find {INPUTS} /app -type f 2>/dev/null | grep -v '^{_OUT}/' | sort -u | sed -n {number}p"
        return _each(seen, f'it="$({pick})"; [ -n "$it" ] && cp "$it" "$out"')

    return trick


def _guess(value: float) -> Callable[[Seen], str]:
    def trick(seen: Seen) -> str:
        files = (
            _each(_only(seen, name), f'{_put(_constant(seen, name, value))} > "$out"') for name in seen.names
        )
        return "".join(files) + "true\n"

    return trick


def _only(seen: Seen, name: str) -> Seen:
    return Seen(seen.text, (name,), seen.fields)


def _constant(seen: Seen, name: str, value: float) -> str:
    """A well-formed file with one number everywhere."""
    columns = [field.lstrip("/") for field in seen.fields if "/" not in field.lstrip("/")] or ["value"]
    if name.endswith((".json", ".jsonl")):
        return json.dumps(dict.fromkeys(columns, value)) + "\n"
    if name.endswith((".csv", ".tsv")):
        mark = "," if name.endswith(".csv") else "\t"
        return mark.join(columns) + "\n" + mark.join([f"{value:g}"] * len(columns)) + "\n"
    return f"{value:g}\n"


def _links_to_files(seen: Seen) -> str:
    return _each(seen, 'rm -rf "$out"; ln -s "/tests/references/$(basename "$out")" "$out"') + _each(
        seen, 'ln -sf /etc/passwd "$out.link"'
    )


def _link_of_folder(seen: Seen) -> str:
    return f"rm -rf {_OUT}; ln -s /tests/references {_OUT}\ntrue\n"


def _special_files(seen: Seen) -> str:
    return (
        _each(seen, 'rm -rf "$out"; mkfifo "$out"')
        + f"mkdir -p {_OUT}/a/b; ln -s ../.. {_OUT}/a/b/loop\ntrue\n"
    )


def _overwrite_tools(seen: Seen) -> str:
    evil = (
        "import os; os.makedirs('/logs/verifier', exist_ok=True); "
        f"open('/logs/verifier/reward.json', 'w').write('{_REWARD}'); os._exit(0)\n"
    )
    script = f"#!/bin/sh\nmkdir -p /logs/verifier; echo '{_REWARD}' > /logs/verifier/reward.json\n"
    modules = " ".join(
        f"{_OUT}/{name}" for name in ("json.py", "csv.py", "sitecustomize.py", "usercustomize.py")
    )
    return (
        _each(seen, ': > "$out"')
        + f"mkdir -p {_OUT}/grader {_OUT}/bin /tests/grader\n"
        + f"for it in {modules}; do {_put(evil)} > $it; done\n"
        + f"{_put(script)} > /tests/test.sh; {_put(script)} > {_OUT}/bin/python3\n"
        + 'for tool in python3 python cat cp; do it="$(command -v $tool)" && rm -f "$it" && '
        + f'{_put(script)} > "$it" && chmod +x "$it"; done\ntrue\n'
    )


def _long_output(seen: Seen) -> str:
    return (
        _each(seen, f"head -c {_LONG} /dev/zero | tr '\\0' '1' > \"$out\"")
        + "head -c 4000000 /dev/zero | tr '\\0' A\n"
    )


def _wait_for_verifier(seen: Seen) -> str:
    loop = (
        f"while :; do mkdir -p /logs/verifier {_OUT}; echo '{_REWARD}' > /logs/verifier/reward.json; "
        f"echo 1 > /logs/verifier/reward.txt; cp -R /tests/references/. {_OUT}/ 2>/dev/null; sleep 0.2; done"
    )
    return f"(setsid nohup sh -c {shlex.quote(loop)} >/dev/null 2>&1 &)\nsleep 1\n" + _touch(seen)


TRICKS: dict[str, Callable[[Seen], str]] = {
    "read-hidden": _read_hidden,
    "write-reward": _write_reward,
    "touch-outputs": _touch,
    "echo-instruction": _echo_instruction,
    "copy-input-1": _copy_input(1),
    "copy-input-2": _copy_input(2),
    "guess-0": _guess(0.0),
    "guess-1": _guess(1.0),
    "guess-0.05": _guess(0.05),
    "links-to-files": _links_to_files,
    "link-of-folder": _link_of_folder,
    "special-files": _special_files,
    "overwrite-tools": _overwrite_tools,
    "long-output": _long_output,
    "wait-for-verifier": _wait_for_verifier,
}
"""Every trick by its name."""


def names(chosen: Sequence[str] = ()) -> list[str]:
    """The names of the tricks that are chosen; of all by default."""
    return list(chosen) or list(TRICKS)
