"""How Sphinx builds the site of the documentation; `make docs` runs it.

The source folder is the repository's root, not this folder: pages then link to examples, results of
benchmarks and each other by the same relative paths in the repository and in the site, and the same
test checks both (`tests/architecture/test_pages.py`).

Built pages load nothing from elsewhere: they are read where no network is. So there is no
intersphinx, whose inventories are on the web, notebooks' widgets are shown as what they printed,
and formulas are plain text with Unicode's signs, which needs no MathJax.
"""

from __future__ import annotations

import inspect
import logging
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from interpret_dp import __version__  # noqa: E402

project = "interpret_dp"
author = "The interpret_dp contributors"
copyright = author
version = release = __version__

root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "examples/*.ipynb",
    "benchmarks/results/*.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
# What lies below a folder that is left out is not even looked at.
exclude_patterns = ["docs/_*", ".venv*", ".git", "**/.ipynb_checkpoints", "**/__pycache__"]

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
# autosummary looks from the source folder on.
templates_path = ["docs/_templates"]
# A block without a language is a formula, or what a command printed.
highlight_language = "text"
# The quotes and primes of formulas and commands stay what they are.
smartquotes = False
toc_object_entries_show_parents = "hide"

# Notebooks are committed as they were executed; `tests/notebooks` runs them.
nb_execution_mode = "off"
nb_ipywidgets_js = {}
# Anchors of headings, as the hosts of repositories make them.
myst_heading_anchors = 4

autosummary_generate = True
# Files whose names differ by case alone are one file on some systems.
autosummary_filename_map = {"interpret_dp.PrivateMetrics": "interpret_dp.PrivateMetrics-class"}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# References are checked (`-n`). Names that the site does not have pages for:
nitpick_ignore_regex = [
    # Attributes of dataclasses: the table in the class's docstring says what each is.
    (r"py:obj", r"interpret_dp(\.[a-z_]+)*\.[A-Z]\w*\.[a-z]\w*"),
    # Rooms behind the public names: a docstring may name them, and has them as text then.
    (r"py:(attr|class|data|func|meth|mod)", r"interpret_dp(\.[a-z_]+){2}\..+"),
]

html_theme = "pydata_sphinx_theme"
html_title = "interpret_dp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# The front door: the root of the site is not the folder of the landing page.
html_extra_path = ["_root"]
html_show_sourcelink = False
# Pages without others beside them.
html_sidebars = {page: [] for page in ("docs/index", "docs/migration", "docs/faq")}
html_copy_source = False
# Without it the theme writes an empty mode, and its script an error to the console.
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "interpret_dp"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "header_links_before_dropdown": 7,
    "show_nav_level": 1,
}


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class inherits from other packages, and what only interpret asks it."""
    if name in ("available_explanations", "explainer_type"):
        return True
    function = inspect.unwrap(obj.fget if isinstance(obj, property) else obj)
    home = getattr(function, "__module__", None) or "interpret_dp"
    return None if home.startswith("interpret_dp") else True


def _is_no_empty_glob(record: logging.LogRecord) -> bool:
    """Let a list of pages be empty: tutorials and figures come and go, and are found by name."""
    return getattr(record, "subtype", None) != "empty_glob"


def setup(app: Any) -> None:
    """Connect the hooks above."""
    logging.getLogger("sphinx.sphinx.directives.other").addFilter(_is_no_empty_glob)
    app.connect("autodoc-skip-member", _skip)
