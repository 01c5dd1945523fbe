"""The words that `make lint` refuses are seen in pages and sources, and not in code of pages."""

import pytest

from scripts.check_words import problems, rules

PAGE = """# Title

`luck` is code, and so is [this](luck.md).

```python
luck = 1
```

Columns that hang
together are good luck.
"""
SOURCE = '"""Sampling error."""\n\n_ASKED = "asked"\nasked_by = 1  # luck\n'


@pytest.mark.parametrize(
    ("name", "text", "lines"), [("page.md", PAGE, [9, 10]), ("source.py", SOURCE, [3, 4])]
)
def test_a_word_is_found_with_its_line(name, text, lines, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    said = list(problems(path, rules()))
    assert [int(line.split(":")[1]) for line in said] == lines
    assert all("; write " in line for line in said)
