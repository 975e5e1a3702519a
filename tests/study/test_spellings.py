"""Every way to write a use of JAX's, PyTorch's and Numba's compilers: the changeset is found, and rightly labelled."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hybridize.study.history import Repository
from hybridize.study.keyword import Keyword
from hybridize.study.mine import MineOptions, Miner
from hybridize.study.profile import built_in
from hybridize.study.store import connect
from hybridize.study.suggest import suggest_all

sys.path.insert(0, str(Path(__file__).parent))
from histories import History

ADD, REMOVE, ARGUMENT, SIGNATURE, MOVE = (
    *("add_decorator", "remove_decorator", "change_argument"),
    *("add_signature", "relocate"),
)
F = "def f(x):\n    return x\n"
G = "def g(x):\n    return f(x)\n"
M = "    return model\n"

JAX = [
    ("jax decorator", "import jax\n", F, "@jax.jit\n" + F, ADD),
    ("bare decorator", "from jax import jit\n", F, "@jit\n" + F, ADD),
    ("bare call", "from jax import jit\n", F + "h = f\n", F + "h = jit(f)\n", ADD),
    ("dotted call", "import jax\n", F + "h = f\n", F + "h = jax.jit(f)\n", ADD),
    ("renamed import", "from jax import jit as compiled\n", F + "h = f\n", F + "h = compiled(f)\n", ADD),
    ("module renamed", "import jax as j\n", F, "@j.jit\n" + F, ADD),
    ("partial", "import jax\nfrom functools import partial\n", F, "@partial(jax.jit, static_argnums=0)\n" + F, ADD),
    ("partial of bare", "from jax import jit\nfrom functools import partial\n", F, "@partial(jit)\n" + F, ADD),
    (
        "functools.partial",
        "import jax\nimport functools\n",
        F,
        "@functools.partial(jax.jit, static_argnames=('n',))\n" + F,
        ADD,
    ),
    ("pmap", "import jax\n", F, "@jax.pmap\n" + F, ADD),
    ("bare pmap call", "from jax import pmap\n", F + "h = f\n", F + "h = pmap(f)\n", ADD),
    ("older home", "from jax.api import jit\n", F, "@jit\n" + F, ADD),
    ("lambda", "import jax\n", "h = lambda x: x\n", "h = jax.jit(lambda x: x)\n", ADD),
    ("of a gradient", "import jax\n", F + "h = jax.grad(f)\n", F + "h = jax.jit(jax.grad(f))\n", ADD),
    ("decorator gone", "import jax\n", "@jax.jit\n" + F, F, REMOVE),
    ("bare decorator gone", "from jax import jit\n", "@jit\n" + F, F, REMOVE),
    ("bare call gone", "from jax import jit\n", F + "h = jit(f)\n", F + "h = f\n", REMOVE),
    (
        "argument on a line of its own",
        "import jax\nfrom functools import partial\n",
        "@partial(\n    jax.jit,\n    static_argnums=0,\n)\n" + F,
        "@partial(\n    jax.jit,\n    static_argnums=1,\n)\n" + F,
        ARGUMENT,
    ),
    (
        "names for numbers",
        "import jax\nfrom functools import partial\n",
        "@partial(jax.jit, static_argnums=0)\n" + F,
        "@partial(jax.jit, static_argnames='x')\n" + F,
        ARGUMENT,
    ),
    (
        "argument of a call",
        "from jax import jit\n",
        F + "h = jit(f)\n",
        F + "h = jit(f, donate_argnums=0)\n",
        ARGUMENT,
    ),
    ("to another function", "import jax\n", "@jax.jit\n" + F + G, F + "@jax.jit\n" + G, MOVE),
    (
        "a field of its own",
        "import jax\n",
        "class A:\n    def __init__(self):\n        pass\n    def go(self): pass\n",
        "class A:\n    def __init__(self):\n        self.go = jax.jit(self.go)\n    def go(self): pass\n",
        ADD,
    ),
    (
        "where asked for",
        "import jax\n",
        "def make(f, fast):\n    return f\n",
        "def make(f, fast):\n    return jax.jit(f) if fast else f\n",
        ADD,
    ),
    (
        "under a condition",
        "import jax\n",
        "def make(f, debug):\n    g = jax.jit(f)\n    return g\n",
        "def make(f, debug):\n    g = f\n    if not debug:\n        g = jax.jit(f)\n    return g\n",
        REMOVE,
    ),
    ("called at once", "import jax\n", F + "y = f(1)\n", F + "y = jax.jit(f)(1)\n", ADD),
    ("compiled ahead", "import jax\n", F + "c = f\n", F + "c = jax.jit(f).lower(1).compile()\n", ADD),
    ("decorator becomes call", "import jax\n", "@jax.jit\n" + F, F + "fast = jax.jit(f)\n", MOVE),
    (
        "to another method",
        "from jax import jit\n",
        "class A:\n    @jit\n    def a(self): pass\n    def b(self): pass\n",
        "class A:\n    def a(self): pass\n    @jit\n    def b(self): pass\n",
        MOVE,
    ),
]
TORCH = [
    ("decorator", "import torch\n", F, "@torch.compile\n" + F, ADD),
    ("called decorator", "import torch\n", F, "@torch.compile(fullgraph=True)\n" + F, ADD),
    ("call", "import torch\n", F + "h = f\n", F + "h = torch.compile(f)\n", ADD),
    ("bare call", "from torch import compile\n", F + "h = f\n", F + "h = compile(f)\n", ADD),
    ("keyword call", "import torch\n", "m = model\n", "m = torch.compile(model=model, dynamic=True)\n", ADD),
    ("in place", "import torch\n", f"def make(model):\n{M}", f"def make(model):\n    model.compile()\n{M}", ADD),
    (
        "in place, of a field",
        "from torch import nn\n",
        "class A:\n    def go(self):\n        self.net.eval()\n",
        "class A:\n    def go(self):\n        self.net.compile(mode='max-autotune')\n        self.net.eval()\n",
        ADD,
    ),
    ("in a comprehension", "import torch\n", "d = [n for n in nets]\n", "d = [torch.compile(n) for n in nets]\n", ADD),
    (
        "if there is one",
        "import torch\n",
        f"def go(model):\n{M}",
        f"def go(model):\n    if hasattr(torch, 'compile'):\n        model = torch.compile(model)\n{M}",
        ADD,
    ),
    (
        "no longer for a version only",
        "import torch\n",
        f"def go(model):\n    if torch.__version__ >= '2':\n        model = torch.compile(model)\n{M}",
        f"def go(model):\n    model = torch.compile(model)\n{M}",
        ADD,
    ),
    ("partial", "import torch\nfrom functools import partial\n", F, "@partial(torch.compile, dynamic=True)\n" + F, ADD),
    ("script", "import torch\n", F, "@torch.jit.script\n" + F, ADD),
    ("script of a module", "from torch import jit\n", F + "h = f\n", F + "h = jit.script(f)\n", ADD),
    ("decorator gone", "import torch\n", "@torch.compile\n" + F, F, REMOVE),
    ("script gone", "import torch\n", F + "h = torch.jit.script(f)\n", F + "h = f\n", REMOVE),
    (
        "in place, gone",
        "import torch\n",
        f"def make(model):\n    model.compile(fullgraph=True)\n{M}",
        f"def make(model):\n{M}",
        REMOVE,
    ),
    (
        "mode on a line of its own",
        "import torch\n",
        F + "h = torch.compile(\n    f,\n    mode='default',\n)\n",
        F + "h = torch.compile(\n    f,\n    mode='max-autotune',\n)\n",
        ARGUMENT,
    ),
    ("fullgraph", "import torch\n", "@torch.compile\n" + F, "@torch.compile(fullgraph=True)\n" + F, ARGUMENT),
    (
        "in place, dynamic",
        "import torch\n",
        f"def make(model):\n    model.compile()\n{M}",
        f"def make(model):\n    model.compile(dynamic=True)\n{M}",
        ARGUMENT,
    ),
    ("to another function", "import torch\n", "@torch.compile\n" + F + G, F + "@torch.compile\n" + G, MOVE),
]
NUMBA = [
    ("jit", "import numba\n", F, "@numba.jit\n" + F, ADD),
    ("njit", "from numba import njit\n", F, "@njit(cache=True)\n" + F, ADD),
    ("renamed module", "import numba as nb\n", F, "@nb.njit\n" + F, ADD),
    ("bare call", "from numba import jit\n", F + "h = f\n", F + "h = jit(f)\n", ADD),
    ("with a signature, called", "from numba import jit\n", F + "h = f\n", F + "h = jit('f8(f8)')(f)\n", ADD),
    ("vectorize", "from numba import vectorize, float64\n", F, "@vectorize([float64(float64)])\n" + F, ADD),
    ("cuda", "from numba import cuda\n", F, "@cuda.jit\n" + F, ADD),
    ("gone", "from numba import njit\n", "@njit\n" + F, F, REMOVE),
    ("signature", "from numba import njit\n", "@njit\n" + F, "@njit('f8(f8)')\n" + F, SIGNATURE),
    ("nopython", "from numba import jit\n", "@jit\n" + F, "@jit(nopython=True)\n" + F, ARGUMENT),
    (
        "parallel on a line of its own",
        "from numba import njit\n",
        "@njit(\n    parallel=False,\n)\n" + F,
        "@njit(\n    parallel=True,\n)\n" + F,
        ARGUMENT,
    ),
]
CASES = [(name, *case) for name, cases in (("jax", JAX), ("torch", TORCH), ("numba", NUMBA)) for case in cases]

NO_USES = [
    ("jax", "import jax\n", "jax.named_call(f)\n"),
    ("jax", "import mine\n", "mine.jit(f)\n"),
    ("torch", "import re\nimport torch\n", "re.compile(r'x')\n"),
    ("torch", "import re\nimport torch\n", "re.compile(pattern=r'x')\n"),
    ("torch", "import torch\nimport keras\n", "model.compile(optimizer='adam', loss='mse')\n"),
    ("torch", "import keras\n", "model.compile()\n"),
    ("numba", "import jax\n", "jax.jit(f)\n"),
]


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[str]]:
    """For each case the suggested labels, the main one first; one history a profile, two commits a case."""
    folder = tmp_path_factory.mktemp("spellings")
    found: dict[tuple[str, str], list[str]] = {}
    for profile, cases in (("jax", JAX), ("torch", TORCH), ("numba", NUMBA)):
        history = History.new(folder / profile)
        for number, (name, head, before, after, _) in enumerate(cases):
            history.commit(f"start {name}", {f"f{number}.py": head + before})
            history.commit(name, {f"f{number}.py": head + after})
        database = connect(folder / f"{profile}.db")
        Miner(database, Repository(history.path), profile, MineOptions(profile=built_in(profile))).run()
        database.execute("UPDATE item SET selected = 1")
        suggest_all(database, Keyword(built_in(profile)))
        for row in database.execute(
            "SELECT c.subject, s.kind FROM changeset c JOIN item i ON i.changeset_id = c.id JOIN suggestion s"
            " ON s.item = i.id WHERE c.touches_use ORDER BY s.is_primary DESC"
        ):
            found.setdefault((profile, row["subject"]), []).append(row["kind"])
    return found


@pytest.mark.parametrize(
    ("profile", "name", "label"), [(p, n, label) for p, n, *_, label in CASES], ids=[f"{c[0]}: {c[1]}" for c in CASES]
)
def test_a_spelling_is_found_and_rightly_labelled(mined, profile, name, label):
    assert mined[profile, name][0] == label


@pytest.mark.parametrize(("profile", "head", "line"), NO_USES)
def test_what_only_looks_like_a_use(profile, head, line):
    from hybridize.study.uses import find_uses

    assert find_uses(head + line, Keyword(built_in(profile))).uses == ()
