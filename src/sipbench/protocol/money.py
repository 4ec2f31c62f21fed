"""Amounts of money: summed as they are written, and shown."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["exact", "usd_text"]

_CENTS_FROM = 1


def exact(amount: float) -> Decimal:
    """The amount as it is written: ten times 0.1 is 1, which binary fractions miss."""
    return Decimal(str(amount))


def usd_text(amount: float | Decimal) -> str:
    """An amount of US dollars as people write it; small ones with four digits, since attempts cost little."""
    if amount == 0 or amount >= _CENTS_FROM:
        return f"{amount:,.2f} USD"
    return f"{float(amount):.4g} USD"
