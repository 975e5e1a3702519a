"""The sources of a project of a corpus: a folder that is there, or the files of a commit, out of a clone or fetched.

Of a commit only what an analysis may look into is taken, below the folder that is evaluated: no large file, no link.
"""

from __future__ import annotations

import base64
import io
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from hybridize.evaluate.corpus import Corpus, Project
from hybridize.guard import folder as new_folder

#: Bytes of a file at most: larger ones are data.
_LARGEST: Final = 4_000_000
#: Files that an analysis may look into: sources, and what says what a project runs on and what its files are for.
_KINDS: Final = frozenset(".py .pyi .ipynb .toml .cfg .ini .txt .md .rst .yml .yaml .in .lock".split())
#: Folders of tools.
_BESIDE: Final = frozenset((".git", "__pycache__", "node_modules"))
_BARE: Final = frozenset({"Dockerfile", "Pipfile", "README", "Makefile"})


class SourcesError(Exception):
    """The sources cannot be had; the text is one line."""


def address(repository: str) -> str:
    """What git clones for `owner/name`, or for an address as it is."""
    plain = repository.count("/") == 1 and ":" not in repository and not repository.startswith((".", "/", "~"))
    return f"https://github.com/{repository}.git" if plain else repository


def clone_of(project: Project, clones: Sequence[Path]) -> Path | None:
    """The git folder of a project's repository among folders of clones, if it has the commit."""
    owner, _, name = project.repository.removesuffix(".git").rpartition("/")
    owner = owner.rpartition("/")[2].rpartition(":")[2]
    forms = (f"{owner}+{name}/repo", f"{owner}+{name}", f"{owner}/{name}", f"{owner}__{name}", name)
    for folder in clones:
        for form in forms:
            for place in (folder / form, folder / f"{form}.git"):
                if place.is_dir() and _has(place, project.commit):
                    return place
    return None


def fetched(project: Project, cache: Path) -> Path:
    """A git folder with the commit, below a folder of such, to which it is fetched first; raises SourcesError."""
    place = cache / f"{project.repository.strip('/').replace('/', '+').replace(':', '+')}.git"
    if not _has(place, project.commit):
        place.mkdir(parents=True, exist_ok=True)
        run_git(place, "init", "--quiet", "--bare")
        run_git(place, "fetch", "--quiet", "--depth", "1", "--no-tags", address(project.repository), project.commit)
    return place


def export(git: Path, commit: str, folder: str, out: Path, *, data: bool = False) -> None:
    """Writes the files of a commit below one of its folders; what the clone lacks is left out. Raises SourcesError.

    With `data` all its files, not only those that an analysis may look into.
    """
    below = [] if folder in ("", ".") else [folder]
    rows = run_git(git, "ls-tree", "-r", "-z", "--full-tree", commit, "--", *below).split(b"\0")
    wanted: list[tuple[bytes, str]] = []
    for row in filter(None, rows):
        meta, _, raw = row.partition(b"\t")
        mode, kind, name = *meta.split()[:2], raw.decode("utf-8", "surrogateescape")
        if kind == b"blob" and mode != b"120000" and (data or _is_wanted(name)):
            wanted.append((meta.split()[2], name))
    if not wanted:
        raise SourcesError(f"{commit[:12]} has no sources below `{folder}`")
    prefix = len(PurePosixPath(folder).parts) if below else 0
    for name, content in _blobs(git, wanted, None if data else _LARGEST):
        path = out.joinpath(*PurePosixPath(name).parts[prefix:])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def files_of(folder: Path) -> Iterator[Path]:
    """The same files of a folder that is there, in order."""
    return (path for path in all_files(folder) if _is_wanted(path.name) and path.stat().st_size <= _LARGEST)


def all_files(folder: Path) -> Iterator[Path]:
    """Every file of a folder, in order, but for links and what belongs to tools."""
    for top, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name not in _BESIDE)
        yield from (path for name in sorted(files) if not (path := Path(top, name)).is_symlink())


def packed(folder: Path) -> str:
    """Them as text, to be sent."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files_of(folder):
            archive.write(path, path.relative_to(folder).as_posix())
    return base64.b64encode(data.getvalue()).decode("ascii")


def packed_commit(git: Path, commit: str, below: str) -> str:
    """Those of a commit below one of its folders."""
    with new_folder("hybridize-evaluate-") as out:
        export(git, commit, below, Path(out))
        return packed(Path(out))


def unpack(text: str, out: Path) -> None:
    """Writes the files that were packed."""
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(text))) as archive:
        archive.extractall(out)  # which lets no name lead out of the folder


def where(corpus: Corpus, project: Project, clones: Sequence[Path], cache: Path) -> dict[str, Any]:
    """Where the sources of a project are, as `lay` reads it: data that can be sent."""
    return {
        "name": project.name,
        "path": str(corpus.place(project)) if project.path else "",
        "repository": project.repository,
        "commit": project.commit,
        "folder": project.folder,
        "clones": [str(each.resolve()) for each in clones],
        "cache": str(cache),
    }


def lay(payload: Mapping[str, Any], out: Path, *, data: bool = False) -> None:
    """Writes the sources that a payload means to a folder of their own, so that nothing around it counts.

    Args:
        payload: `archive`, as `packed` makes it, or what `where` gives.
        out: the new folder.
        data: whether all files are taken (of an archive: what is in it), for a program to run.

    Raises:
        SourcesError: they cannot be had.
    """
    if payload.get("archive"):
        unpack(payload["archive"], out)
        return
    if payload.get("path"):
        place = Path(payload["path"])
        if not place.is_dir():
            raise SourcesError(f"{place}: not there")
        for path in all_files(place) if data else files_of(place):
            copy = out / path.relative_to(place)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        return
    project = Project(payload["name"], repository=payload["repository"], commit=payload["commit"])
    git = clone_of(project, [Path(each) for each in payload["clones"]]) or fetched(project, Path(payload["cache"]))
    export(git, project.commit, payload["folder"], out, data=data)


def _is_wanted(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix in _KINDS or path.name in _BARE


def _blobs(git: Path, wanted: Sequence[tuple[bytes, str]], largest: int | None) -> Iterator[tuple[str, bytes]]:
    names = b"".join(sha + b"\n" for sha, _ in wanted)
    data, at = run_git(git, "cat-file", "--batch", stdin=names), 0
    for _, name in wanted:
        end = data.index(b"\n", at)
        head, at = data[at:end].split(), end + 1
        if head[1] == b"missing":
            continue
        size = int(head[2])
        if largest is None or size <= largest:
            yield name, data[at : at + size]
        at += size + 1


def _has(git: Path, commit: str) -> bool:
    try:
        return git.is_dir() and run_git(git, "cat-file", "-t", commit).strip() == b"commit"
    except SourcesError:
        return False


def run_git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """What git prints; raises SourcesError with its last line."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env={**known, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"},
            check=False,
        )
    except OSError as error:
        raise SourcesError(f"git: {error.strerror}") from None
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SourcesError(f"git {arguments[0]} in {folder}: {last or f'exit code {done.returncode}'}")
    return done.stdout
