"""The site is built without a warning, which a broken link is, and works without a network."""

from importlib.util import find_spec

import pytest

from tests.processes import ROOT, output_of

# Pages of each kind: landing, concept, formulas, class, notebook, wide tables.
OPENED = (
    "docs/index",
    "docs/epsilon",
    "docs/proofs/gaussian-accounting",
    "docs/api/generated/interpret_dp.DPExplainableBoostingClassifier",
    "examples/from_schema_to_card",
    "docs/migration",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as `make docs` does, but into a folder of the test."""
    if find_spec("sphinx") is None:
        pytest.skip("the extra `docs` is not installed")
    folder = tmp_path_factory.mktemp("site") / "html"
    options = ("-b", "html", "-c", "docs", "-n", "-W", "--keep-going", "--quiet")
    output_of("-m", "sphinx", *options, ".", folder, timeout=None)
    return folder


def watched(context, problems):
    """Return an empty page that notes what fails, and what is loaded from elsewhere."""
    page = context.new_page()
    page.on("request", lambda request: _note(problems, request.url))
    page.on("requestfailed", lambda request: problems.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    return page


def _note(problems, url):
    if not url.startswith(("file:", "data:", "blob:")):
        problems.append(url)


@pytest.mark.slow
@pytest.mark.browser
def test_pages_load_nothing_from_elsewhere(site, browser):
    """All that are written; those made of docstrings have the same frame."""
    written = [path for part in ("docs", "examples") for path in (site / part).rglob("*.html")]
    files, problems = [path for path in written if "generated" not in path.parts], []
    assert len(files) > 50
    with browser.new_context(offline=True) as context:
        page = watched(context, problems)
        for path in files:
            page.goto(path.as_uri())
    assert problems == []


@pytest.mark.slow
def test_every_page_of_the_repository_is_built(site):
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "proofs").glob("*.md")]
    pages += (ROOT / "examples").glob("*.ipynb")
    built = [site / page.relative_to(ROOT).with_suffix(".html") for page in pages]
    assert [page for page in built if not page.is_file()] == []


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("dark", 390), ("light", 1400)])
def test_a_browser_without_a_network_shows_pages(site, browser, scheme, width):
    screen = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    context = browser.new_context(offline=True, **screen)
    problems = []
    for name in OPENED:
        page = watched(context, problems)
        page.goto((site / f"{name}.html").as_uri())
        assert page.locator("h1").first.is_visible(), name
        # Nothing is wider than the screen but what scrolls by itself.
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        shown = page.evaluate("document.documentElement.dataset.theme")
        assert shown == scheme, name
        page.close()
    context.close()
    assert problems == []


@pytest.mark.slow
@pytest.mark.browser
def test_formulas_are_shown_as_they_are_written(site, browser_page):
    browser_page.goto((site / "docs/proofs/gaussian-accounting.html").as_uri())
    text = browser_page.locator("article").inner_text()
    source = (ROOT / "docs" / "proofs" / "gaussian-accounting.md").read_text(encoding="utf-8")
    formulas = [line.strip() for line in source.splitlines() if line.startswith("    δ")]
    assert len(formulas) > 1
    assert [formula for formula in formulas if formula not in text] == []
    # Primes are no quotation marks.
    assert "R' = xR" in text


@pytest.mark.slow
@pytest.mark.browser
def test_the_search_works_from_a_file(site, browser_page):
    browser_page.goto((site / "search.html").as_uri() + "?q=partition")
    results = browser_page.locator("#search-results li")
    results.first.wait_for(timeout=20_000)
    assert "partition_selection" in " ".join(
        results.nth(i).inner_html() for i in range(results.count())
    )


# Controls


LOADED_FROM_ELSEWHERE = [
    '<script src="https://cdn.example.org/a.js"></script>',
    '<link rel="stylesheet" href="https://cdn.example.org/a.css">',
    "<style>body { background: url(https://example.org/a.png) }</style>",
    '<script>import("https://example.org/a.js")</script>',
    '<script src="gone.js"></script>',
]


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("markup", LOADED_FROM_ELSEWHERE)
def test_what_is_loaded_from_elsewhere_is_found(markup, browser, tmp_path):
    problems, path = [], tmp_path / "page.html"
    linked = '<link rel="next" href="https://example.org/"><a href="https://example.org/">there</a>'
    with browser.new_context(offline=True) as context:
        page = watched(context, problems)
        for text in (linked, markup):
            assert problems == []
            path.write_text(f"<html><body>{text}</body></html>")
            page.goto(path.as_uri())
    assert problems
