"""The API index: names as source code spells them, and what they mean."""

import importlib
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hybridize.library.index import (
    Entry,
    Parameter,
    bind,
    canonical,
    is_subclass,
    known_package,
    lookup,
    members,
    release_of,
    symbols,
    versions,
)
from hybridize.library.index.tables import DATA, TABLES, aliases_of

ROOT = Path(__file__).resolve().parents[2]


def entry(name: str, release: Any = None) -> Entry:
    found = lookup(name, release)
    assert found is not None, name
    return found


def names(parameters: tuple[Parameter, ...] | None) -> list[str]:
    return [p.name for p in parameters or ()]


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("tensorflow.math.add", "tf.math.add"),
        ("tensorflow.add", "tf.math.add"),
        ("tensorflow.compat.v1.add", "tf.math.add"),
        ("tensorflow.compat.v2.add", "tf.math.add"),
        ("tensorflow._api.v2.math.add", "tf.math.add"),
        ("tensorflow.matmul", "tf.linalg.matmul"),
        ("tensorflow.double", "tf.float64"),
        ("tensorflow.io.decode_image", "tf.io.decode_image"),
        ("tensorflow.image.decode_image", "tf.io.decode_image"),
        ("tensorflow.python.ops.math_ops.reduce_sum", "tf.math.reduce_sum"),
        ("tensorflow", "tf"),
        ("tensorflow.nn", "tf.nn"),
        ("numpy.abs", "np.absolute"),
        ("numpy.linalg.norm", "np.linalg.norm"),
        ("numpy.core.multiarray.array", "np.array"),
        ("numpy.double", "np.float64"),
    ],
)
def test_aliases_lead_to_the_canonical_name(spelled: str, expected: str) -> None:
    assert canonical(spelled) == expected
    assert entry(spelled).name == expected


@pytest.mark.parametrize(
    "road",
    [
        "keras",
        "tf_keras",
        "tensorflow.keras",
        "tensorflow.compat.v1.keras",
        "tensorflow.compat.v2.keras",
        "tensorflow.python.keras",
        "keras.api",
        "keras.api._v2.keras",
        "keras._tf_keras.keras",
        "tensorflow.keras.api._v2.keras",
    ],
)
def test_all_roads_to_keras_end_in_one_name(road: str) -> None:
    assert canonical(f"{road}.layers.Dense") == "keras.layers.Dense"
    assert canonical(f"{road}.models.Model") == "keras.Model"


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("tensorflow.losses.MeanSquaredError", "keras.losses.MeanSquaredError"),
        ("tensorflow.optimizers.Adam", "keras.optimizers.Adam"),
        ("tensorflow.python.keras.layers.recurrent.LSTM", "keras.layers.LSTM"),
        ("keras.src.layers.core.dense.Dense", "keras.layers.Dense"),
        ("keras.layers.core.Dense", "keras.layers.Dense"),
        ("keras.engine.topology.Layer", "keras.layers.Layer"),
        ("keras.engine.training.Model.fit", "keras.Model.fit"),
        ("keras.optimizers.legacy.adam.Adam", "keras.optimizers.legacy.Adam"),
        ("keras.utils.vis_utils.plot_model", "keras.utils.plot_model"),
    ],
)
def test_keras_is_found_through_tensorflow_and_through_its_inner_modules(spelled: str, expected: str) -> None:
    assert canonical(spelled) == expected


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("tensorflow.placeholder", "tf.compat.v1.placeholder"),
        ("tensorflow.train.AdamOptimizer", "tf.compat.v1.train.AdamOptimizer"),
        ("tensorflow.losses.log_loss", "tf.compat.v1.losses.log_loss"),
        ("tensorflow.Session.run", "tf.compat.v1.Session.run"),
        ("tensorflow.python.keras.optimizer_v2.adam.Adam", "keras.optimizers.Adam"),
        ("numpy.float", "builtins.float"),
        ("numpy.object", "builtins.object"),
        ("numpy.core.float32", "np.float32"),
    ],
)
def test_names_of_older_versions(spelled: str, expected: str) -> None:
    assert canonical(spelled) == expected


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("tensorflow.float32.max", "tf.dtypes.DType.max"),
        ("numpy.multiply.reduce", "np.ufunc.reduce"),
        ("keras.Model.__init__", "keras.Model.__init__"),
        ("tensorflow.keras.layers.Dense.__call__", "keras.layers.Layer.__call__"),
    ],
)
def test_members_of_values_and_special_methods(spelled: str, expected: str) -> None:
    assert entry(spelled).name == expected


def test_a_constructor_takes_what_the_class_takes() -> None:
    assert entry("keras.layers.Dense.__init__").parameters == entry("keras.layers.Dense").parameters


@pytest.mark.parametrize(
    "spelled",
    ["tensorflow.nonesuch", "tensorflow.math.add.real", "keras.layers.Nonesuch", "keras.layers.Dense.nonesuch",
     "keras.layers.Dense.core.Layer", "keras.nonesuch.Dense", "numpy.nonesuch", "tensorflow.python.framework.nonesuch"],
)  # fmt: skip
def test_an_unknown_name_of_a_known_package_keeps_its_normalized_spelling(spelled: str) -> None:
    assert lookup(spelled) is None
    assert members(spelled) == ()
    assert canonical(spelled) == spelled.replace("tensorflow", "tf").replace("numpy", "np")


def test_other_packages_are_none_of_its_business() -> None:
    assert known_package("tensorflow.add")
    assert known_package("tf_keras")
    assert not known_package("torch.add")
    assert not known_package("kerastuner.Tuner")
    assert lookup("torch.add") is None
    assert canonical("torch.add") == "torch.add"


@pytest.mark.parametrize("odd", ["", ".", "tensorflow.", "keras..layers", "tensorflow.compat", "tensorflow.compat.v1"])
def test_odd_names_and_prefixes_never_raise(odd: str) -> None:
    found = lookup(odd)
    assert found is None or found.kind == "module"
    canonical(odd)
    members(odd)


def test_canonical_names_are_fixed_points() -> None:
    for table in TABLES:
        for name, kind, releases in symbols(table):
            assert canonical(name) == name
            assert releases, (name, kind)


@pytest.mark.parametrize(
    ("spelled", "kind"),
    [
        ("tensorflow.math", "module"),
        ("tensorflow.reshape", "function"),
        ("tensorflow.Variable", "class"),
        ("tensorflow.float32", "dtype"),
        ("tensorflow.newaxis", "constant"),
        ("tensorflow.VariableAggregation.SUM", "constant"),
        ("tensorflow.Tensor.shape", "property"),
        ("tensorflow.data.Dataset.map", "method"),
        ("tensorflow.data.Dataset.from_tensor_slices", "staticmethod"),
        ("keras.layers.Layer.from_config", "classmethod"),
        ("numpy.add", "ufunc"),
        ("numpy.float32", "dtype"),
        ("numpy.pi", "constant"),
    ],
)
def test_kinds(spelled: str, kind: str) -> None:
    assert entry(spelled).kind == kind


def test_version_1_symbols_are_their_own_unless_they_are_the_same_object() -> None:
    assert entry("tensorflow.compat.v1.placeholder").name == "tf.compat.v1.placeholder"
    assert entry("tensorflow.compat.v1.layers.dense").releases == ("2.15",)
    v1 = entry("tensorflow.compat.v1.argmax")
    assert v1.name == "tf.compat.v1.math.argmax"
    assert "dimension" in names(v1.parameters)
    assert "dimension" not in names(entry("tensorflow.argmax").parameters)


def test_aliases_are_listed_on_demand() -> None:
    assert aliases_of("tf.math.add")[:2] == ("tf.add", "tf.compat.v1.add")
    assert aliases_of("keras.Model") == ("keras.models.Model",)
    assert "keras.models.Model.fit" in aliases_of("keras.Model.fit")


class TestParameters:
    def test_order_kinds_and_defaults(self) -> None:
        assert entry("tf.reshape").parameters == (
            Parameter("tensor", "positional"),
            Parameter("shape", "positional"),
            Parameter("name", "positional", "None"),
        )

    def test_defaults_name_public_objects_canonically(self) -> None:
        dtype = next(p for p in entry("tf.zeros").parameters or () if p.name == "dtype")
        assert dtype.default == "tf.float32"

    def test_a_class_takes_what_its_constructor_takes_without_self(self) -> None:
        assert names(entry("tensorflow.keras.layers.Dense").parameters)[:3] == ["units", "activation", "use_bias"]
        assert names(entry("tensorflow.Variable").parameters)[:2] == ["initial_value", "trainable"]

    def test_methods_leave_out_the_receiver(self) -> None:
        assert names(entry("tensorflow.data.Dataset.batch").parameters)[:2] == ["batch_size", "drop_remainder"]

    def test_ufuncs(self) -> None:
        parameters = entry("numpy.add").parameters or ()
        assert [p.kind for p in parameters[:2]] == ["positional_only"] * 2
        assert names(parameters)[:3] == ["x1", "x2", "out"]

    def test_functions_written_in_c_have_parameters_too(self) -> None:
        assert names(entry("numpy.array").parameters)[:2] == ["object", "dtype"]
        assert names(entry("numpy.random.normal").parameters) == ["loc", "scale", "size"]

    def test_almost_every_callable_has_parameters(self) -> None:
        kinds: Counter[str] = Counter()
        unknown = []
        for table in TABLES:
            for name, kind, _ in symbols(table):
                if kind in ("function", "class", "ufunc"):
                    kinds[kind] += 1
                    if entry(name).parameters is None:
                        unknown.append(name)
        assert kinds.total() > 5000
        assert len(unknown) < 10, unknown


class TestReleases:
    def test_a_symbol_tells_the_releases_that_have_it(self) -> None:
        assert entry("tensorflow.reshape").releases == ("2.15", "newest")
        assert entry("keras.ops.add").releases == ("newest",)
        assert entry("tensorflow.estimator.Estimator").releases == ("2.15",)

    def test_parameters_that_differ_are_all_kept_and_2_15_is_preferred(self) -> None:
        compile_ = entry("tensorflow.keras.Model.compile")
        assert names(compile_.parameters)[:4] == ["optimizer", "loss", "metrics", "loss_weights"]
        assert [names(p)[:4] for p in compile_.alternatives] == [["optimizer", "loss", "loss_weights", "metrics"]]

    def test_one_release_can_be_asked_for(self) -> None:
        newest = entry("tensorflow.keras.Model.compile", "newest")
        assert names(newest.parameters)[:4] == ["optimizer", "loss", "loss_weights", "metrics"]
        assert newest.alternatives == ()
        assert lookup("keras.ops.add", "2.15") is None
        assert lookup("tensorflow.estimator.Estimator", "newest") is None

    def test_release_of_a_version(self) -> None:
        assert [release_of(v) for v in ("2.0", "2.9.1", "2.15", "2.16", "2.21.0", "3.0")] == (
            ["2.15"] * 3 + ["newest"] * 3
        )

    def test_the_index_tells_what_it_was_made_from(self) -> None:
        assert versions()["2.15"]["tensorflow"].startswith("2.15.")
        assert versions()["newest"]["keras"].startswith("3.")
        assert versions()["newest"]["numpy"].startswith("2.")


class TestClasses:
    def test_bases_and_ancestors_by_release(self) -> None:
        assert entry("keras.Sequential").bases == ("keras.Model",)
        assert entry("keras.layers.Dense", "2.15").mro == ("keras.layers.Layer", "tf.Module")
        assert entry("keras.layers.Dense", "newest").mro == ("keras.layers.Layer", "keras.Operation")

    def test_subclasses(self) -> None:
        assert is_subclass("tensorflow.keras.Sequential", "keras.layers.Layer")
        assert is_subclass("keras.layers.LSTM", "tensorflow.keras.layers.RNN")
        assert is_subclass("tensorflow.keras.layers.Layer", "tf.Module")
        assert not is_subclass("keras.layers.Layer", "keras.Model")
        assert not is_subclass("torch.nn.Module", "keras.Model")

    def test_a_member_is_named_after_the_class_that_defines_it(self) -> None:
        assert entry("tensorflow.keras.Sequential.fit").name == "keras.Model.fit"
        assert entry("tensorflow.distribute.MirroredStrategy.run").name == "tf.distribute.Strategy.run"

    def test_what_only_eager_values_have_counts_as_theirs(self) -> None:
        assert entry("tensorflow.Tensor.numpy").kind == "method"
        assert "numpy" in members("tensorflow.Variable")

    def test_operators_are_members(self) -> None:
        assert {"__add__", "__getitem__", "__matmul__"} <= set(members("tensorflow.Tensor"))


def test_members_of_modules_and_classes() -> None:
    assert {"add", "reduce_sum", "keras", "nn", "Variable", "losses"} <= set(members("tensorflow"))
    assert {"Adam", "SGD", "schedules"} <= set(members("tensorflow.optimizers"))
    assert {"fit", "compile", "add", "get_layer", "add_weight"} <= set(members("keras.Sequential"))
    assert members("tensorflow.reshape") == ()


class TestBind:
    def test_positions_and_keywords_meet_their_parameters(self) -> None:
        bound = bind(entry("tf.reduce_sum"), ["x", 1], {"keepdims": True})
        assert bound.values == {"input_tensor": "x", "axis": 1, "keepdims": True}
        assert bound.fits
        assert bound.missing == ()
        assert bound.get("axis") == 1
        assert bound.get("name") is None

    def test_missing_and_superfluous_arguments_are_told(self) -> None:
        assert bind(entry("tf.reshape"), ["x"], {}).missing == ("shape",)
        assert not bind(entry("tf.reshape"), [1, 2, 3, 4], {}).fits
        wrong = bind(entry("tf.reshape"), ["x"], {"tensor": "y", "shape": [1], "nonesuch": 0})
        assert not wrong.fits
        assert wrong.values == {"tensor": "x", "shape": [1]}
        assert wrong.extra_keywords == {"nonesuch": 0}

    def test_stars_take_the_rest(self) -> None:
        bound = bind(entry("numpy.einsum"), ["ij,jk", "a", "b"], {"optimize": True})
        assert bound.fits
        assert bound.extra_positional == ("ij,jk", "a", "b")
        assert bound.values == {"optimize": True}
        assert bind(entry("keras.layers.Dense"), [3], {"input_shape": (2,)}).extra_keywords == {"input_shape": (2,)}

    def test_positional_only_parameters_have_no_keyword(self) -> None:
        assert not bind(entry("numpy.add"), [1], {"x2": 2}).fits

    def test_the_release_with_a_name_for_each_argument_is_taken(self) -> None:
        call = {"optimizer": "adam", "auto_scale_loss": True}
        bound = bind(entry("keras.Model.compile"), [], call)
        assert bound.fits
        assert bound.values == call


def run(code: str) -> list[str]:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


class TestLaziness:
    def test_importing_it_reads_no_data_and_imports_nothing_heavy(self) -> None:
        code = """
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import hybridize.library.index
heavy = {"zlib", "json", "tensorflow", "keras", "numpy", "hypothesis"}
print(*(heavy & set(sys.modules) - before))
print(*[o for o in opened if o.endswith(".zlib")])
"""
        assert run("before = set(sys.modules)\n" + code) == []

    def test_a_question_reads_only_what_it_needs(self) -> None:
        code = """
import os
opened = []
sys.addaudithook(lambda event, args: opened.append(os.path.basename(str(args[0]))) if event == "open" else None)
from hybridize.library.index import canonical, lookup
canonical("tensorflow.keras.layers.Dense"); canonical("tensorflow.keras.Model")
canonical("torch.add"); lookup("torch.add")
print(*[o for o in opened if o.endswith(".zlib")])
lookup("tensorflow.keras.layers.Dense")
print(*[o for o in opened if o.endswith(".zlib")])
"""
        assert run(code) == ["keras.names.zlib", "keras.names.zlib", "keras.records.zlib"]

    def test_the_data_is_small(self) -> None:
        assert sum(f.stat().st_size for f in Path(DATA).iterdir()) < 1_500_000


@pytest.fixture
def build_index(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("build_index")


class TestOutOfDate:
    """The check, against what an environment that differs from the index would tell."""

    def raw(self, record: dict[str, Any], name: str = "tf.reshape") -> dict[str, Any]:
        return {"tables": {"tensorflow": {"records": {name: record}, "aliases": {}}}}

    def told(self, build_index: Any, raw: dict[str, Any]) -> list[str]:
        return [line for line in build_index.differences(raw, "newest") if not line.endswith(": gone")]

    def test_nothing_to_tell(self, build_index: Any) -> None:
        same = {"k": "function", "p": ["tensor", "shape", "name=None"]}
        assert self.told(build_index, self.raw(same)) == []

    def test_another_parameter(self, build_index: Any) -> None:
        (line,) = self.told(build_index, self.raw({"k": "function", "p": ["tensor", "shape", "order=0", "name=None"]}))
        assert line.startswith("tf.reshape: takes ['tensor', 'shape', 'order', 'name']")

    def test_another_kind_and_a_new_symbol(self, build_index: Any) -> None:
        assert self.told(build_index, self.raw({"k": "class"})) == ["tf.reshape: is a class, the index says function"]
        assert self.told(build_index, self.raw({"k": "function"}, "tf.brand_new")) == ["tf.brand_new: not in the index"]

    def test_symbols_that_went(self, build_index: Any) -> None:
        assert "tf.linalg.matmul: gone" in build_index.differences(self.raw({"k": "function"}), "newest")


@pytest.mark.tensorflow
@pytest.mark.slow
def test_the_installed_tensorflow_agrees_with_the_index() -> None:
    """Judged by TensorFlow itself: what a public name is, and which parameters it takes."""
    pytest.importorskip("tensorflow")
    code = """
import importlib, inspect, json, os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
def walk(module, path, out, depth):
    for name in dir(module):
        if name.startswith("_") or (depth == 0 and name not in tf.__all__): continue
        value = getattr(module, name, None)
        if inspect.ismodule(value):
            if depth < 2 and name != "compat" and "_api" in str(getattr(value, "__name__", "")):
                walk(value, f"{path}.{name}", out, depth + 1)
        elif inspect.isfunction(value) or inspect.isclass(value):
            told = [p.name for p in inspect.signature(value).parameters.values()] if inspect.isfunction(value) else None
            out[f"{path}.{name}"] = (inspect.isclass(value), told)
found = {}
walk(tf, "tensorflow", found, 0)
for area in ("layers", "losses", "optimizers"): walk(getattr(tf.keras, area), f"tensorflow.keras.{area}", found, 2)
print(json.dumps([tf.__version__, found]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, found = json.loads(done.stdout.splitlines()[-1])
    release = release_of(version)
    if versions()[release]["tensorflow"] != version:
        pytest.skip(f"the index is for {versions()[release]['tensorflow']}, installed is {version}")
    sample = random.Random(0).sample(sorted(found), 300)
    for name in sample:
        is_class, told = found[name]
        known = entry(name, release)
        assert known.is_class == is_class, name
        if told is not None:
            assert names(known.parameters) == told, name
