"""The samples of samples.txt in metres or kilograms."""

from pathlib import Path

FACTORS = {
    "km": 1000.0, "m": 1.0, "cm": 0.01, "mi": 1609.344, "ft": 0.3048, "in": 0.0254,
    "kg": 1.0, "g": 0.001, "lb": 0.45359237, "oz": 0.028349523125, "t": 1000.0,
}  # fmt: skip

lines = []
for line in Path("samples.txt").read_text(encoding="utf-8").splitlines():
    name, amount, unit = line.split()
    lines.append(f"{name} {float(amount) * FACTORS[unit]:.3f}\n")
Path("answer.txt").write_text("".join(lines), encoding="utf-8")
