"""A check of pages and sources for words that must not come back.

``python -m scripts.check_words``, from the repository's root; `make lint` runs it. The words are in
`scripts/words.toml`. Prints one line for each, and ends with 1 if there is any.
"""

from __future__ import annotations

import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
STYLE = ROOT / "scripts" / "words.toml"
_FENCE = re.compile(r"^ *```")
_CODE = re.compile(r"`[^`]*`|\]\([^)]*\)")


@dataclass(frozen=True)
class Rule:
    """Words that are an error, and what to write.

    Attributes
    ----------
    pattern : Pattern
    write : str
    is_name : bool
        Whether it is for whole identifiers; otherwise for prose.
    """

    pattern: re.Pattern[str]
    write: str
    is_name: bool


def rules(style: Path = STYLE) -> list[Rule]:
    """Return the rules of a style file.

    Raises
    ------
    ValueError
        If a rule has not exactly one of ``text`` and ``name``, or no ``write``.
    """
    read = []
    for rule in tomllib.loads(style.read_text(encoding="utf-8"))["rule"]:
        if set(rule) not in ({"text", "write"}, {"name", "write"}):
            raise ValueError(f"{style.name} has {rule}; give `text` or `name`, and `write`.")
        # A line may end within a phrase.
        pattern = rf"_*{rule['name']}_*" if "name" in rule else rule["text"].replace(" ", r"\s+")
        read.append(Rule(re.compile(pattern, re.IGNORECASE), rule["write"], "name" in rule))
    return read


def checked_files() -> list[Path]:
    """Return pages and sources of the package; no proofs, and no logs of experiments."""
    pages = "*.md", "docs/*.md", "docs/decisions/*.md"
    sources = "interpret_dp/**/*.py", "interpret_dp/**/*.html"
    return sorted(path for pattern in (*pages, *sources) for path in ROOT.glob(pattern))


def problems(path: Path, checked: list[Rule]) -> Iterator[str]:
    """Yield a message with its line for each word of a file that is an error."""
    text = path.read_text(encoding="utf-8")
    prose = _prose(text) if path.suffix == ".md" else text
    matches = [
        (prose.count("\n", 0, match.start()) + 1, match, rule)
        for rule in checked
        if not rule.is_name
        for match in rule.pattern.finditer(prose)
    ]
    by_name = [rule for rule in checked if rule.is_name and rule.pattern.search(text)]
    if path.suffix == ".py" and by_name:
        with path.open("rb") as source:
            names = [t for t in tokenize.tokenize(source.readline) if t.type == tokenize.NAME]
        matches += [
            (name.start[0], match, rule)
            for rule in by_name
            for name in names
            if (match := rule.pattern.fullmatch(name.string))
        ]
    for number, match, rule in sorted(matches, key=lambda one: one[0]):
        yield f"{path}:{number}: {match.group()!r}; write {rule.write}."


def _prose(page: str) -> str:
    """Return a page whose blocks of code are empty lines, without code and targets of links."""
    lines, is_inside = [], False
    for line in page.splitlines():
        is_fence = bool(_FENCE.match(line))
        lines.append("" if is_inside or is_fence else _CODE.sub(" ", line))
        is_inside ^= is_fence
    return "\n".join(lines)


def main() -> int:
    """Print what is wrong, and return how the process ends."""
    checked = rules()
    lines = [line for path in checked_files() for line in problems(path, checked)]
    print("\n".join([*lines, f"{len(lines)} words to replace."]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
