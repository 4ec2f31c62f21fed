"""How many tasks each split is to have: counts, or shares of all tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sipbench.errors import ConfigError
from sipbench.plugins import suggestion

__all__ = ["DEFAULT_SIZES", "POOLS", "Size", "parse_sizes", "shared_out"]

POOLS = ("adapt", "adapt_t2", "heldout", "replay", "drift")
"""The lists of a manifest."""

_LARGEST = 10_000_000


@dataclass(frozen=True, slots=True)
class Size:
    """A count, which is met exactly, or a share, which is met as nearly as the groups allow."""

    count: int | None = None
    share: float | None = None

    def wanted(self, tasks: int) -> int:
        """The number of tasks out of ``tasks``; a share that is not 0 gives at least one."""
        if self.count is not None:
            return self.count
        share = self.share or 0.0
        return max(round(share * tasks), int(share > 0))

    @property
    def plain(self) -> int | float:
        """As a manifest records it: an integer is a count, a fraction a share."""
        return self.count if self.count is not None else float(self.share or 0.0)


DEFAULT_SIZES: Mapping[str, Size] = {
    "adapt": Size(share=0.3),
    "heldout": Size(share=0.4),
    "replay": Size(share=0.3),
}


def parse_sizes(text: str) -> dict[str, Size]:
    """Read ``adapt=20,heldout=40%,replay=0.3``.

    Raises:
        ConfigError: A split is unknown or named twice, or a size is neither a count nor a share.
    """
    sizes: dict[str, Size] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise ConfigError(
                f"sizes: expected NAME=NUMBER such as adapt=20 or heldout=40%, found '{item.strip()}'"
            )
        if name not in POOLS:
            near = suggestion(name, list(POOLS))
            raise ConfigError(f"sizes: '{name}' is no split{near}; splits are {', '.join(POOLS)}")
        if name in sizes:
            raise ConfigError(f"sizes: {name} is given twice")
        sizes[name] = _size(name, value)
    total = sum(size.share or 0.0 for name, size in sizes.items() if name != "drift")
    if total > 1 + 1e-9:
        raise ConfigError(f"sizes: the shares add up to {total:g}; at most 1 (100%) of the tasks can be used")
    return sizes


def _size(name: str, value: str) -> Size:
    try:
        if value.isdecimal() and value.isascii():
            count = int(value[:12])
            if count <= _LARGEST:
                return Size(count=count)
        else:
            share = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
            if 0 <= share <= 1:
                return Size(share=share)
    except ValueError:
        pass
    raise ConfigError(
        f"sizes: {name}={value[:40]}: expected a count such as 20, or a share such as 0.3 or 30%"
    )


def shared_out(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Divide ``total`` in proportion to ``weights``, by largest remainders; never more than a weight."""
    whole = sum(weights.values())
    if whole <= total:
        return dict(weights)
    exact = {name: total * weight / whole for name, weight in weights.items()}
    parts = {name: int(value) for name, value in exact.items()}
    rest = total - sum(parts.values())
    for name in sorted(exact, key=lambda name: (parts[name] - exact[name], name))[:rest]:
        parts[name] += 1
    return parts
