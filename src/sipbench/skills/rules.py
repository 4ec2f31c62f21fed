"""The rules a skill is checked by: stable ids, where each comes from, and what was found where.

The specification is that of agentskills/agentskills (``docs/specification.mdx``). Rules of origin
``interoperability`` are stricter: what they refuse is read differently by different loaders. Rules of
origin ``delivery`` are the limits of the Skills extension of the Model Context Protocol (SEP-2640), or
keep a skill from reaching files that are not its own. Rules of origin ``advice`` are only looked at when
asked for, and never make a skill invalid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "MAX_COMPATIBILITY",
    "MAX_DESCRIPTION",
    "MAX_FILES",
    "MAX_NAME",
    "MAX_TREE_BYTES",
    "RULES",
    "SKILL_FILE",
    "Finding",
    "Origin",
    "Rule",
]

SKILL_FILE = "SKILL.md"
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
MAX_FILES = 512
"""Files of one skill (SEP-2640)."""
MAX_TREE_BYTES = 16 * 1024 * 1024
"""Bytes of all files of one skill (SEP-2640)."""

type Origin = Literal["specification", "interoperability", "delivery", "advice"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its stable id, where it comes from, what it asks for."""

    id: str
    origin: Origin
    text: str

    @property
    def level(self) -> Literal["error", "warning"]:
        """``warning`` for advice, else ``error``."""
        return "warning" if self.origin == "advice" else "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a rule refuses.

    Attributes:
        rule: Id of the rule.
        message: What is wrong and, where that is not plain, what to do.
        line: From 1, in the file; None for the file or folder as a whole.
        field: The key of the front matter, dotted for ``metadata``.
        path: The file inside of the skill's folder; ``SKILL.md`` unless said otherwise.
    """

    rule: str
    message: str
    line: int | None = None
    field: str | None = None
    path: str = SKILL_FILE

    @property
    def level(self) -> Literal["error", "warning"]:
        """That of the rule."""
        return RULES[self.rule].level


_SPECIFICATION = {
    "file-missing": "A skill is a folder with a file SKILL.md.",
    "file-unreadable": "SKILL.md is a regular file that can be read.",
    "fence-open": "The first line of SKILL.md is exactly `---`.",
    "fence-close": "The front matter ends with a line that is exactly `---`.",
    "yaml-syntax": "The front matter is YAML.",
    "yaml-mapping": "The front matter is one mapping of keys to values.",
    "duplicate-key": "No key stands twice in one mapping.",
    "unknown-key": "The keys are name, description, license, compatibility, metadata and allowed-tools.",
    "name-missing": "`name` is required.",
    "name-format": "`name` consists of a-z, 0-9 and single hyphens, none at either end.",
    "name-length": "`name` has 1 to 64 characters.",
    "name-directory": "`name` equals the name of the folder that holds SKILL.md.",
    "description-missing": "`description` is required.",
    "description-blank": "`description` is not blank.",
    "description-length": "`description` has at most 1,024 characters.",
    "compatibility-length": "`compatibility`, where given, has 1 to 500 characters.",
    "not-a-string": "Keys and values are strings for every YAML reader; quote what looks like another type.",
    "metadata-map": "`metadata` maps strings to strings.",
}
_INTEROPERABILITY = {
    "file-case": "The file is called SKILL.md, in this case: most file systems tell `skill.md` from it.",
    "not-utf8": "SKILL.md is UTF-8.",
    "bom": "SKILL.md has no byte-order mark: most loaders then see no front matter.",
    "control-character": "SKILL.md holds no NUL and its front matter no control character.",
    "line-end": "Lines of the front matter end with LF alone; readers disagree about other line breaks.",
    "fence-inside": "The front matter holds no `---`: loaders that split the text there cut it short.",
    "tab": "No tab in the front matter: YAML readers disagree about where one may stand.",
    "yaml-flow": "No `[…]` or `{…}` in the front matter: the reference validator refuses them.",
    "yaml-anchor": "No anchors and aliases in the front matter: the reference validator refuses them.",
    "yaml-tag": "No tags in the front matter: the reference validator refuses them.",
}
_DELIVERY = {
    "link": "A skill holds no symbolic link: it may lead to any file of the machine.",
    "special-file": "A skill holds regular files and folders only.",
    "file-name": "The names of files are UTF-8.",
    "folder-unreadable": "The folders of a skill can be read.",
    "too-many-files": "A skill has at most 512 files.",
    "too-large": "The files of a skill have at most 16 MiB together.",
}
_ADVICE = {
    "lint-use-when": "The description says when to use the skill.",
    "lint-broken-link": "Relative links lead to a file of the skill.",
    "lint-long-file": "SKILL.md has at most 500 lines.",
    "lint-long-body": "The body has at most about 5,000 tokens (four characters each).",
    "lint-run-bit": "A script with a `#!` line can be run.",
    "lint-secret": "No key, token or password in the text.",
    "lint-absolute-path": "No path of one person's machine.",
    "lint-injection": "No phrase that tells an agent to forget what it was told or to hide what it does.",
    "lint-line-end": "Lines of the body end with LF alone.",
    "lint-hidden-text": "No invisible or direction-changing characters.",
}


def _rules() -> dict[str, Rule]:
    groups: dict[Origin, dict[str, str]] = {
        "specification": _SPECIFICATION,
        "interoperability": _INTEROPERABILITY,
        "delivery": _DELIVERY,
        "advice": _ADVICE,
    }
    return {id_: Rule(id_, origin, text) for origin, texts in groups.items() for id_, text in texts.items()}


RULES: dict[str, Rule] = _rules()
"""All rules by id, those of the specification first."""
