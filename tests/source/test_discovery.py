"""Which files a project has."""

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridize.source import Discovery, discover

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


def make(root: Path, *files: str) -> Path:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    return root


def ignore(folder: Path, *patterns: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("\n".join(patterns) + "\n", encoding="utf-8")


def found(discovery: Discovery) -> list[str]:
    return [ref.relative for ref in discovery.files]


def test_python_files_and_notebooks_in_order(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a/z.py", "a/n.ipynb", "a/data.txt", "1_Introduction/hello world.py", "a/stub.pyi")
    result = discover([tmp_path])
    assert found(result) == ["1_Introduction/hello world.py", "a/n.ipynb", "a/z.py", "b.py"]
    assert [ref.is_notebook for ref in result.files] == [False, True, False, False]
    assert result.root == tmp_path
    assert (result.errors, result.missing) == ((), ())
    assert all(os.path.isabs(ref.path) and not ref.explicit for ref in result.files)


def test_a_folder_without_python(tmp_path: Path) -> None:
    make(tmp_path, "readme.md")
    assert discover([tmp_path]) == Discovery(root=tmp_path, files=())


def test_folders_that_never_hold_the_projects_code_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, "a.py", ".git/hooks/x.py", "build/x.py", "x/node_modules/y/x.py", "__pycache__/x.py", ".venv/x.py")
    make(tmp_path, "my-env/pyvenv.cfg", "my-env/lib/x.py", "._a.py")
    assert found(discover([tmp_path])) == ["a.py"]
    assert found(discover([tmp_path / "build"])) == ["x.py"], "unless one of them is named"
    assert found(discover([tmp_path / "my-env"])) == ["lib/x.py"]


def test_a_stray_file_of_an_environment_hides_no_code(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "agents/pyvenv.cfg", "agents/lib/python3.11/site-packages/x.py", "agents/batch/train.py")
    make(tmp_path, "script/pyvenv.cfg", "script/run.py")
    assert found(discover([tmp_path])) == ["a.py", "agents/batch/train.py", "script/run.py"]


def test_exclude_patterns_are_relative_to_their_base(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "gen/a.py", "p/gen/a.py", "p/a_pb2.py", "p/keep_pb2.py")
    assert found(discover([tmp_path], exclude=["/gen", "*_pb2.py", "!keep_pb2.py"])) == [
        "a.py",
        "p/gen/a.py",
        "p/keep_pb2.py",
    ]
    assert found(discover([tmp_path / "p"], exclude=["p/gen/"], exclude_base=tmp_path)) == ["a_pb2.py", "keep_pb2.py"]


def test_ignore_files_nested_and_negated(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "out/x.py", "p/out/x.py", "p/local.py", "p/q/local.py", "p/q/kept.py", "local.py")
    ignore(tmp_path, "out/", "local.py", "# a comment", "")
    ignore(tmp_path / "p" / "q", "!local.py", "k*")
    assert found(discover([tmp_path])) == ["a.py", "p/q/local.py"]
    everything = found(discover([tmp_path], respect_gitignore=False))
    assert len(everything) == 7


def test_ignore_files_above_count_up_to_the_repository(tmp_path: Path) -> None:
    make(tmp_path, "repo/p/a.py", "repo/p/gen.py", "repo/p/secret.py", "repo/p/other.py")
    (tmp_path / "repo" / ".git" / "info").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "info" / "exclude").write_text("secret.py\n", encoding="utf-8")
    ignore(tmp_path / "repo", "gen.py")
    ignore(tmp_path, "other.py")
    assert found(discover([tmp_path / "repo" / "p"])) == ["a.py", "other.py"]


def test_who_names_an_ignored_folder_wants_what_is_in_it(tmp_path: Path) -> None:
    make(tmp_path, "third_party/lib/a.py", "b.py")
    (tmp_path / ".git").mkdir()
    ignore(tmp_path, "third_party/")
    assert found(discover([tmp_path])) == ["b.py"]
    assert found(discover([tmp_path / "third_party" / "lib"])) == ["a.py"]


def test_an_ignore_file_with_nonsense_keeps_its_other_lines(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "b.py")
    ignore(tmp_path, "!", "/", "b.py", "\\")
    assert found(discover([tmp_path])) == ["a.py"]


def test_a_file_given_by_name_is_always_taken(tmp_path: Path) -> None:
    make(tmp_path, "build/x.py", "script", "a.py")
    ignore(tmp_path, "script")
    result = discover([tmp_path / "script", tmp_path, tmp_path / "build" / "x.py"], exclude=["*.py"])
    assert [(ref.relative, ref.explicit) for ref in result.files] == [("build/x.py", True), ("script", True)]
    alone = discover([tmp_path / "build" / "x.py"])
    assert (found(alone), alone.root) == (["x.py"], tmp_path / "build")


def test_several_and_overlapping_roots(tmp_path: Path) -> None:
    make(tmp_path, "p/a.py", "p/q/b.py", "r/c.py")
    result = discover([tmp_path / "p" / "q", tmp_path / "r", tmp_path / "p", tmp_path / "p"])
    assert result.root == tmp_path
    assert found(result) == ["p/a.py", "p/q/b.py", "r/c.py"]


def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "p/a.py")
    monkeypatch.chdir(tmp_path)
    assert discover(["p"]).root == tmp_path / "p"
    assert discover(["."]).files == discover([tmp_path]).files


def test_missing_paths_are_told_apart_from_bad_files(tmp_path: Path) -> None:
    make(tmp_path, "a.py")
    result = discover([tmp_path, tmp_path / "no.py", tmp_path / "a.py" / "b"])
    assert result.missing == (tmp_path / "no.py", tmp_path / "a.py" / "b")
    assert found(result) == ["a.py"]
    assert result.errors == ()


@needs_links
def test_what_is_neither_file_nor_folder_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert discover([tmp_path]).files == ()
    result = discover([tmp_path / "pipe.py"])
    assert [(e.path, e.message) for e in result.errors] == [("pipe.py", "is neither a file nor a folder")]


def test_an_unreadable_folder_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.py", "closed/b.py", "open/c.py")
    real: Callable[..., Any] = os.scandir

    def scandir(path: str) -> Any:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    result = discover([tmp_path])
    assert found(result) == ["a.py", "open/c.py"]
    assert [(e.path, e.line, e.message) for e in result.errors] == [("closed", 1, "cannot be read: permission denied")]


@needs_links
class TestLinks:
    def test_loops_end(self, tmp_path: Path) -> None:
        make(tmp_path, "p/a.py")
        (tmp_path / "p" / "up").symlink_to(tmp_path)
        (tmp_path / "p" / "self").symlink_to("self")
        (tmp_path / "again").symlink_to("p")
        assert found(discover([tmp_path])) == ["p/a.py"]
        assert found(discover([tmp_path / "p"])) == ["a.py"]

    def test_a_link_out_of_the_project_is_followed_once(self, tmp_path: Path) -> None:
        make(tmp_path, "home/a.py", "shared/b.py", "shared/venv/no.py")
        for name in ("x", "y"):
            (tmp_path / "home" / name).symlink_to(tmp_path / "shared")
        (tmp_path / "shared" / "back").symlink_to(tmp_path / "home")
        assert found(discover([tmp_path / "home"])) == ["a.py", "x/b.py"]

    def test_two_names_for_a_file_are_one_file(self, tmp_path: Path) -> None:
        make(tmp_path, "z/real.py")
        (tmp_path / "a.py").symlink_to("z/real.py")
        (tmp_path / "b.py").symlink_to("a.py")
        assert found(discover([tmp_path])) == ["z/real.py"]

    def test_a_link_to_an_excluded_folder_is_no_way_in(self, tmp_path: Path) -> None:
        make(tmp_path, "a.py", "build/b.py")
        (tmp_path / "latest").symlink_to("build")
        assert found(discover([tmp_path])) == ["a.py"]

    def test_a_link_to_nothing_is_an_error_where_it_claims_to_be_source(self, tmp_path: Path) -> None:
        (tmp_path / "gone.py").symlink_to("nowhere")
        (tmp_path / "round.py").symlink_to("round.py")
        (tmp_path / "data").symlink_to("nowhere")
        (tmp_path / ".#edited.py").symlink_to("user@host.1234")
        result = discover([tmp_path])
        assert result.files == ()
        assert [error.path for error in result.errors] == ["gone.py", "round.py"]
        assert all(error.message.startswith("cannot be read: ") for error in result.errors)

    def test_a_linked_root_keeps_its_name(self, tmp_path: Path) -> None:
        make(tmp_path, "real/a.py")
        (tmp_path / "link").symlink_to("real")
        result = discover([tmp_path / "link", tmp_path / "real"])
        assert found(result) == ["link/a.py"]


NAMES = st.sampled_from(["a", "b", "build", "c.py", "d.py", "n.ipynb", "1x"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tree=st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=8),
    links=st.lists(st.tuples(NAMES, NAMES), max_size=3),
    seed=st.integers(),
)
def test_the_order_of_folder_entries_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, tree: list[list[str]], links: list[tuple[str, str]], seed: int
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for parts in tree:
        path = root.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError:
            continue
    for name, target in links:
        if not os.path.lexists(root / name):
            (root / name).symlink_to(target)
    expected = discover([root])
    real: Callable[..., Any] = os.scandir

    class Shuffled:
        def __init__(self, path: str) -> None:
            with real(path) as entries:
                self.entries = list(entries)
            random.Random(seed).shuffle(self.entries)

        def __enter__(self) -> Any:
            return iter(self.entries)

        def __exit__(self, *_: object) -> None:
            pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", Shuffled)
        assert discover([root]) == expected
    assert found(expected) == sorted(set(found(expected)))
