"""Files of every format: a changed byte is an error, or the file still says the same.

Exhaustive over the bytes of small files, drawn by Hypothesis for the ledger's pages. Old files
load, newer ones are refused, and no file raises anything but the errors of its format.
"""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from interpret_dp import load_model
from interpret_dp._documents import SEAL, replaced_file, sealed
from tests.edges.formats import FORMATS, JSON_WITH_SEAL, SCHEMA, WRITERS

MENDS = (
    *("estore", "Give another path", "Correct it", "must", "needs", "Export", "llowed", "Rename"),
    *("Upgrade", "Add", "Write", "Load it"),
)


class Written:
    """A file of one format, what it says, and a second path for changed copies."""

    def __init__(self, kind, folder):
        self.kind = kind
        self.path = folder / kind.file
        kind.write(self.path)
        self.whole = self.path.read_bytes()
        self.says = kind.read(self.path)
        self.copy = folder / "changed" / kind.file
        self.copy.parent.mkdir()

    def is_refused(self, content):
        """Whether changed content is refused; if not, it says the same, or may say other things."""
        for left in self.copy.parent.iterdir():
            left.unlink()
        found = self.kind.outcome(self.copy, content)
        if isinstance(found, Exception):
            assert str(found).rstrip().endswith((".", "'", "?")), str(found)
            assert any(mend in str(found) for mend in MENDS), str(found)
            return True
        assert found == self.says or not self.kind.says_when_changed
        return False


@pytest.fixture(scope="module", params=FORMATS)
def written(request, tmp_path_factory):
    return Written(FORMATS[request.param], tmp_path_factory.mktemp("edges"))


@pytest.mark.thorough
def test_a_changed_byte_is_an_error_or_changes_nothing(written):
    """At every place of a file, or 500 of them; the ledger's pages have a test of their own."""
    if written.kind.file.endswith(".db"):
        pytest.skip("a file of pages, most of them empty: see the next test")
    step = 1 + len(written.whole) // 500
    refused = tried = 0
    for place in range(0, len(written.whole), step):
        changed = bytearray(written.whole)
        changed[place] ^= 1 if place % 2 else 0x10
        tried += 1
        refused += written.is_refused(bytes(changed))
    if written.kind.says_when_changed:
        # Only blanks, ends of lines and other spellings of one number say the same.
        assert refused > 0.7 * tried


@pytest.fixture(scope="module")
def ledger_file(tmp_path_factory):
    return Written(FORMATS["ledger"], tmp_path_factory.mktemp("ledger"))


@pytest.mark.thorough
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_of_a_ledger_is_an_error_or_changes_nothing(ledger_file, data):
    """Among the bytes that hold something: entries, indexes, tables, triggers, pages' heads."""
    used = [place for place, byte in enumerate(ledger_file.whole) if byte]
    changed = bytearray(ledger_file.whole)
    changed[data.draw(st.sampled_from(used), label="place")] ^= data.draw(st.integers(1, 255))
    ledger_file.is_refused(bytes(changed))


def test_damage_around_the_entries_of_a_ledger_is_an_error(ledger_file):
    """A name in an index, whose entry is whole; a table's name in bytes that are no text."""
    content = ledger_file.whole
    index = content.rindex(b"ward")
    assert ledger_file.is_refused(content[:index] + b"vard" + content[index + 4 :])
    text = content.index(b"CREATE TABLE interpret_dp_ledger")
    assert ledger_file.is_refused(content[:text] + b"\xd3" + content[text + 1 :])


@pytest.mark.thorough
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_spoiled_files_raise_the_errors_of_their_format(written, data):
    """Cut, doubled, moved, and filled with other bytes."""
    whole = written.whole
    at, to = (data.draw(st.integers(0, len(whole))) for _ in range(2))
    filling = data.draw(st.binary(max_size=30) | st.sampled_from(ODD_PARTS))
    written.is_refused(whole[:at] + filling + whole[to:])


ODD_PARTS = [b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b'"\\ud800"', b"null", b"{}", b"[" * 500]
NESTED = {
    "json": b'{"format":' * 3_000 + b"1" + b"}" * 3_000,
    "toml": b"a = " + b"[" * 3_000 + b"]" * 3_000,
}
AWKWARD = {
    "empty": lambda whole: b"",
    "one blank": lambda whole: b" ",
    "a number": lambda whole: b"1",
    "a list": lambda whole: b"[[]]",
    "half": lambda whole: whole[: len(whole) // 2],
    "UTF-16": lambda whole: whole.decode("latin-1").encode("utf-16"),
    "no text": lambda whole: b"\xff\xfe\x00" + whole,
    "nested objects": lambda whole: NESTED["json"],
    "nested lists": lambda whole: b"[" * 100_000,
    "nested lists of TOML": lambda whole: NESTED["toml"],
}


@pytest.mark.parametrize("how", AWKWARD)
def test_awkward_files_are_refused(written, how):
    assert written.is_refused(AWKWARD[how](written.whole))
    assert not written.is_refused(written.whole)


def test_a_folder_and_no_file_are_said(written, tmp_path):
    if written.kind.file == "l.db":
        pytest.skip("a ledger that is not there is begun: tests/ledger/test_store.py")
    with pytest.raises(FileNotFoundError):
        written.kind.read(tmp_path / "none" / written.kind.file)
    (tmp_path / written.kind.file).mkdir()
    with pytest.raises(OSError, match=r"directory|denied"):
        written.kind.read(tmp_path / written.kind.file)


@pytest.mark.filterwarnings("ignore:JSON formats are in beta")
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_file(name, tmp_path):
    """The second writing stops after 50 bytes, as where a disk is full."""
    resource = pytest.importorskip("resource")
    file, write = WRITERS[name]
    path = tmp_path / file
    write(path)
    old = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="rights, links and pipes are others there")
def test_rights_links_pipes_and_messages_stay_what_they_are(tmp_path):
    path, link = tmp_path / "s.json", tmp_path / "link.json"
    SCHEMA.save(path)
    path.chmod(0o640)
    link.symlink_to(path)
    SCHEMA.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    with replaced_file(path) as pending:
        # At no moment may others read what is written.
        assert pending.stat().st_mode & 0o007 == 0
        pending.write_text("x")
    with replaced_file("/dev/stdout") as pending:
        assert pending == Path("/dev/stdout")
    if os.path.isdir("/dev/shm"):
        # Files there are files, and are replaced.
        with replaced_file("/dev/shm/interpret_dp.tmp") as pending:
            assert pending.name != "interpret_dp.tmp"
        os.unlink("/dev/shm/interpret_dp.tmp")
    path.chmod(0o440)
    if not os.access(path, os.W_OK):
        with pytest.raises(PermissionError):
            SCHEMA.save(path)
    with pytest.raises(FileNotFoundError, match=r"none/s\.json"):
        SCHEMA.save(tmp_path / "none" / "s.json")
    readable, writable = os.pipe()
    text = SCHEMA.to_json(f"/dev/fd/{writable}")
    assert os.read(readable, 2**16) == text.encode()
    os.close(readable)
    os.close(writable)


# ------------------------------------------------------------------------------ JSON with a seal


@pytest.fixture(params=JSON_WITH_SEAL)
def document(request, tmp_path):
    kind = FORMATS[request.param]
    kind.write(tmp_path / kind.file)
    return kind, tmp_path / kind.file, json.loads((tmp_path / kind.file).read_text())


def test_layout_and_a_seal_that_is_not_there_change_nothing(document):
    """Older files have no seal."""
    kind, path, content = document
    says = kind.read(path)
    for same in (
        json.dumps(dict(sorted(content.items(), reverse=True))),
        json.dumps(content, indent=7, ensure_ascii=False),
        json.dumps({key: value for key, value in content.items() if key != SEAL}),
    ):
        path.write_text(same, encoding="utf-8")
        assert kind.read(path) == says


def test_other_seals_versions_and_keys_are_refused(document):
    """Unknown keys too, or a seal whose own name was changed would not be missed."""
    kind, path, content = document
    plain = {key: value for key, value in content.items() if key != SEAL}
    versions = () if kind is FORMATS["audit"] else (3, 0, "1", 1.0, True, None)
    newer = r"reads 1( and 2)?\. A newer file needs a newer interpret_dp"
    changed = r"was changed after it was written.*Restore"
    for text, message in (
        *((json.dumps(content | {SEAL: seal}), changed) for seal in (None, "", 5, "0" * 64, {})),
        *((json.dumps(sealed(plain | {"version": one})), newer) for one in versions),
        (json.dumps(plain | {"sha257": "0" * 64}), "unknown keys: 'sha257'"),
        (json.dumps(sealed(plain | {"later": 1})), "unknown keys: 'later'"),
        (json.dumps(content)[:-1] + f', "{SEAL}": "0"}}', f"repeats keys: '{SEAL}'"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            kind.read(path)


def test_what_a_file_holds_is_never_run(tmp_path):
    """A pickle that would make a folder when it is read."""

    class Harmful:
        def __reduce__(self):
            return Path.mkdir, (tmp_path / "made",)

    import pickle

    content = pickle.dumps(Harmful())
    for name, kind in FORMATS.items():
        found = kind.outcome(tmp_path / f"of {name}{Path(kind.file).suffix}", content)
        assert isinstance(found, Exception), name
    with pytest.raises(ValueError, match="not valid JSON"):
        load_model(tmp_path / "of session.json")
    assert not (tmp_path / "made").exists()
