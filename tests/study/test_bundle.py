"""A study as one archive, and back: equal tables, no names, and nothing that a hostile archive could do."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hybridize.study import tables
from hybridize.study.bundle import BundleError, Citation, make, open_bundle
from hybridize.study.label import ratings, reconcile
from hybridize.study.store import connect
from hybridize.study.tally import from_database

CITATION = Citation("A study", ("Lab",))


@pytest.fixture
def rated(study, items):
    study.execute(
        "UPDATE changeset SET author = 'Xenia Quill', body = 'For Xenia Quill\n\nSigned-off-by: Y Z <y@z.org>'"
    )
    for name in ("ana", "bo"):
        for item in items:
            form = ratings.parse({"is_fix": True, "category": {"choice": "Test"}, "comment": "as ana said"})
            ratings.save(study, item, name, form, 0, submit=True)
    reconcile.accept_agreed(study, "rec", 2, None)
    return study


def test_it_opens_again_with_equal_tables_equal_bytes_and_no_names(rated, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    one, two, again = tmp_path / "1.zip", tmp_path / "2.zip", tmp_path / "again.db"
    make(rated, one, CITATION)
    make(rated, two, CITATION)
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert {
        "README.md",
        "CITATION.cff",
        "SHA256SUMS",
        "codebook.json",
        "figures/figure1.pdf",
        "tables/table2.tex",
    } <= set(members)
    texts = b"".join(data for name, data in members.items() if not name.startswith("figures/"))
    for name in (b"Xenia", b"y@z.org", b'"ana"', b"as ana", b"Signed-off-by: Y"):
        assert name not in texts
    assert open_bundle(one, again)["rating"] == 10
    opened = connect(again)
    assert tables.all_tables(from_database(opened)) == tables.all_tables(from_database(rated))
    assert opened.execute("SELECT count(*) FROM rating_event").fetchone()[0] > 0
    opened.close()


def rewritten(source: Path, target: Path, **changes: bytes) -> Path:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, changes.pop(name.replace("/", "_").replace(".", "_"), old.read(name)))
        for name, data in changes.items():
            new.writestr(name.replace("UP", "../"), data)
    return target


def test_hostile_archives_are_refused_and_leave_nothing(rated, tmp_path: Path) -> None:
    good, bad, out = tmp_path / "good.zip", tmp_path / "bad.zip", tmp_path / "out.db"
    make(rated, good, CITATION, pictures=False)
    with pytest.raises(BundleError, match="no name of a bundle"):
        open_bundle(rewritten(good, bad, UPevil=b"x"), out)
    with pytest.raises(BundleError, match="checksum differs"):
        open_bundle(rewritten(good, bad, data_rating_jsonl=b"{}\n"), out)
    with pytest.raises(BundleError, match="checksum differs"):
        open_bundle(rewritten(good, bad, added=b"x"), out)
    with pytest.raises(BundleError, match="more than 1000 bytes"):
        open_bundle(good, out, max_bytes=1000)
    bad.write_bytes(b"not a zip")
    with pytest.raises(BundleError, match="no bundle"):
        open_bundle(bad, out)
    assert not out.exists()
    out.write_bytes(b"mine")
    with pytest.raises(BundleError, match="there already"):
        open_bundle(good, out)
