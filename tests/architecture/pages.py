"""What the pages of the documentation promise: links that lead somewhere, tests that exist."""

import ast
import re
from functools import cache

_FENCED = re.compile(r"^(`{3,}).*?^\1`*[ \t]*$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")
_TEST_FILE = re.compile(r"(?<![\w/])(?:tests(?:/\w+)*/)?test_\w+\.py")
_TEST_NAME = re.compile(r"`(test_\w+)`")
_NEW_BLOCK = re.compile(r"\s*(?:[-*] |\d+\. |\||#|$)")
_PAGE = re.compile(r"(?<![\w/.])docs/[\w/-]+\.md")


def anchors(page):
    """Return the anchors of a page's headings, as the hosts of repositories make them."""
    found = {}
    for heading in _HEADING.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {f"{slug}-{i}" if i else slug for slug, count in found.items() for i in range(count + 1)}


def broken_links(page, root, text=None):
    """Yield relative links to a file or heading that is not there, and pages named in vain.

    ``text`` is what the page says, where that is not what its file holds.
    """
    text = _FENCED.sub("", page.read_text(encoding="utf-8") if text is None else text)
    where = page.relative_to(root)
    for link in _LINK.findall(_CODE.sub("", text)):
        if _ELSEWHERE.match(link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield f"{where}: links to {link}, which does not exist"
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            yield f"{where}: links to {link}, which has no such heading"
    for name in sorted(set(_PAGE.findall(text))):
        if not (root / name).exists():
            yield f"{where}: names {name}, which does not exist"


@cache
def _functions(path):
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef))


def _blocks(text):
    """Yield paragraphs, list items and rows of tables."""
    block = []
    for line in text.splitlines():
        if _NEW_BLOCK.match(line):
            yield "\n".join(block)
            block = []
        block.append(line)
    yield "\n".join(block)


def dangling_tests(page, root):
    """Yield test files that do not exist, and test names that no file named beside them has.

    A name such as ``test_it`` in backticks is looked for in the files that the same paragraph,
    list item or row of a table names.
    """
    where = page.relative_to(root)
    for block in _blocks(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        files = set()
        for name in _TEST_FILE.findall(block):
            named = [root / name] if "/" in name else sorted((root / "tests").rglob(name))
            found = [path for path in named if path.exists()]
            files.update(found)
            if not found:
                yield f"{where}: names {name}, which does not exist"
        for name in _TEST_NAME.findall(block):
            if not any(name in _functions(path) for path in files):
                yield f"{where}: names {name}, which no test file named beside it has"
