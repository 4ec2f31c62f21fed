"""The steps of a Dockerfile that a box can carry out.

Reading is BuildKit's own parser (the `dockerfile` package): continuations, escape
directives, heredocs, JSON form. What is understood here: FROM (noted, not
pulled), ARG, ENV, WORKDIR, USER, SHELL, COPY and ADD of local files, RUN. CMD,
ENTRYPOINT and the like are noted: a task's commands are given to the box instead.
Anything else is one clear `EngineError`.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from sipbench.errors import EngineError, MissingExtraError
from sipbench.sandbox.words import expand, fill

__all__ = ["Copy", "Dockerfile", "Inline", "Run", "Step", "Workdir", "parse"]

_INSTEAD = "is not supported by the sandbox; run the task with Docker"
_NOTED = {
    "CMD": "the box has no command of its own",
    "ENTRYPOINT": "the box has no command of its own",
    "EXPOSE": "ports are open inside the box only",
    "HEALTHCHECK": "the task's own health check is used",
    "LABEL": "",
    "MAINTAINER": "",
    "STOPSIGNAL": "the box is ended at once",
    "VOLUME": "it is an ordinary directory",
}
_HEREDOC = re.compile(r"""^<<(-?)(['"]?)([A-Za-z0-9_.]+)\2$""")
_REMOTE = re.compile(r"^(https?|ftp|git|ssh)://|^git@")
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}
_MAX_SIZE = 1024 * 1024


@dataclass(frozen=True)
class Inline:
    """A file written in the Dockerfile itself."""

    name: str
    content: str


@dataclass(frozen=True)
class Run:
    """A command.

    Attributes:
        words: Given to `shell`, or run as they are if that is empty.
        shell: Words before them.
        env: Variables, arguments included.
        script: Whether the one word is a script with an interpreter line of its own.
    """

    words: tuple[str, ...]
    shell: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    workdir: str
    user: str | None
    line: int
    script: bool = False


@dataclass(frozen=True)
class Copy:
    """Files of the context, or written inline, to an absolute path.

    Attributes:
        into: Whether the target is a directory to copy into.
        unpack: Whether archives are unpacked (ADD).
    """

    sources: tuple[str, ...]
    inline: tuple[Inline, ...]
    target: str
    into: bool
    owner: str | None
    mode: int | None
    unpack: bool
    line: int


@dataclass(frozen=True)
class Workdir:
    """A directory to make."""

    path: str
    line: int


Step = Run | Copy | Workdir


@dataclass
class Dockerfile:
    """What a Dockerfile asks for.

    Attributes:
        path: Where it was read, for messages.
        steps: What to carry out, in order.
        env: Variables at its end.
        workdir: Working directory at its end.
        user: User at its end.
        notes: What was noted and not done.
    """

    path: str
    steps: list[Step] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str | None = None
    notes: list[str] = field(default_factory=list)


@lru_cache(maxsize=256)
def _commands(text: str) -> tuple[Any, ...]:
    """The commands of a Dockerfile. The parser never frees what it returns: a text is read once."""
    import dockerfile

    return tuple(dockerfile.parse_string(text))


def parse(path: Path, build_args: Mapping[str, str] | None = None) -> Dockerfile:
    """Read a Dockerfile.

    Args:
        path: The file.
        build_args: Values for its ARG lines.

    Raises:
        EngineError: It cannot be read, is malformed, or asks for what a box cannot do; the message
            names the file and line.
        MissingExtraError: The parser is not installed.
    """
    try:
        import dockerfile
    except ImportError as error:
        raise MissingExtraError("reading a Dockerfile", "harbor") from error
    try:
        content = path.read_bytes()
        if len(content) > _MAX_SIZE:
            raise EngineError(f"{path}: {len(content)} bytes are too many for a Dockerfile")
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        commands = _commands(text)
    except UnicodeDecodeError as error:
        raise EngineError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise EngineError(f"{path}: {error.strerror}") from error
    except (dockerfile.GoParseError, ValueError) as error:
        raise EngineError(f"{path}: {(str(error).splitlines() or ['malformed'])[0]}") from error
    reader = _Reader(Dockerfile(str(path)), build_args or {})
    for command in commands:
        try:
            reader.command(command)
        except ValueError as error:
            name = (command.cmd or "malformed line").upper()
            raise EngineError(f"{path}:{command.start_line}: {name}: {error}") from error
    if not reader.seen_from:
        raise EngineError(f"{path}: no FROM line")
    return reader.result


class _Reader:
    """Turns parsed commands into steps; a ValueError is about the current line."""

    def __init__(self, result: Dockerfile, build_args: Mapping[str, str]) -> None:
        self.result, self.build_args = result, build_args
        self.args: dict[str, str] = {}
        self.outer: dict[str, str] = {}
        self.shell: tuple[str, ...] = ("/bin/sh", "-c")
        self.seen_from = False
        architecture = _MACHINES.get(os.uname().machine, os.uname().machine)
        self.platform = {
            "TARGETPLATFORM": f"linux/{architecture}", "TARGETOS": "linux", "TARGETARCH": architecture,
            "BUILDPLATFORM": f"linux/{architecture}", "BUILDOS": "linux", "BUILDARCH": architecture,
        }  # fmt: skip

    @property
    def variables(self) -> dict[str, str]:
        return {**self.args, **self.result.env}

    def word(self, text: str, json: bool = False) -> str:
        return (fill if json else expand)(text, self.variables)

    def note(self, command: Any, text: str) -> None:
        self.result.notes.append(f"line {command.start_line}: {text}")

    def command(self, command: Any) -> None:
        name = (command.cmd or "").upper()
        if name in _NOTED:
            if _NOTED[name]:
                self.note(command, f"{name} noted: {_NOTED[name]}")
            return
        handler = getattr(self, f"_{name.lower()}", None)
        if handler is None or not name.isalpha():
            raise ValueError(f"this instruction {_INSTEAD}")
        if not self.seen_from and name not in ("FROM", "ARG"):
            raise ValueError("no FROM line before it")
        if not command.value:
            raise ValueError("nothing after it")
        handler(command)

    def _from(self, command: Any) -> None:
        if self.seen_from:
            raise ValueError(f"more than one stage {_INSTEAD}")
        self.seen_from = True
        self.outer, self.args = self.args, {}
        image = expand(command.value[0], self.outer)
        self.note(command, f"FROM {image} noted, not pulled: the sandbox's base stands in")

    def _arg(self, command: Any) -> None:
        for word in command.value:
            name, equals, value = word.partition("=")
            if name in self.build_args:
                self.args[name] = self.build_args[name]
            elif equals:
                self.args[name] = self.word(value)
            elif name in self.outer or name in self.platform:
                self.args[name] = self.outer.get(name, self.platform.get(name, ""))

    def _env(self, command: Any) -> None:
        words = [self.word(word) for word in command.value]
        self.result.env.update(zip(words[::2], words[1::2], strict=True))

    def _workdir(self, command: Any) -> None:
        self.result.workdir = _absolute(self.word(command.value[0]), self.result.workdir)
        self.result.steps.append(Workdir(self.result.workdir, command.start_line))

    def _user(self, command: Any) -> None:
        self.result.user = self.word(command.value[0])

    def _shell(self, command: Any) -> None:
        if not command.json:
            raise ValueError("a JSON list is needed")
        self.shell = tuple(command.value)

    def _run(self, command: Any) -> None:
        for flag in command.flags:
            if flag.startswith("--mount=") and "type=cache" in flag:
                self.note(command, f"{flag} noted: nothing is kept between builds")
            elif flag not in ("--network=default", "--network=host"):
                raise ValueError(f"{flag} {_INSTEAD}")
        words, shell, script = tuple(command.value), self.shell, False
        if command.json:
            shell = ()
        elif len(command.heredocs) == 1 and _HEREDOC.match(command.value[0].strip()):
            content, _ = _heredoc(command.value[0].strip(), command.heredocs[0].content)
            words, script = (content,), content.startswith("#!")
        elif command.heredocs:
            ends = "".join(f"{doc.content}{doc.name}\n" for doc in command.heredocs)
            words = (f"{command.value[0]}\n{ends}",)
        env = tuple(self.variables.items())
        result = self.result
        result.steps.append(Run(words, shell, env, result.workdir, result.user, command.start_line, script))

    def _copy(self, command: Any, *, unpack: bool = False) -> None:
        owner, mode = self._copy_flags(command)
        documents = {document.name: document.content for document in command.heredocs}
        sources, inline = [], []
        *given, last = command.value
        if not given:
            raise ValueError("a source and a target are needed")
        for word in given:
            heredoc = _HEREDOC.match(word)
            if heredoc and heredoc.group(3) in documents:
                content, literal = _heredoc(word, documents[heredoc.group(3)])
                inline.append(Inline(heredoc.group(3), content if literal else fill(content, self.variables)))
            else:
                sources.append(_source(self.word(word, command.json)))
        target = self.word(last, command.json)
        into = target.endswith(("/", "/.")) or target in (".", "..") or len(given) > 1
        path = _absolute(target, self.result.workdir)
        step = Copy(tuple(sources), tuple(inline), path, into, owner, mode, unpack, command.start_line)
        self.result.steps.append(step)

    def _copy_flags(self, command: Any) -> tuple[str | None, int | None]:
        owner: str | None = None
        mode: int | None = None
        for flag in command.flags:
            name, _, value = flag.partition("=")
            if name == "--chown":
                owner = self.word(value)
            elif name == "--chmod" and re.fullmatch(r"0?[0-7]{3,4}", value):
                mode = int(value, 8) & 0o777
            elif name != "--link":
                raise ValueError(f"{flag} {_INSTEAD}")
        return owner, mode

    def _add(self, command: Any) -> None:
        if any(_REMOTE.match(word) for word in command.value[:-1]):
            raise ValueError(f"a source on the network {_INSTEAD}")
        self._copy(command, unpack=True)


def _source(source: str) -> str:
    parts = [part for part in source.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(f"{source} leads out of the build context")
    return "/".join(parts) or "."


def _absolute(path: str, workdir: str) -> str:
    if not path or "\0" in path:
        raise ValueError("an empty path, or one with a NUL character")
    return re.sub(r"^/+", "/", posixpath.normpath(posixpath.join(workdir, path)))


def _heredoc(word: str, content: str) -> tuple[str, bool]:
    """Return a heredoc's text (tabs removed after `<<-`) and whether it is quoted, so literal."""
    match = _HEREDOC.match(word)
    assert match is not None
    if match.group(1):
        content = re.sub(r"(?m)^\t+", "", content)
    return content, bool(match.group(2))
