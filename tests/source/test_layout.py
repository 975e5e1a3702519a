"""The folders that imports start from."""

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.source import find_src_roots, package_name
from hybridize.source.layout import name_of_root


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", '[tool.setuptools]\npackage-dir = {"" = "lib"}'),
        ("pyproject.toml", '[tool.setuptools.packages.find]\nwhere = ["lib"]'),
        ("pyproject.toml", '[tool.hatch.build.targets.wheel]\npackages = ["lib/pkg"]'),
        ("pyproject.toml", '[tool.hatch.build]\nsources = ["lib"]'),
        ("pyproject.toml", '[tool.poetry]\npackages = [{include = "pkg", from = "lib"}]'),
        ("pyproject.toml", '[tool.pdm.build]\npackage-dir = "lib"'),
        ("setup.cfg", "[options]\npackage_dir =\n    = lib\npackages = find:\n"),
        ("setup.cfg", "[options.packages.find]\nexclude = x\nwhere = lib\n"),
        ("setup.py", "setup(package_dir={'': 'lib'})"),
        ("setup.py", "setup(packages=find_packages(where='lib'))"),
        ("setup.py", "setup(packages=find_packages('lib'))"),
    ],
)
def test_packaging_files_are_read(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / "lib" / "pkg").mkdir(parents=True)
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert find_src_roots(tmp_path) == ("lib",)


def test_src_by_habit_unless_it_is_a_package(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    assert find_src_roots(tmp_path) == ("src",)
    (tmp_path / "src" / "__init__.py").touch()
    assert find_src_roots(tmp_path) == ()


def test_declared_folders_come_first(tmp_path: Path) -> None:
    for name in ("src", "a/b"):
        (tmp_path / name).mkdir(parents=True)
    assert find_src_roots(tmp_path, ["a/b/", str(tmp_path / "src"), "gone", "..", "."]) == ("a/b", "src")


@pytest.mark.parametrize(
    "text", ["[tool.setuptools\n", "[tool.x]\n[tool]\n", "[tool.poetry]\npackages = [1, {from = 2}]"]
)
def test_broken_files_say_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert find_src_roots(tmp_path) == ()


def test_the_name_of_a_package_counts_from_the_outermost_folder_with_an_init(tmp_path: Path) -> None:
    models = tmp_path / "src" / "shop" / "models"
    models.mkdir(parents=True)
    assert package_name(models) == ""
    for folder in (models, models.parent):
        (folder / "__init__.py").touch()
    assert package_name(models) == "shop.models"
    assert package_name(models.parent) == "shop"
    assert package_name(tmp_path) == ""


def test_a_package_by_itself_is_read_as_it_imports_itself(tmp_path: Path) -> None:
    """`hybridize check shop` decides as `hybridize check .` does, though the files import `shop.steps`."""
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "__init__.py").touch()
    (shop / "steps.py").write_text("import tensorflow as tf\ndef step(x):\n    return tf.tanh(x @ x)\n", "utf-8")
    (shop / "main.py").write_text(
        "import tensorflow as tf\nfrom shop.steps import step\nstep(tf.ones((2, 2)))\n", "utf-8"
    )
    for root in (tmp_path, shop):
        found = {f.facts.qualname: f for f in analyze([root], Config()).functions}
        assert found["step"].facts.reached, root


STEPS = {"steps.py": "def step(x): ...\n", "nets.py": "class Net: ...\n", "tools/plots.py": ""}


@pytest.mark.parametrize(
    ("main", "folder", "name"),
    [
        ("from agents.steps import step\nfrom agents import nets\n", "clone", "agents"),
        ("from agents.steps import (\n    step,\n)\nimport agents.tools.plots\n", "clone", "agents"),
        ("from agents import steps\n", "agents", "agents"),
        ("from agents import steps\n", "clone", ""),  # one module of that name may be anybody's
        ("from agents.steps import step\nfrom agents.nets import Other\n", "clone", ""),  # a library's `nets`
        ("from agents.steps import step\nfrom agents.layers import Dense\n", "clone", ""),
        ("from tools.steps import step\nfrom tools import nets\n", "clone", ""),  # a folder of the project
        ("from numpy.steps import step\nfrom numpy import nets\n", "clone", ""),
        ("from a.steps import step\nfrom a import nets\nimport b.steps, b.nets\nfrom b import nets\n", "clone", ""),
    ],
)
def test_imports_tell_what_a_folder_is_called(main: str, folder: str, name: str) -> None:
    assert name_of_root(Path(folder), {**STEPS, "main.py": main}, frozenset({"numpy"})) == name


def test_a_clone_under_another_name_is_read_as_it_imports_itself(tmp_path: Path) -> None:
    clone = tmp_path / "shop-main"
    clone.mkdir()
    (clone / "steps.py").write_text("import tensorflow as tf\ndef step(x):\n    return tf.tanh(x @ x)\n", "utf-8")
    (clone / "sizes.py").write_text("SIZE = 2\n", "utf-8")
    (clone / "main.py").write_text(
        "import tensorflow as tf\nfrom shop.sizes import SIZE\nfrom shop.steps import step\nstep(tf.ones((SIZE, 2)))\n",
        "utf-8",
    )
    found = {f.facts.qualname: f for f in analyze([clone], Config()).functions}
    assert found["step"].facts.reached
