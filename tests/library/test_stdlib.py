"""Models of the standard library and of other packages: names that exist, effects of each kind, values that flow on."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridize.api import analyze, debug
from hybridize.config import Config
from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import (
    BOTTOM,
    NONE_V,
    STR_V,
    Cell,
    Container,
    Heap,
    LibInst,
    Lit,
    Mod,
    Obj,
    Stream,
    Tup,
    Value,
    lib,
    literal,
    prim,
    stream,
    tensor,
    tup,
    unknown,
    wrapper,
)
from hybridize.library import registry
from hybridize.library.python.families import family_class, family_function
from hybridize.library.python.packages import MODULES
from hybridize.library.spec import Call, ClassSpec, Spec

EFFECTS = {
    "print",
    "io",
    "random",
    "clock",
    "environment",
    "mutate",
    "iterator",
    "state",
    "foreign_call",
    "unknown_call",
}
STANDARD = "numbers iteration collections_models definitions text io_models system concurrency testing".split()
LOADED = {name: importlib.import_module(name) for name in sorted({m for ms in MODULES.values() for m in ms})}
FUNCTIONS: dict[str, Spec] = {k: s for m in LOADED.values() for k, s in getattr(m, "FUNCTIONS", {}).items()}
CLASSES: dict[str, ClassSpec] = {k: s for m in LOADED.values() for k, s in getattr(m, "CLASSES", {}).items()}


# The tables -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(LOADED))
def test_every_model_is_found_under_its_package(name: str) -> None:
    for full in (*getattr(LOADED[name], "FUNCTIONS", {}), *getattr(LOADED[name], "CLASSES", {})):
        assert name in MODULES[full.partition(".")[0]], full


# Names that some supported Python has and another has not, what Python 2 had, and classes that models make up.
ELSEWHERE = set(
    "abc.update_abstractmethods copy.replace itertools.batched itertools.pairwise math.cbrt math.exp2 math.sumprod "
    "contextlib.chdir typing.override typing.reveal_type typing.assert_never typing.runtime typing.TypeVarTuple "
    "typing.NamedTuple functools.singledispatch.register "
    "typing.dataclass_transform typing.ByteString collections.abc.ByteString enum.EnumType enum.StrEnum operator.call "
    "types.get_original_bases random.binomialvariate sys.exception sys.set_int_max_str_digits "
    "sys.activate_stack_trampoline "
    "tokenize.open tomllib.load tomllib.loads resource.setrlimit statistics.correlation statistics.covariance "
    "statistics.linear_regression hashlib.Hash csv.Writer subprocess.CompletedProcess locale.getdefaultlocale "
    "threading.currentThread unittest.makeSuite inspect.get_annotations pathlib.Path.walk weakref.WeakMethod "
    "operator.iconcat "
    "typing.Container typing.is_typeddict logging.warn time.tzset time.clock inspect.getcallargs "
    "types.coroutine".split()
)
UNSPELLED = (
    "os.environ.__",
    "distutils.",
    "unittest.case.",
    "sys.stdout",
    "sys.stderr",
    "sys.stdin",
    "importlib.resources.",
    "argparse.Namespace.",
)
INSTALLED_ELSEWHERE = {"distutils"}


def standard_names() -> list[str]:
    import sys

    found = []
    for module in STANDARD:
        loaded = LOADED[f"hybridize.library.python.{module}"]
        for name in (*getattr(loaded, "FUNCTIONS", {}), *getattr(loaded, "CLASSES", {})):
            root = name.partition(".")[0]
            if root in sys.stdlib_module_names and root not in INSTALLED_ELSEWHERE:
                found.append(name)
    return found


def exists(name: str) -> bool:
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_every_name_of_the_standard_library_exists() -> None:
    gone = [
        name
        for name in standard_names()
        if name not in ELSEWHERE and not name.startswith(UNSPELLED) and not exists(name)
    ]
    # `collections.Mapping` and its kin moved to `collections.abc` in Python 3.10; old code still spells them so.
    assert [n for n in gone if not exists(n.replace("collections.", "collections.abc."))] == []


def test_effects_are_of_known_kinds() -> None:
    specs = [*FUNCTIONS.values(), *(s for c in CLASSES.values() for s in c.methods.values())]
    assert {e for s in specs for e in s.effects} | {e for c in CLASSES.values() for e in c.effects} <= EFFECTS


def test_every_model_has_a_rule() -> None:
    """Without a rule the default would add an unknown effect to what is known."""
    assert [name for name, spec in FUNCTIONS.items() if spec.rule is None] == []
    assert [f"{c}.{m}" for c, spec in CLASSES.items() for m, s in spec.methods.items() if s.rule is None] == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("logging.info", "print"),
        ("warnings.warn", "print"),
        ("sys.stdout.write", "print"),
        ("tqdm.tqdm.write", "print"),
        ("absl.logging.info", "print"),
        ("os.makedirs", "io"),
        ("shutil.copy", "io"),
        ("subprocess.run", "io"),
        ("sys.exit", "io"),
        ("pandas.read_csv", "io"),
        ("cv2.imwrite", "io"),
        ("wandb.log", "io"),
        ("random.random", "random"),
        ("random.shuffle", "random"),
        ("uuid.uuid4", "random"),
        ("secrets.token_hex", "random"),
        ("time.time", "clock"),
        ("time.sleep", "clock"),
        ("datetime.datetime.now", "clock"),
        ("os.getenv", "environment"),
        ("os.getcwd", "environment"),
        ("gc.collect", "state"),
        ("warnings.filterwarnings", "state"),
        ("matplotlib.pyplot.plot", "state"),
        ("sys.setrecursionlimit", "state"),
    ],
)
def test_known_effects(name: str, kind: str) -> None:
    spec = registry.function_spec(name)
    assert spec is not None
    assert kind in spec.effects


@pytest.mark.parametrize(
    "name",
    "math.sqrt itertools.chain functools.partial json.dumps re.sub copy.deepcopy os.path.join collections.namedtuple "
    "operator.add base64.b64encode scipy.special.expit sklearn.metrics.accuracy_score".split(),
)
def test_pure_functions_have_no_effects(name: str) -> None:
    spec = registry.function_spec(name)
    assert spec is not None
    assert spec.effects == ()


def test_families_answer_for_whole_packages() -> None:
    assert family_function("pytest.mark.my_own") is not None
    assert family_function("tensorflow_probability.math.unheard_of") is not None
    assert family_function("unheard.of") is None
    assert family_function("tensorflow_addons.layers.Unheard") is None
    found = family_class("tensorflow_addons.layers.Unheard")
    assert found is not None
    assert found.bases == ("keras.layers.Layer",)


# Nothing raises -----------------------------------------------------------------------------


class FakeCode:
    name = "<module>"
    path = "main.py"
    kind = "module"
    params = body = ()
    index: Any = None
    appends: Final[dict[int, Any]] = {}


class FakeFrame:
    """A frame that forgets what it is told."""

    runs = 1

    def __init__(self) -> None:
        self.step = self  # its own reader of cells
        self.volatile = False
        self.code = FakeCode()
        self.module = Mod("m", "m.py", None)
        self.kinds: set[str] = set()

    def computes(self, position: int, name: str) -> None:
        pass

    computes_else = computes_operator = computes

    def looks_at_arguments(self) -> None:
        pass

    def effect(self, kind: str, *rest: object) -> None:
        assert kind in EFFECTS | {"eager_only", "item"}
        self.kinds.add(kind)


class FakeEngine:
    """Answers every question of a rule, unknown where the real engine would have to work."""

    def __init__(self) -> None:
        self.cells = self.attributes = self.heap = self.calls = self.protocols = self.imports = self
        self.definitions = self.notes = self
        self.sites = itertools.count(1)

    def read(self, frame: Any, cell: Cell) -> Value:
        return cell.value

    def write(self, frame: Any, cell: Cell, value: Value, pos: int) -> None:
        cell.value = join(cell.value, value)

    def container(self, frame: Any, pos: int, kind: str, tag: str = "") -> Container:
        return Container(kind, (None, next(self.sites)), 0)

    def library_instance(self, frame: Any, pos: int, cls: str) -> LibInst:
        return LibInst(cls, (None, next(self.sites)), 0)

    def is_exact(self, frame: Any, container: Container) -> bool:
        return container.exact

    def items(self, frame: Any, obj: Heap) -> list[tuple[Any, Value]]:
        return [(name, cell.value) for name, cell in obj.fields.items()]

    def lose_exactness(self, container: Container) -> None:
        container.exact = False

    def elements(self, frame: Any, value: Value, pos: int) -> Value:
        return join_all([self._elements(obj) for obj in sorted(value, key=repr)])

    def _elements(self, obj: Obj) -> Value:
        match obj:
            case Tup():
                return join_all(list(obj.items))
            case Container():
                return self.values_of(None, obj)
            case Stream():
                return obj.element
        return unknown("an element").value

    def values_of(self, frame: Any, obj: Container) -> Value:
        return join_all([c.value for c in (*obj.fields.values(), *([obj.rest] if obj.rest else []))])

    def cells_of(self, frame: Any, obj: Container) -> list[Value]:
        return [self.values_of(frame, obj)]

    def keys_of(self, frame: Any, obj: Container) -> Value:
        return join_all([literal(key).value for key in obj.fields])

    def set_item_quietly(self, frame: Any, obj: Container, index: Value, value: Value, pos: int) -> None:
        for key in index:
            self.write(frame, obj.cell(key.const) if isinstance(key, Lit) else obj.rest_cell(), value, pos)

    def find_method(self, frame: Any, obj: Obj, name: str) -> Value:
        return BOTTOM

    def mark_dataclass(self, cls: Any) -> None:
        return None

    def backing(self, obj: Obj, method: str) -> Container:
        return self.container(None, 0, method)

    def shared(self, frame: Any, key: object, found_by: Any) -> Any:
        return found_by(frame)

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: unknown(name).value


def exact_list(*items: Value) -> Value:
    made = Container("list", (None, 0), 0)
    for i, item in enumerate(items):
        made.cell(i).value = item
    return made.value


def exact_dict(**items: Value) -> Value:
    made = Container("dict", (None, 0), 0)
    for key, item in items.items():
        made.cell(key).value = item
    return made.value


TENSOR = tensor("dense", "float32", (2, 3)).value


def odd_values() -> list[Value]:
    """Fresh values of all kinds, most of them not what a rule expects."""
    return [
        BOTTOM,
        NONE_V,
        STR_V,
        literal("a b").value,
        literal("--size").value,
        literal(-3).value,
        literal(2).value,
        literal(0.0).value,
        literal(True).value,
        prim("int", True).value,
        prim("bytes").value,
        TENSOR,
        tensor("ndarray", None, None).value,
        tensor("ndarray", "int32", ()).value,
        unknown("anything").value,
        tup([]).value,
        tup([literal("x").value, TENSOR]).value,
        stream("generator", TENSOR).value,
        stream("tuple", BOTTOM).value,
        lib("builtins.int").value,
        lib("math.sqrt").value,
        wrapper("partial", lib("math.sqrt").value, (), ()).value,
        exact_list(),
        exact_list(literal("a").value, literal("b").value),
        exact_list(tup([literal("a").value, TENSOR]).value),
        exact_dict(a=TENSOR),
        LibInst("pandas.Series", (None, 0), 0).value,
        LibInst("unheard.Of", (None, 0), 0).value,
        join(TENSOR, join(NONE_V, literal("q").value)),
        join(tup([TENSOR]).value, exact_list(TENSOR)),
    ]


KEYWORDS = (
    "key default type nargs action dest func args kwargs inplace n r repeat target name split with_info as_supervised "
    "batch_size fillvalue initial default_factory factory memo random_state label **"
).split()
places = st.integers(0, len(odd_values()) - 1)
RULES = [(name, spec.rule, False) for name, spec in FUNCTIONS.items()]
RULES += [(f"{c}.{m}", spec.rule, True) for c, cls in CLASSES.items() for m, spec in cls.methods.items()]
RULES += [(f"{c}.{p}", rule, True) for c, cls in CLASSES.items() for p, rule in cls.properties.items()]
RULES += [(c, cls.make, False) for c, cls in CLASSES.items() if cls.make is not None]
RULES += [(f"{c}.__call__", cls.call.rule, True) for c, cls in CLASSES.items() if cls.call is not None]


def give_all(args: list[Value], kwargs: dict[str, Value], rest: Value = BOTTOM) -> None:
    """Calls every rule with the same arguments: a rule gives a value, whatever it gets, and never raises."""
    for name, rule, is_method in RULES:
        receiver = LibInst(name.rpartition(".")[0], (None, 0), 0) if is_method else None
        assert rule is not None
        result = rule(Call(FakeEngine(), FakeFrame(), 0, name, list(args), dict(kwargs), receiver, rest))
        assert isinstance(result, frozenset), name
        assert all(isinstance(obj, Obj) for obj in result), name


@pytest.mark.parametrize("place", range(len(odd_values())))
def test_every_rule_takes_every_odd_value(place: int) -> None:
    give_all([odd_values()[place]], {})
    give_all([odd_values()[place]] * 3, {"key": odd_values()[place]})


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    places=st.lists(places, max_size=5),
    named=st.dictionaries(st.sampled_from(KEYWORDS), places, max_size=4),
    rest=st.none() | places,
)
def test_no_rule_raises_whatever_it_is_given(places: list[int], named: dict[str, int], rest: int | None) -> None:
    values = odd_values()
    give_all(
        [values[i] for i in places],
        {name: values[i] for name, i in named.items()},
        BOTTOM if rest is None else values[rest],
    )


# Whole programs -----------------------------------------------------------------------------


def side_effects(tmp_path: Path, source: str) -> dict[str, str]:
    """What the analysis says of the side effects of each function of a program."""
    (tmp_path / "main.py").write_text(source)
    report = analyze([tmp_path / "main.py"], Config())
    return {f.facts.id.rpartition(":")[2]: f.facts.python_side_effects.value.value for f in report.functions}


def flow(tmp_path: Path, source: str) -> str:
    (tmp_path / "main.py").write_text(source)
    return debug([tmp_path / "main.py"], Config(), "flow")


IMPORTS = """
import collections, contextlib, copy, functools, heapq, io, itertools, json, logging, math, operator, os, queue, random
import sys, threading, time, warnings
import dataclasses
from pathlib import Path
import tensorflow as tf
logger = logging.getLogger(__name__)
heap = []
jobs = queue.Queue()
shared = collections.deque()
"""
EFFECTFUL = {
    "logs": "logger.info('step')",
    "warns": "warnings.warn('slow')",
    "writes_out": "sys.stdout.write('.')",
    "writes_path": "Path('out').write_text('x')",
    "dumps": "json.dump({}, open('out', 'w'))",
    "draws": "random.random()",
    "reads_clock": "time.time()",
    "pushes": "heapq.heappush(heap, 1)",
    "puts": "jobs.put(1)",
    "appends": "shared.append(1)",
    "starts": "threading.Thread(target=print).start()",
    "reduces": "functools.reduce(lambda a, b: print(a), [1, 2])",
    "calls_partial": "functools.partial(print, 'x')()",
    "maps_print": "list(itertools.starmap(print, [(1, 2)]))",
    "makes_folder": "os.makedirs('out')",
    "sets": "operator.setitem(heap, 0, 1)",
}
PURE = {
    "computes": "math.sqrt(2.0)",
    "chains": "list(itertools.chain([1], [2]))",
    "joins_paths": "os.path.join('a', 'b')",
    "copies": "copy.deepcopy(heap).append(1)",
    "own_heap": "heapq.heappush([], 1)",
    "own_buffer": "io.StringIO().write('x')",
    "own_generator": "random.Random(0).random()",
    "sums": "functools.reduce(lambda a, b: a + b, [1, 2])",
    "counts": "collections.Counter('abc').most_common(1)",
    "dumps_text": "json.dumps({'a': 1})",
}


def program(lines: dict[str, str]) -> str:
    functions = "".join(f"def {name}(x):\n    {line}\n    return x + 1.0\n" for name, line in lines.items())
    return IMPORTS + functions + "".join(f"{name}(tf.ones([2]))\n" for name in lines)


def test_effects_through_the_standard_library_are_seen(tmp_path: Path) -> None:
    found = side_effects(tmp_path, program(EFFECTFUL))
    assert {name: found[name] for name in EFFECTFUL} == dict.fromkeys(EFFECTFUL, "yes")


def test_pure_uses_of_the_standard_library_are_pure(tmp_path: Path) -> None:
    found = side_effects(tmp_path, program(PURE))
    assert {name: found[name] for name in PURE} == dict.fromkeys(PURE, "no")


def test_an_unmodelled_call_is_not_no_effect(tmp_path: Path) -> None:
    found = flow(tmp_path, "import unheard\ndef f(x):\n    unheard.of(x)\nf(1)\n")
    assert "effect foreign_call unheard.of" in found


def arriving(tmp_path: Path, body: str) -> str:
    """What arrives at the parameter `value` of `use`."""
    source = IMPORTS + "def use(value):\n    return value\n" + body
    line = next(line for line in flow(tmp_path, source).splitlines() if " use(value=" in line)
    return line.partition("use(value=")[2].partition(") -> ")[0]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for a, b in itertools.zip_longest([tf.ones([2])], [1]): use(b)", "1 | None"),
        ("for item in itertools.chain([tf.ones([2])], [tf.ones([2])]): use(item)", "dense:float32[2]"),
        ("for item in itertools.islice([tf.ones([3])], 1): use(item)", "dense:float32[3]"),
        ("use(functools.partial(lambda a, b: b, 1)(tf.ones([3])))", "dense:float32[3]"),
        ("use(functools.reduce(lambda a, b: a + b, [tf.ones([3]), tf.ones([3])]))", "dense:float32[3]"),
        ("use(operator.itemgetter(1)((1, tf.ones([3]))))", "dense:float32[3]"),
        ("use(operator.add(tf.ones([3]), 1.0))", "dense:float32[3]"),
        ("use(collections.deque([tf.ones([3])]).popleft())", "dense:float32[3]"),
        ("use(copy.deepcopy([tf.ones([3])])[0])", "dense:float32[3]"),
        ("use(math.sqrt(4))", "2.0"),
        ("use(int(math.log2(8)))", "3"),
        ("with contextlib.nullcontext(tf.ones([3])) as v: use(v)", "dense:float32[3]"),
        ("jobs.put(tf.ones([3])); use(jobs.get())", "dense:float32[3]"),
        ("Pair = collections.namedtuple('Pair', 'a b')\nuse(Pair(1, tf.ones([3])).b)", "dense:float32[3]"),
        ("@functools.lru_cache(maxsize=None)\ndef f(x): return x\nuse(f(tf.ones([3])))", "dense:float32[3]"),
        ("@functools.wraps(use)\ndef f(x): return x\nuse(f(tf.ones([3])))", "dense:float32[3]"),
        (
            "@dataclasses.dataclass\nclass C:\n    x: object\n    y: int = 1\n"
            "use(dataclasses.replace(C(1), x=tf.ones([3])).x)",
            "dense:float32[3]",
        ),
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--size', type=int, default=3)\n"
            "use(p.parse_args().size)",
            "<int>",
        ),
        ("import tqdm\nfor item in tqdm.tqdm([tf.ones([3])]): use(item)", "dense:float32[3]"),
        (
            "import concurrent.futures\nuse(concurrent.futures.ThreadPoolExecutor().submit(lambda "
            "x: x, tf.ones([3])).result())",
            "dense:float32[3]",
        ),
        ("import pandas as pd\nuse(pd.read_csv('x').values)", "ndarray:?[?]"),
    ],
)
def test_values_flow_through(tmp_path: Path, body: str, expected: str) -> None:
    assert arriving(tmp_path, body) == expected


def test_callbacks_are_called(tmp_path: Path) -> None:
    body = "threading.Thread(target=use, args=(tf.ones([3]),)).start()\n"
    assert arriving(tmp_path, body) == "dense:float32[3]"


def test_main_functions_are_called(tmp_path: Path) -> None:
    body = "from absl import app\ndef main(argv):\n    use(argv)\napp.run(main)\n"
    assert arriving(tmp_path, body).startswith("<list")
