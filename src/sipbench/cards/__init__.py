"""Cards and capsules: paper-grounded task records, their checks, and what must not leak from them."""
