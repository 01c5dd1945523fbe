import json

import pytest

from interpret_dp._optional import import_optional


def test_missing_library_comes_with_the_command_that_installs_it():
    assert import_optional("json", extra="notebook", purpose="Reading") is json
    with pytest.raises(ModuleNotFoundError) as caught:
        import_optional("no_such_library.part", extra="notebook", purpose="The notebook editor")
    assert str(caught.value) == (
        "The notebook editor needs 'no_such_library', which is not installed. "
        "Install it with: pip install 'interpret-dp[notebook]'"
    )
    assert caught.value.name == "no_such_library"


def test_broken_library_raises_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import something_else_entirely\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'something_else_entirely'$"):
        import_optional("broken_library", extra="notebook", purpose="The notebook editor")
