"""The corpus of public projects: its file, its halves, where things are kept, the environments and trees made of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[1] / "benchmarks" / "projects.toml"
PATTERNS = ("test_*.py", "*_test.py", "*_tests.py")
HALVES = ("develop", "measure")


@dataclass(frozen=True, slots=True)
class Project:
    """One public project; all paths are relative to its root."""

    name: str
    repository: str  # owner/name
    commit: str
    tensorflow: str  # the key of an environment
    packages: Sequence[str] = ()  # what its tests need besides the environment's
    fix: Sequence[str] = (".",)  # what `fix` is applied to
    path: Sequence[str] = (".",)  # what imports start from
    tests: Sequence[str] = (".",)  # folders and files
    deselected: Mapping[str, str] = field(default_factory=dict)  # node id, or file -> reason
    arguments: Sequence[str] = ()  # of pytest
    variables: Mapping[str, str] = field(default_factory=dict)
    installed: bool = (
        False  # its metadata is asked for at run time: installed without dependencies, the tree comes first
    )
    folder: str = "."  # the part of the repository that is the project
    seen: bool = False  # of the half `measure`, and looked into since

    @property
    def half(self) -> str:
        """`develop` or `measure`: the lowest bit of the first byte of the SHA-256 of "owner/name", but for `seen`."""
        return HALVES[0 if self.seen else hashlib.sha256(self.repository.encode()).digest()[0] & 1]


@dataclass(frozen=True, slots=True)
class Environment:
    """What several projects share: an interpreter (`python3.11`) and packages."""

    python: str
    packages: Sequence[str]


@dataclass(frozen=True, slots=True)
class Corpus:
    """All of the corpus file."""

    projects: Mapping[str, Project]
    environments: Mapping[str, Environment]

    def chosen(self, names: Sequence[str], half: str | None = None) -> list[Project]:
        """The projects of these names (all if none), in the file's order; raises SystemExit for an unknown name."""
        unknown = [name for name in names if name not in self.projects]
        if unknown:
            raise SystemExit(f"no such project: {', '.join(unknown)}")
        found = [p for p in self.projects.values() if not names or p.name in names]
        return [p for p in found if half is None or p.half == half]


def load(path: Path = CORPUS) -> Corpus:
    """The corpus; raises SystemExit where the file is not of the form."""
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    environments = {key: Environment(**entry) for key, entry in data.get("environment", {}).items()}
    projects: dict[str, Project] = {}
    for entry in data.get("project", []):
        try:
            project = Project(**entry)
        except TypeError as problem:
            raise SystemExit(f"{path}: {entry.get('name')}: {problem}") from None
        if project.tensorflow not in environments or project.name in projects:
            raise SystemExit(f"{path}: {project.name}: named twice, or no environment {project.tensorflow!r}")
        projects[project.name] = project
    return Corpus(projects, environments)


@dataclass(frozen=True, slots=True)
class Home:
    """The folder that holds all that is made: `src`, `env`, `work` and `results`; nothing of it is committed."""

    root: Path
    mirror: str | None = None  # a path with {owner} and {name}, instead of the public address

    def source(self, project: Project) -> Path:
        """The clone."""
        return self.root / "src" / project.name

    def python(self, project: Project) -> Path:
        """The interpreter of the project's own environment."""
        return self.root / "env" / project.name / "bin" / "python"

    def work(self, project: Project) -> Path:
        """Where its copies are."""
        return self.root / "work" / project.name

    def result(self, label: str, project: Project, mode: str) -> Path:
        """The result of a run."""
        return self.root / "results" / label / f"{project.name}.{mode}.json"


def _call(*command: str | Path, folder: Path | None = None) -> str:
    """The output of a command; raises CalledProcessError."""
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, check=True, capture_output=True, text=True, timeout=1800
    )
    return done.stdout


def check_out(home: Home, project: Project) -> None:
    """The clone, at the commit; a mirror may lack large data files, which are then missing in the tree, too."""
    target = home.source(project)
    owner, name = project.repository.split("/")
    if not (target / ".git").exists():
        address = f"https://github.com/{project.repository}"
        if home.mirror is not None:
            found = Path(home.mirror.format(owner=owner, name=name))
            address = str(found / ".git" if (found / ".git").exists() else found)
        _call("git", "clone", "--quiet", "--no-checkout", address, target)
    if _call("git", "rev-parse", "HEAD", folder=target).strip() != project.commit:
        _call("git", "update-ref", "--no-deref", "HEAD", project.commit, folder=target)
    _call("git", "read-tree", "HEAD", folder=target)
    variables = {**os.environ, "GIT_LFS_SKIP_SMUDGE": "1"}
    subprocess.run(["git", "checkout-index", "-a", "-f", "-q"], cwd=target, env=variables, capture_output=True)


def make_base(home: Home, key: str, environment: Environment) -> Path:
    """The shared environment, with `constraints.txt` beside it: what is in it stays as it is."""
    folder = home.root / "env" / f"base-{key}"
    constraints = folder / "constraints.txt"
    if not constraints.exists():
        python = shutil.which(environment.python)
        if python is None:
            raise SystemExit(f"{environment.python} is not installed")
        _call(python, "-m", "venv", folder)
        _call(folder / "bin" / "pip", "install", "--quiet", *environment.packages)
        constraints.write_text(_call(folder / "bin" / "pip", "freeze"), encoding="utf-8")
    return folder


def make_environment(home: Home, project: Project, environment: Environment) -> None:
    """An environment of the project's own that sees the shared one's packages and adds to them."""
    base = make_base(home, project.tensorflow, environment)
    folder = home.python(project).parents[1]
    stamp, wanted = folder / "packages", "\n".join([project.tensorflow, *project.packages, str(project.installed)])
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    python = base / "bin" / "python"
    _call(python, "-m", "venv", "--without-pip", folder)
    version = _call(python, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])").strip()
    site = folder / "lib" / version / "site-packages"
    (site / "base.pth").write_text(f"{base / 'lib' / version / 'site-packages'}\n", encoding="utf-8")
    pip: list[str | Path] = [base / "bin" / "pip", "--python", home.python(project), "install", "--quiet"]
    if project.packages:
        _call(*pip, "-c", base / "constraints.txt", *project.packages)
    if project.installed:
        _call("env", "SETUPTOOLS_SCM_PRETEND_VERSION=1.0", *pip, "--no-deps", home.source(project) / project.folder)
    stamp.write_text(wanted, encoding="utf-8")


def prepare(home: Home, corpus: Corpus, project: Project) -> None:
    """The clone and the environment."""
    home.source(project).parent.mkdir(parents=True, exist_ok=True)
    check_out(home, project)
    make_environment(home, project, corpus.environments[project.tensorflow])


def fresh_copy(home: Home, project: Project, name: str) -> Path:
    """A new copy of the project's tree (with an empty repository, as its root would be found), and its root."""
    target = home.work(project) / name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        home.source(project), target, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__", "*.ipynb")
    )
    _call("git", "init", "--quiet", target)
    return target / project.folder


def test_files(project: Project, root: Path) -> list[str]:
    """The test files, in alphabetical order of their paths: the order in which a time budget is spent."""
    found: set[Path] = set()
    for part in project.tests:
        place = root / part
        found.update([place] if place.is_file() else (f for p in PATTERNS for f in place.rglob(p)))
    names = sorted(path.relative_to(root).as_posix() for path in found)
    return [name for name in names if name not in project.deselected and "/.git/" not in name]
