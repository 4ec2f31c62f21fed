"""What a line of ``direct_checks`` says, and nothing more.

A line is prose. A typed one begins with a token (``file_exists: …``); of its parameters only those
count that stand in it literally. Hedges ("robust to …") and negations are noticed, because a line with
one is no hard check.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

__all__ = ["Bounds", "Line", "bounds", "count", "files", "formats", "quoted", "read_line"]

_TOKENS = (
    r"script[_ ]runs|output[_ ]matches[_ ]reference|file[_ ]exists|file[_ ]format[_ ]is|format_is|"
    r"value[_ ]in[_ ]range|contains[_ ]substring|field[_ ]present|row[_ ]count[_ ]equals|expert_review"
)
_LEADING = re.compile(rf"^\s*(?:verify|confirm|check)?\s*(?:that\s+)?({_TOKENS})\b\s*:?\s*", re.IGNORECASE)
# Later in a line only the written form is a token: "the script runs" is prose.
_LATER = re.compile(_TOKENS.replace("[_ ]", "_"), re.IGNORECASE)

_NEGATION = re.compile(
    r"\b(?:no|not|non-zero|none|never|neither|nor|without|absence|absent|except|excluding|cannot)\b|n't\b",
    re.IGNORECASE,
)
# What a program does when it runs well: nothing is denied.
_WITHOUT_ERROR = re.compile(
    r"\b(?:without|no) (?:any )?(?:fatal |raising )?(?:an )?(?:\w*errors?|exceptions?|failures?|warnings?)\b",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"robust to|parameter-sensitive|sensitive to|no canonical|\bor equivalent|\bor similar|\bor compatible|"
    r"\bequivalent\b|\be\.g\.|\bsuch as\b|\bapproximately\b|\babout\b|≈|~\s*\d|\betc\b|\bif\b|\bmay\b|"
    r"\bmultiple\b|\bdefensible\b|\boptional|\bwhere (?:possible|available)|\bexpected\b|solution_space|"
    r"\btypically\b|\busually\b|\bor higher\b|\bor more\b",
    re.IGNORECASE,
)
_REPOSITORY = re.compile(
    r"\brepositor(?:y|ies)\b|\brepo\b|\bgithub\b|\bsource (?:code|file|package|tree)|\bcodebase\b|"
    r"\bdocumentation\b|\bdocs?\b|\bdocstrings?\b|\breadme\b|\bvignettes?\b|\bimplementation\b|"
    r"\bpackage (?:contains|includes|source|installed|loaded|is)|\bin \w+ package\b|\bimportable\b|"
    r"\bcallable\b|\bimported\b|"
    r"\b(?:function|class|module|method)s? (?:\w+ )?(?:exists?|definition|is defined)|"
    r"\blibrary\(|\bmodule\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"\bfiles\b|\beach\b|\bboth\b|\ball\b|\bevery\b|\brespective", re.IGNORECASE)
_ALTERNATIVES = re.compile(r"\bor\b", re.IGNORECASE)
_CODE = {"py", "r", "sh", "cpp", "c", "h", "hpp", "rs", "java", "js", "ts", "toml", "ipynb", "rmd", "cfg"}
_DATA = {
    "csv", "tsv", "txt", "json", "jsonl", "ndjson", "bed", "bedgraph", "bdg", "bw", "bigwig", "bam", "sam",
    "vcf", "gtf", "gff", "gff3", "hic", "h5", "h5ad", "hdf5", "npz", "npy", "png", "pdf", "svg", "jpg",
    "jpeg", "gif", "tif", "tiff", "html", "xlsx", "parquet", "gz", "bgz", "zip", "rds", "rda", "rdata",
    "pkl", "log", "md", "yaml", "yml", "sf", "narrowpeak", "broadpeak", "gappedpeak", "cool", "mcool",
    "fasta", "fa", "fq", "fastq", "ioe", "ioi", "mzml", "mgf", "msp", "sdf", "smi", "graphml", "nwk", "tab",
}  # fmt: skip
_FILE = re.compile(
    r"(?<![\w./\\:@-])((?:[\w*.-]+/)*[\w*][\w*.-]*\.(?:"
    + "|".join(sorted(_CODE | _DATA, key=lambda name: (-len(name), name)))
    + r"))(?![\w(/]|\.\w)",
    re.IGNORECASE,
)
_URL = re.compile(r"\b\w+://\S+")
_QUOTED = re.compile(
    r"(?<!\w)'([^'\n]{1,200})'(?!\w)|(?<!\w)\"([^\"\n]{1,200})\"|`([^`\n]{1,200})`|“([^”\n]{1,200})”|‘([^’\n]{1,200})’"
)
_FORMAT_WORDS = {
    "csv": r"\bcsv\b|\bcomma[- ]separated|\bcomma[- ]delimited",
    "tsv": r"\btsv\b|\btab[- ]separated|\btab[- ]delimited",
    "json": r"\bjson\b(?!\s*l(?:ines)?\b)",
    "jsonl": r"\bjsonl\b|\bjson lines\b|\bndjson\b",
    "bed": r"\bbed\b",
    "png": r"\bpng\b",
    "jpeg": r"\bjpe?g\b",
    "gif": r"\bgif\b",
    "tiff": r"\btiff?\b",
    "pdf": r"\bpdf\b",
    "parquet": r"\bparquet\b",
    "xlsx": r"\bxlsx\b|\bexcel\b",
    "hdf5": r"\bhdf5\b|\bh5ad\b",
    "gzip": r"\bgzip(?:ped)?\b",
    "zip": r"\bzip\b",
}
# Formats that a check may name and that nothing here can parse: they leave the format open.
_OTHER_FORMATS = re.compile(
    r"\bbedgraph\b|\bbigwig\b|\bbam\b|\bsam\b|\bvcf\b|\bgtf\b|\brds\b|\brdata\b|\bsvg\b|\bhtml\b|\bfasta\b|"
    r"\bfastq\b|\bnp[yz]\b|\bpickle\b|\bzarr\b|\bhic\b|\bcool(?:er)?\b|\bmatrix\b|\bobject\b|\bnarrowpeak\b|\byaml\b",
    re.IGNORECASE,
)
# Atomic: "0.99854 ± …" must not be read as 0.9985.
_N = r"(?>[-−+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_BETWEEN = re.compile(
    rf"(?:between|from|range(?: of)?:?|in|within)\s*[\[(]?\s*({_N})\s*%?\s*(?:and|to|,|–|—|-)\s*({_N})",
    re.IGNORECASE,
)
_PLUS_MINUS = re.compile(rf"({_N})\s*%?\s*(?:±|\+/-)\s*({_N})")
_LEAST = re.compile(rf"(?:≥|>=|\bat least|\bno less than)\s*({_N})", re.IGNORECASE)
_MOST = re.compile(rf"(?:≤|<=|\bat most|\bno more than)\s*({_N})", re.IGNORECASE)
_ABOVE = re.compile(rf"(?:(?<![<>=])>(?!=)|\bgreater than(?! or)|\babove)\s*({_N})", re.IGNORECASE)
_BELOW = re.compile(rf"(?:(?<![<>=])<(?!=)|\bless than(?! or)|\bbelow)\s*({_N})", re.IGNORECASE)
_EXACT = re.compile(rf"\bequals?\s+(?:exactly\s+)?({_N})(?!\s*%?\s*(?:±|\+/-))", re.IGNORECASE)

_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "ten": 10}
_COUNT = rf"({_N}|{'|'.join(_WORDS)})"
_AT_LEAST_ROWS = re.compile(rf"(?:\bat least|≥|>=)\s*{_COUNT}\b", re.IGNORECASE)
_AT_MOST_ROWS = re.compile(rf"(?:\bat most|≤|<=)\s*{_COUNT}\b", re.IGNORECASE)
_MORE_ROWS = re.compile(r"(?:greater than|>)\s*(0|zero)\b|\bnon-?empty\b", re.IGNORECASE)
_EXACT_ROWS = re.compile(rf"(?:^|\bequals?|\bexactly|=)\s*{_COUNT}\b(?:\s+(?:data\s+)?rows?)?", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """One line as read.

    Attributes:
        text: The line, word for word.
        token: Its kind, as ``eval.json`` spells it; None for prose.
        rest: What follows the token.
        tokens: How many tokens the line holds.
        negated, hedged: Whether it denies or hedges something.
        alternatives: Whether it offers some ("a or b").
        several: Whether it speaks of several files.
        about_repository: Whether it asks about the paper's code or its documentation.
    """

    text: str
    token: str | None
    rest: str
    tokens: int
    negated: bool
    hedged: bool
    alternatives: bool
    several: bool
    about_repository: bool


def read_line(text: str) -> Line:
    """Read one line of ``direct_checks``."""
    found = _LEADING.match(text)
    token, rest = (None, text.strip())
    if found:
        token = found[1].lower().replace(" ", "_")
        token = "file_format_is" if token == "format_is" else token
        rest = text[found.end() :].strip()
    codes = [name for name in files(rest) if _suffix(name) in _CODE]
    return Line(
        text=text,
        token=token,
        rest=rest,
        tokens=len(_LATER.findall(rest)) + bool(found),
        negated=bool(_NEGATION.search(_WITHOUT_ERROR.sub(" ", rest))),
        hedged=bool(_HEDGE.search(rest)),
        alternatives=bool(_ALTERNATIVES.search(rest)),
        several=bool(_SEVERAL.search(rest)),
        about_repository=bool(_REPOSITORY.search(rest) or codes),
    )


def _suffix(name: str) -> str:
    return name.rpartition(".")[2].lower()


def files(text: str) -> list[str]:
    """The file names in a text, each once, in order; addresses and method calls are none."""
    found = dict.fromkeys(_FILE.findall(_URL.sub(" ", text)))
    return [name for name in found if ".." not in name.split("/")]


def quoted(text: str) -> list[str]:
    """The quoted texts that are no file names, each once, in order."""
    found = ("".join(groups) for groups in _QUOTED.findall(text))
    return [text for text in dict.fromkeys(found) if not _FILE.fullmatch(text)]


def formats(text: str) -> list[str]:
    """The formats that a text names; ``?`` for one that no program here reads."""
    without = _FILE.sub(" ", text)
    named = [name for name, words in _FORMAT_WORDS.items() if re.search(words, without, re.IGNORECASE)]
    if "bed" in named and "tsv" in named:
        named.remove("tsv")  # BED is separated by tabs
    if _OTHER_FORMATS.search(without):
        named.append("?")
    return named


@dataclass(frozen=True)
class Bounds:
    """The bounds of a range; None where there is none."""

    low: float | None = None
    high: float | None = None
    inclusive: bool = True


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def bounds(text: str) -> Bounds | None:
    """The one range that a text states; None if it states none, or several."""
    found: set[Bounds] = set()
    for match in _PLUS_MINUS.finditer(text):
        middle, half = _number(match[1]), abs(_number(match[2]))
        # The decimals of the text, not of its binary fractions: 0.99854 - 0.0002 is 0.99834.
        digits = max(len(part.partition(".")[2]) for part in match.groups())
        found.add(Bounds(round(middle - half, digits), round(middle + half, digits)))
    for match in _BETWEEN.finditer(text):
        low, high = _number(match[1]), _number(match[2])
        if low <= high:
            found.add(Bounds(low, high))
    found |= {Bounds(_number(match[1]), _number(match[1])) for match in _EXACT.finditer(text)}
    if not found:
        found |= _one_sided(text)
    # "83.48 … within ±0.01" states a tolerance apart from its value: which range is meant is not said.
    stray = "±" in _PLUS_MINUS.sub(" ", text)
    if len(found) != 1 or stray:
        return None
    (only,) = found
    return only if all(math.isfinite(side) for side in (only.low, only.high) if side is not None) else None


def _one_sided(text: str) -> set[Bounds]:
    least = {(_number(match[1]), True) for match in _LEAST.finditer(text)}
    least |= {(_number(match[1]), False) for match in _ABOVE.finditer(text)}
    most = {(_number(match[1]), True) for match in _MOST.finditer(text)}
    most |= {(_number(match[1]), False) for match in _BELOW.finditer(text)}
    if len(least) > 1 or len(most) > 1 or not least | most:
        return set()
    sides = {inclusive for _, inclusive in least | most}
    if len(sides) > 1:
        return set()
    low, high = (next((value for value, _ in side), None) for side in (least, most))
    return {Bounds(low, high, sides.pop())}


def count(text: str) -> tuple[str, int] | None:
    """The number of rows that a text asks for, as (op, count); None if it states none, or several."""
    found: set[tuple[str, int]] = set()
    rest = text
    for op, pattern in (("ge", _AT_LEAST_ROWS), ("le", _AT_MOST_ROWS)):
        for match in pattern.finditer(rest):
            found |= _counted(op, match[1])
        rest = pattern.sub(" ", rest)
    if _MORE_ROWS.search(rest):
        found.add(("ge", 1))
        rest = _MORE_ROWS.sub(" ", rest)
    for match in _EXACT_ROWS.finditer(rest):
        found |= _counted("eq", match[1])
    return found.pop() if len(found) == 1 else None


def _counted(op: str, text: str) -> set[tuple[str, int]]:
    value = _WORDS.get(text.lower())
    number = float(value) if value is not None else _number(text)
    return {(op, int(number))} if 0 <= number < 1e12 and number == int(number) else set()
