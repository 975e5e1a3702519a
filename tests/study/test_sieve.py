"""What the sieve lets through is what git's own search finds, whatever is done to lines, files and line ends."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hybridize.study.blobs import Blobs
from hybridize.study.history import Repository
from hybridize.study.keyword import Keyword
from hybridize.study.profile import built_in
from hybridize.study.sieve import Sieve, listing, stay, telling, unlike
from study.histories import History

LINES = [
    "@tf.function", "@function", "def f(x):", "    return x", "", "    y = tf.function(g)", "# a function of x",
    "    input_signature=[s],", "g = function", "from tensorflow import function", "@tf.functional", "x.function\r",
    "import functionals", "\tcall(function, x)", "def g(x):",
]  # fmt: skip


def changed(text: list[str], chance: random.Random) -> list[str]:
    """A version after it: lines that come, go, move, are doubled."""
    text = list(text)
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(text))
        kind = chance.choice("add add remove move double".split())
        if kind == "add":
            text[at:at] = chance.choices(LINES, k=chance.randint(1, 3))
        elif kind == "remove":
            del text[at : at + chance.randint(1, 3)]
        else:
            some = text[at : at + chance.randint(1, 4)]
            if kind == "move":
                del text[at : at + len(some)]
            other = chance.randint(0, len(text))
            text[other:other] = some
    return text


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_what_git_finds(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridize.study.sieve.TOGETHER", 7)
    monkeypatch.setattr("hybridize.study.sieve.FILES", 3)
    chance = random.Random(seed)
    history = History.new(tmp_path / "r")
    files = {name: chance.choices(LINES, k=chance.randint(0, 20)) for name in ("a.py", "b.py", "c.txt")}
    for number in range(25):
        name = chance.choice(sorted(files))
        files[name] = changed(files[name], chance)
        written: dict[str | bytes, str | bytes | None] = {
            path: "\n".join(text) + chance.choice(["", "\n"]) for path, text in files.items()
        }
        if number % 5 == 4:  # a rename, with a change or without
            written["b.py"], files["d.py"] = None, files.pop("b.py")
            files["b.py"] = chance.choices(LINES, k=4) if number % 2 else []
            written["d.py"] = "\n".join(files["d.py"])
            history.commit(f"r{number}", {**written})
            continue
        history.commit(f"c{number}", written)
    for keyword in (Keyword(), Keyword(built_in("jax"))):
        repository = Repository(history.path)
        pattern, paths = keyword.wide_pattern, ["*.py"]
        options = ("--root", "--no-merges", "--format=%H", "-M", "-l1000", "--text", f"-G{pattern}")
        expected = repository.run("log", *options, "HEAD", "--", *paths).decode().split()
        shas = repository.commits(["HEAD"])
        with Blobs(repository) as blobs:
            found = list(
                Sieve(repository, blobs, pattern, keyword.names, paths).search(listing(repository, ["HEAD"], paths))
            )
        assert [sha for sha, _ in found] == shas
        assert [sha for sha, commit in found if commit is not None] == expected


@pytest.mark.parametrize("profile", ["tensorflow", "jax", "torch", "numba"])
def test_fewer_names_tell_of_all(profile: str) -> None:
    names = Keyword(built_in(profile)).names
    short = [name.decode() for name in telling(names)]
    assert len(short) < len(names)
    assert all(any(part in name for part in short) for name in names)


@pytest.mark.parametrize(
    ("before", "after", "old", "new"),
    [
        (b"a\nb\nc\n", b"a\nx\nc\n", b"b\n", b"x\n"),
        (b"a\nb\n", b"a\nx\nb\n", b"", b"x\n"),
        (b"a\nb", b"a\nb\n", b"b", b"b\n"),
        (b"ab\n", b"b\n", b"ab\n", b"b\n"),
        (b"one\n", b"one\none\n", b"", b"one\n"),
        (b"same", b"same", b"", b""),
    ],
)
def test_what_contents_do_not_begin_and_end_with_alike(before: bytes, after: bytes, old: bytes, new: bytes) -> None:
    assert unlike(before, after) == (old, new)


@pytest.mark.parametrize(
    ("before", "after", "stays"),
    [
        ("a\n@f\nb\nc", "x\n@f\nb\ny", True),
        ("\na\n\n@f\nb\nc", "x\na\n\n@f\nb\n\n\ny", False),  # an empty line could be kept in place of it
        ("a\n@f\nb\n\nc", "x\n@f\nb\n\n\ny", True),
        ("a\n@f\nb\nc", "c\n@f\nb\na", False),
        ("@f\na", "a\n@f", False),
        ("@f\na\n@f", "@f\nb", False),
        ("x\n" * 200 + "@f", "@f\n" + "y\n" * 200, False),
    ],
)
def test_lines_that_every_shortest_comparison_keeps(before: str, after: str, stays: bool) -> None:
    assert stay([b"@f"], before.encode() + b"\n", after.encode() + b"\n") is stays


def test_lines_that_are_said_to_stay_do_so_for_git(tmp_path: Path) -> None:
    chance = random.Random(7)
    history = History.new(tmp_path / "r")
    told = 0
    for number in range(60):
        old = chance.choices(LINES, k=30) + [f"line {n}" for n in range(20)]
        chance.shuffle(old)
        old.insert(chance.randint(0, 50), "@mark")
        new = list(old)
        for _ in range(4):
            at = chance.randrange(len(new))
            if new[at] != "@mark":
                new[at : at + 1] = chance.choice([[], [f"new {at}"], [new[at], ""], ["", new[at]]])
        texts = ["\n".join(lines) + "\n" for lines in (old, new)]
        if stay([b"@mark"], *unlike(*(text.encode() for text in texts))):
            told += 1
            names = [history.git("hash-object", "-w", "--stdin", stdin=text.encode()) for text in texts]
            diff = history.git("diff", "--no-indent-heuristic", "-U0", *names)
            assert not [line for line in diff.splitlines() if line[1:] == "@mark"], number
    assert told > 20


def test_a_last_line_without_its_end_is_another_line() -> None:
    assert stay([b"@f"], b"a\n@f\n", b"b\n@f\n")
    assert not stay([b"@f"], b"a\n@f\n", b"b\n@f")


def test_a_clone_without_contents_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridize.study.sieve.HOPELESS", 2)
    history = History.new(tmp_path / "r")
    for number in range(5):
        history.commit(f"c{number}", {"a.py": f"{number}\n"})
    for sha in history.git("rev-list", "HEAD").split():
        history.forget(history.git("rev-parse", f"{sha}:a.py"))
    repository = Repository(history.path)
    with Blobs(repository) as blobs, pytest.raises(Exception, match="no file contents in this clone"):
        list(Sieve(repository, blobs, "tf", ["tf"], ["*.py"]).search(listing(repository, ["HEAD"], ["*.py"])))
