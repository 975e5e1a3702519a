"""Names of modules, and which file an import means."""

from pathlib import Path

import pytest

from hybridize.source import FileRef, ImportTable, module_name
from hybridize.source.inputs import Asked, read_inputs
from hybridize.source.names import STDLIB_NAMES


def table(
    *files: str, src: tuple[str, ...] = (), root_name: str = "proj", external: frozenset[str] | None = None
) -> ImportTable:
    refs = [FileRef(f"/proj/{name}", name) for name in files]
    if external is None:
        return ImportTable(refs, src, root_name=root_name)
    return ImportTable(refs, src, root_name=root_name, external=external)


@pytest.mark.parametrize(
    ("relative", "name"),
    [
        ("a.py", "a"),
        ("1_Introduction/hello-world.py", "1_Introduction.hello-world"),
        ("p/__init__.py", "p"),
        ("p/q/__init__.py", "p.q"),
        ("src/p/m.py", "p.m"),
        ("src/p/__init__.py", "p"),
        ("src/deep/p/m.py", "p.m"),
        ("notebooks/train.ipynb", "notebooks.train"),
        ("bin/script", "bin.script"),
        ("__init__.py", "proj"),
    ],
)
def test_module_names(relative: str, name: str) -> None:
    assert module_name(relative, ("src", "src/deep"), "proj") == name


class TestIdentity:
    def test_every_file_has_an_id_of_its_own(self) -> None:
        files = ["p.py", "p/__init__.py", "p.ipynb", "src/p.py", "p/m.py", "p.m.py", "x/y.py"]
        modules = table(*files, src=("src",))
        ids = {name: modules.module_of(FileRef("", name)).id for name in files}
        assert len(set(ids.values())) == len(files)
        assert (ids["p/__init__.py"], ids["p.py"], ids["src/p.py"]) == ("p", "p.py", "src.p")
        assert {info.file.relative for info in modules.modules.values() if info.file} == set(files)

    def test_ids_do_not_depend_on_the_order_of_files(self) -> None:
        files = ["p.py", "p/__init__.py", "p.ipynb", "src/p.py"]
        assert table(*files).modules == table(*reversed(files)).modules

    def test_packages_are_known(self) -> None:
        modules = table("p/__init__.py", "p/m.py", "n/m.py").modules
        assert [modules[name].is_package for name in ("p", "p.m", "n", "n.m")] == [True, False, True, False]
        assert modules["n"].file is None


class TestRelativeImports:
    TABLE = table("p/__init__.py", "p/a.py", "p/q/__init__.py", "p/q/b.py", "p/n/c.py")

    @pytest.mark.parametrize(
        ("importing", "dotted", "level", "expected"),
        [
            ("p.a", "", 1, "p"),
            ("p.a", "q", 1, "p.q"),
            ("p.a", "q.b", 1, "p.q.b"),
            ("p", "a", 1, "p.a"),
            ("p.q", "b", 1, "p.q.b"),
            ("p.q.b", "a", 2, "p.a"),
            ("p.q", "", 2, "p"),
            ("p.a", "n.c", 1, "p.n.c"),
            ("p.n.c", "", 1, "p.n"),
            ("p.a", "a.b", 1, None),
            ("p.q.b", "x", 4, None),
        ],
    )
    def test_levels(self, importing: str, dotted: str, level: int, expected: str | None) -> None:
        assert self.TABLE.resolve(importing, dotted, level) == expected

    def test_a_package_beats_a_module_of_its_name(self) -> None:
        modules = table("p/__init__.py", "p/m.py", "p/m/__init__.py")
        assert modules.resolve("p", "m", 1) == "p.m"
        assert modules.modules["p.m"].is_package

    def test_in_a_project_whose_root_is_the_package(self) -> None:
        modules = table("__init__.py", "a.py", "q/b.py", root_name="pkg")
        assert modules.resolve("q.b", "a", 2) == "a"
        assert modules.resolve("a", "", 1) == "pkg"
        assert modules.submodule("pkg", "a") == "a"


class TestAbsoluteImports:
    def test_from_the_root(self) -> None:
        modules = table("p/__init__.py", "p/m.py", "main.py", "p/q/x.py")
        for importing in ("main", "p.m", "p.q.x", "p"):
            assert modules.resolve(importing, "p.m") == "p.m"
            assert modules.resolve(importing, "p.q.x") == "p.q.x"
            assert modules.resolve(importing, "p.nothing") is None
            assert modules.resolve(importing, "wandb") is None

    def test_from_the_scripts_own_folder_first(self) -> None:
        modules = table("1_Intro/utils.py", "1_Intro/run.py", "2_More/utils.py", "2_More/run.py", "utils.py", "run.py")
        assert modules.resolve("1_Intro.run", "utils") == "1_Intro.utils"
        assert modules.resolve("2_More.run", "utils") == "2_More.utils"
        assert modules.resolve("run", "utils") == "utils"

    def test_from_the_folders_above(self) -> None:
        modules = table("code/utils/data.py", "code/train/deep/run.py", "other/utils/data.py")
        assert modules.resolve("code.train.deep.run", "utils.data") == "code.utils.data"
        assert modules.resolve("code.train.deep.run", "utils") == "code.utils"

    def test_inside_a_package_what_is_outside_comes_first(self) -> None:
        modules = table("p/__init__.py", "p/m.py", "p/utils.py", "utils.py", "p/only.py")
        assert modules.resolve("p.m", "utils") == "utils"
        assert modules.resolve("p.m", "only") == "p.only", "a file of a package may still be run as a script"

    def test_from_source_roots(self) -> None:
        modules = table("src/p/__init__.py", "src/p/m.py", "tests/test_m.py", src=("src",))
        assert modules.resolve("tests.test_m", "p.m") == "p.m"
        assert modules.resolve("p.m", "p") == "p"

    def test_by_the_name_of_the_root(self) -> None:
        modules = table("__init__.py", "a.py", "q/b.py", root_name="pkg")
        assert modules.resolve("q.b", "pkg.a") == "a"
        assert modules.resolve("q.b", "pkg.q.b") == "q.b"
        assert modules.resolve("q.b", "pkg") == "pkg"

    def test_a_module_is_not_its_own_import(self) -> None:
        modules = table("loggers/wandb.py", "loggers/__init__.py", "loggers/gym/__init__.py")
        assert modules.resolve("loggers.wandb", "wandb") is None
        assert modules.resolve("loggers.gym", "gym") is None
        assert modules.resolve("loggers.wandb", "loggers.wandb") == "loggers.wandb", "unless by its whole name"
        assert modules.resolve("loggers", "loggers") == "loggers"


class TestLastResort:
    def test_the_only_module_whose_path_ends_so(self) -> None:
        modules = table("project/code/utils/data.py", "scripts/run.py")
        assert modules.resolve("scripts.run", "utils.data") == "project.code.utils.data"
        assert modules.resolve("scripts.run", "data") == "project.code.utils.data"
        assert modules.resolve("scripts.run", "utils") is None, "a bare folder name is too weak"

    def test_of_several_the_nearest(self) -> None:
        modules = table("a/lib/utils/data.py", "b/lib/utils/data.py", "a/bin/run.py", "c/run.py")
        assert modules.resolve("a.bin.run", "utils.data") == "a.lib.utils.data"
        assert modules.resolve("c.run", "utils.data") is None


class TestLibraries:
    EXTERNAL = frozenset({"tensorflow", "random", "code"})

    def test_a_folder_named_like_a_library_is_not_the_library(self) -> None:
        modules = table(
            "benchmarks/tensorflow/run.py",
            "benchmarks/run.py",
            "tensorflow/x.py",
            "tests/tensorflow/__init__.py",
            "tests/t.py",
            external=self.EXTERNAL,
        )
        for importing in ("benchmarks.run", "benchmarks.tensorflow.run", "tensorflow.x", "tests.t"):
            assert modules.resolve(importing, "tensorflow") is None
            assert modules.resolve(importing, "tensorflow.keras") is None

    def test_a_module_of_a_package_does_not_hide_the_standard_library(self) -> None:
        modules = table("utils/random.py", "utils/x.py", "run.py")
        assert modules.resolve("utils.x", "random") is None
        assert modules.resolve("utils.x", "utils.random") == "utils.random"
        assert modules.resolve("utils.x", "random", 1) == "utils.random"

    def test_what_shadows_a_library_on_the_import_path_is_taken(self) -> None:
        modules = table("tensorflow/__init__.py", "tensorflow/keras.py", "run.py", "code/m.py", external=self.EXTERNAL)
        assert modules.resolve("run", "tensorflow") == "tensorflow"
        assert modules.resolve("tensorflow", "tensorflow.keras") == "tensorflow.keras"
        assert modules.resolve("run", "code.m") == "code.m"

    def test_a_root_that_is_a_package_is_not_on_the_import_path(self) -> None:
        modules = table("__init__.py", "random.py", "a.py", root_name="tensorflow", external=self.EXTERNAL)
        assert modules.resolve("a", "random") is None
        assert modules.resolve("a", "tensorflow.random") == "random"
        assert modules.resolve("a", "tensorflow") == "tensorflow"


def test_submodules() -> None:
    modules = table("p/__init__.py", "p/m.py", "n/q/m.py")
    assert modules.submodule("p", "m") == "p.m"
    assert modules.submodule("n", "q") == "n.q"
    assert modules.submodule("p", "x") is None
    assert modules.submodule("p.m", "m") is None


class TestScriptFolders:
    """Python searches the folder of a script first: there a file may shadow a library."""

    def resolved(self, files: dict[str, str], importing: str, name: str = "keras") -> str | None:
        refs = [FileRef(f"/proj/{path}", path) for path in files]
        external = STDLIB_NAMES | {"tensorflow", "keras", "numpy"}
        return ImportTable(refs, root_name="proj", external=external, texts=files).resolve(importing, name)

    def test_a_file_beside_a_script_shadows(self) -> None:
        files = {"app/main.py": "import keras\n", "app/keras.py": "def f(): ...\n"}
        assert self.resolved(files, "app.main") == "app.keras"

    def test_a_file_of_another_folder_does_not(self) -> None:
        files = {"app/main.py": "import keras\n", "lib/keras.py": "def f(): ...\n"}
        assert self.resolved(files, "app.main") is None

    def test_a_file_of_a_package_does_not(self) -> None:
        files = {"p/__init__.py": "", "p/main.py": "import keras\n", "p/keras.py": "def f(): ...\n"}
        assert self.resolved(files, "p.main") is None
        files = {"p/__init__.py": "", "p/q/main.py": "import keras\n", "p/q/keras.py": "def f(): ...\n"}
        assert self.resolved(files, "p.q.main") is None

    def test_one_that_imports_its_own_name_means_the_library(self) -> None:
        files = {"app/main.py": "import keras\n", "app/keras.py": "import keras\n"}
        assert self.resolved(files, "app.main") is None

    def test_a_folder_without_init_loses_against_an_installed_package(self) -> None:
        files = {"app/main.py": "import keras.ops\n", "app/keras/ops.py": "def f(): ...\n"}
        assert self.resolved(files, "app.main", "keras.ops") is None

    def test_an_empty_package_of_a_librarys_name_is_a_folder_of_scripts(self) -> None:
        files = {"tensorflow/__init__.py": "# nothing\n", "tensorflow/main.py": "", "tensorflow/agents/__init__.py": ""}
        assert self.resolved(files, "tensorflow.main", "tensorflow") is None
        assert self.resolved(files, "tensorflow.main", "tensorflow.agents") == "tensorflow.agents"
        files["tensorflow/__init__.py"] = "def constant(x): ...\n"
        assert self.resolved(files, "tensorflow.main", "tensorflow") == "tensorflow"

    def test_what_an_editor_holds_counts_and_not_what_is_on_disk(self, tmp_path: Path) -> None:
        (tmp_path / "app").mkdir()
        (tmp_path / "app/main.py").write_text("import keras\n")
        (tmp_path / "app/keras.py").write_text("def f(): ...\n")
        asked, external = Asked(src=(".",)), STDLIB_NAMES | {"keras"}
        disk = read_inputs([tmp_path], asked, external)
        assert disk.imports.resolve("app.main", "keras") == "app.keras"
        open_ = read_inputs([tmp_path], asked, external, {str(tmp_path / "app/keras.py"): b"import keras\n"})
        assert open_.imports.resolve("app.main", "keras") is None

    def test_nothing_takes_the_place_of_the_standard_library_or_tensorflow(self) -> None:
        files = {"app/main.py": "", "app/random.py": "x = 1\n", "app/tensorflow.py": "x = 1\n"}
        assert self.resolved(files, "app.main", "random") is None
        assert self.resolved(files, "app.main", "tensorflow") is None
