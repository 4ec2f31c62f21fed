"""Files: a manifest of checksums to verify, configurations to merge."""

from __future__ import annotations

import hashlib
from random import Random

from generator.base import Made


def checksum_manifest(rng: Random, number: int) -> Made:
    """Which files are as the manifest says."""
    data, lines, answers = {}, [], []
    for index in range(9):
        name = f"part-{index}.bin"
        text = f"{rng.getrandbits(64):016x}\n"
        state = rng.choice(["ok", "ok", "changed", "missing", "unlisted"])
        digest = hashlib.sha256(text.encode()).hexdigest()
        if state != "missing":
            data[name] = text if state != "changed" else f"{rng.getrandbits(64):016x}\n"
        if state != "unlisted":
            lines.append(f"{digest}  {name}")
        answers.append(f"{name} {state}")
    asked = (
        "Verify the SHA-256 checksums in MANIFEST against the files beside it",
        "Check every file against MANIFEST, which lists a sha256 digest for each",
        "Are the files part-*.bin intact? MANIFEST holds their hashes",
    )
    text = (
        f"{asked[number % 3]}. One `name state` per line, sorted by name: ok, changed, missing (listed and "
        "not there) or unlisted (a part-*.bin that is not in the manifest)."
    )
    return Made(text, {**data, "MANIFEST": "\n".join(lines) + "\n"}, tuple(sorted(answers)))


def config_merge(rng: Random, number: int) -> Made:
    """Two INI files, the second wins, an empty value removes."""
    sections = ("server", "cache", "log", "mail")
    keys = ("host", "port", "level", "path", "size", "retry")

    def draw(share: float) -> dict[str, dict[str, str]]:
        found = {
            name: {key: f"{key}{rng.randint(1, 99)}" for key in keys if rng.random() < share}
            for name in sections
        }
        return {name: values for name, values in found.items() if values}

    base, over = draw(0.7), draw(0.4)
    over.setdefault("server", {})["host"] = ""
    base.setdefault("server", {})["host"] = "localhost"
    merged = {name: dict(values) for name, values in base.items()}
    for name, values in over.items():
        for key, value in values.items():
            merged.setdefault(name, {})[key] = value
    answers = [
        f"{name}.{key}={value}" for name, values in merged.items() for key, value in values.items() if value
    ]
    asked = (
        "Merge the INI configuration override.ini into base.ini",
        "Settings come from base.ini and are replaced by those in override.ini. Work out the merged settings",
        "Combine the two config files base.ini and override.ini; the second wins",
    )
    text = (
        f"{asked[number % 3]}. An empty value in override.ini removes the key. One `section.key=value` per "
        "line, sorted."
    )
    data = {name: _ini(values) for name, values in (("base.ini", base), ("override.ini", over))}
    return Made(text, data, tuple(sorted(answers)))


def _ini(sections: dict[str, dict[str, str]]) -> str:
    return "\n".join(
        f"[{name}]\n" + "".join(f"{key} = {value}".rstrip() + "\n" for key, value in values.items())
        for name, values in sections.items()
    )
