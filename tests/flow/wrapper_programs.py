"""Programs that wrap `tf.function` in ways of their own, each with what is so when it runs.

Each calls `step` three times with a tensor. `TRACES` gets, at each run of its body, whether that runs eagerly.
"""

from __future__ import annotations

from typing import Final

from hybridize.records import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """`text`, what it says of `step`: hybrid, and whether only under a condition; and which options a wrapper gives."""

    text: str
    hybrid: bool = True
    conditional: bool = False
    given: tuple[str, ...] = ()


_HEAD: Final = "import functools\nimport os\nimport types\nimport tensorflow as tf\nTRACES = []\n"
_BODY: Final = """\
    TRACES.append(tf.executing_eagerly())
    y = tf.matmul(x, x)
    return tf.reduce_sum(tf.nn.relu(y) + tf.sin(x))
"""
_CALLS: Final = "for _ in range(3):\n    step(tf.ones([3, 3]))\n"


def _program(before: str, decorator: str) -> str:
    return f"{_HEAD}{before}{decorator}\ndef step(x):\n{_BODY}{_CALLS}"


def _method(before: str, decorator: str) -> str:
    body = "".join(f"    {line}\n" for line in _BODY.splitlines())
    made = "m = M()\nfor _ in range(3):\n    m.step(tf.ones([3, 3]))\n"
    return f"{_HEAD}{before}class M:\n    {decorator}\n    def step(self, x):\n{body}{made}"


_FLAG: Final = "GRAPHS = os.environ.get('NO_GRAPHS') is None\n"

PROGRAMS: Final = {
    "an alias": Program(_program("function = tf.function\n", "@function")),
    "a static method": Program(_program("class ops:\n    function = staticmethod(tf.function)\n", "@ops.function")),
    "a partial": Program(
        _program("jit = functools.partial(tf.function, reduce_retracing=True)\n", "@jit"), given=("reduce_retracing",)
    ),
    "a configured decorator": Program(
        _program("jit = tf.function(reduce_retracing=True)\n", "@jit"), given=("reduce_retracing",)
    ),
    "a signature that the wrapper gives": Program(
        _program("jit = functools.partial(tf.function, input_signature=[tf.TensorSpec([None, 3])])\n", "@jit"),
        given=("input_signature",),
    ),
    "a flag that is set": Program(
        _program("GRAPHS = True\ndef jit(f=None, **kw):\n    return tf.function(f, **kw) if GRAPHS else f\n", "@jit")
    ),
    "a flag that is not set": Program(
        _program("GRAPHS = False\ndef jit(f):\n    return tf.function(f) if GRAPHS else f\n", "@jit"), hybrid=False
    ),
    "a flag that nobody knows": Program(
        _program(_FLAG + "def jit(f=None, **kw):\n    return tf.function(f, **kw) if GRAPHS else f\n", "@jit"),
        conditional=True,
    ),
    "a decorator that a flag chooses": Program(
        _program(_FLAG + "jit = tf.function if GRAPHS else (lambda f: f)\n", "@jit"), conditional=True
    ),
    "modes by name": Program(
        _program("MODES = {'eager': lambda f: f, 'graph': tf.function}\nMODE = 'graph'\n", "@MODES[MODE]")
    ),
    "modes by a name that nobody knows": Program(
        _program(
            "MODES = {'eager': lambda f: f, 'graph': tf.function}\nMODE = os.environ.get('MODE', 'graph')\n",
            "@MODES[MODE]",
        ),
        conditional=True,
    ),
    "the settings of an object": Program(
        _program(
            "class Settings:\n    graphs = True\ncfg = Settings()\ndef use(graphs):\n    cfg.graphs = graphs\n"
            "use(os.environ.get('NO_GRAPHS') is None)\n"
            "def jit(f=None, **kw):\n    return tf.function(f, **kw) if cfg.graphs else f\n",
            "@jit",
        ),
        conditional=True,
    ),
    "a factory": Program(
        _program("def jit(**kw):\n    def give(f):\n        return tf.function(f, **kw)\n    return give\n", "@jit()")
    ),
    "arguments that may be left out": Program(
        _program(
            "def jit(f=None, **kw):\n    if f is None:\n        return lambda g: jit(g, **kw)\n"
            "    return tf.function(f, **kw)\n",
            "@jit(reduce_retracing=True)",
        ),
        given=("reduce_retracing",),
    ),
    "arguments that may be left out, by a partial": Program(
        _program(
            "def jit(f=None, *, xla=False):\n    if f is None:\n        return functools.partial(jit, xla=xla)\n"
            "    return tf.function(f, jit_compile=xla)\n",
            "@jit(xla=False)",
        )
    ),
    "a graph that is made at the first call": Program(
        _program(
            "def jit(f):\n    graph = None\n    @functools.wraps(f)\n    def wrapper(*a, **k):\n"
            "        nonlocal graph\n        if graph is None:\n            graph = tf.function(f)\n"
            "        return graph(*a, **k)\n    return wrapper\n",
            "@jit",
        )
    ),
    "graphs in a cache": Program(
        _program(
            "CACHE = {}\ndef jit(f):\n    @functools.wraps(f)\n    def wrapper(x):\n        key = (f, x.shape.rank)\n"
            "        if key not in CACHE:\n            CACHE[key] = tf.function(f, reduce_retracing=True)\n"
            "        return CACHE[key](x)\n    return wrapper\n",
            "@jit",
        ),
        given=("reduce_retracing",),
    ),
    "functools as the cache": Program(
        _program(
            "@functools.lru_cache(maxsize=None)\ndef made(f):\n    return tf.function(f)\ndef jit(f):\n"
            "    @functools.wraps(f)\n    def wrapper(*a):\n        return made(f)(*a)\n    return wrapper\n",
            "@jit",
        )
    ),
    "a wrapper that counts": Program(
        _program(
            "def jit(f):\n    graph = tf.function(f)\n    calls = []\n    @functools.wraps(f)\n    def wrapper(*a):\n"
            "        calls.append(1)\n        return graph(*a)\n    return wrapper\n",
            "@jit",
        )
    ),
    "eager where the caller asks for it": Program(
        _program(
            "def jit(f):\n    graph = tf.function(f)\n    @functools.wraps(f)\n    def wrapper(*a, eager=False):\n"
            "        if eager:\n            return f(*a)\n        return graph(*a)\n    return wrapper\n",
            "@jit",
        )
    ),
    "eager inside of graphs": Program(
        _program(
            "def function(*args, **kwargs):\n    autodeps = kwargs.pop('autodeps', True)\n    def give(f):\n"
            "        graph = tf.function(*args, **kwargs)(f)\n        @functools.wraps(f)\n"
            "        def inner(*a, **k):\n            if tf.executing_eagerly():\n"
            "                return graph(*a, **k)\n            return f(*a, **k)\n        return inner\n"
            "    if len(args) == 1 and not kwargs and callable(args[0]):\n        f = args[0]\n        args = ()\n"
            "        return give(f)\n    return give\n",
            "@function",
        )
    ),
    "an object that calls": Program(
        _program(
            "class Jit:\n    def __init__(self, f):\n        self.graph = tf.function(f)\n        self.calls = 0\n"
            "    def __call__(self, *a, **k):\n        self.calls += 1\n        return self.graph(*a, **k)\n",
            "@Jit",
        )
    ),
    "an object that makes the graph late": Program(
        _program(
            "class Jit:\n    def __init__(self, f):\n        self.f = f\n        self.graph = None\n"
            "    def __call__(self, *a):\n        if self.graph is None:\n"
            "            self.graph = tf.function(self.f)\n"
            "        return self.graph(*a)\n",
            "@Jit",
        )
    ),
    "an object with options": Program(
        _program(
            "class Jit:\n    def __init__(self, **kw):\n        self.kw = kw\n    def __call__(self, f):\n"
            "        return tf.function(f, **self.kw)\n",
            "@Jit(reduce_retracing=True)",
        ),
        given=("reduce_retracing",),
    ),
    "a descriptor": Program(
        _method(
            "class Jit:\n    def __init__(self, f):\n        self.graph = tf.function(f)\n"
            "    def __get__(self, obj, owner=None):\n        return types.MethodType(self.graph, obj)\n",
            "@Jit",
        )
    ),
    "a descriptor with a graph for each object": Program(
        _method(
            "class Jit:\n    def __init__(self, f):\n        self.f = f\n"
            "    def __get__(self, obj, owner=None):\n        graph = tf.function(self.f.__get__(obj, owner))\n"
            "        setattr(obj, self.f.__name__, graph)\n        return graph\n",
            "@Jit",
        )
    ),
    "a wrapper around the graph": Program(
        _program(
            "def timed(f):\n    @functools.wraps(f)\n    def wrapper(*a, **k):\n        return f(*a, **k)\n"
            "    return wrapper\ndef jit(f):\n    return timed(tf.function(f))\n",
            "@jit",
        )
    ),
    "a stand-in where TensorFlow lacks it": Program(
        _program(
            "try:\n    jit = tf.function\nexcept AttributeError:\n    def jit(f=None, **kw):\n"
            "        return f if f is not None else (lambda g: g)\n",
            "@jit",
        ),
        conditional=True,
    ),
    "a stand-in for the first TensorFlow": Program(
        _program(
            "def stand_in(*args, **kwargs):\n    if len(args) == 1 and not kwargs and callable(args[0]):\n"
            "        print('no graphs here')\n        return args[0]\n    def give(f):\n"
            "        print('no graphs here')\n        return f\n    return give\n"
            "jit = stand_in if tf.__version__[0] == '1' else tf.function\n",
            "@jit",
        ),
        conditional=True,
    ),
    "a stand-in for all of TensorFlow": Program(
        _program(
            "try:\n    import tensorflow as tf\nexcept ImportError:\n    class tf:\n        @staticmethod\n"
            "        def function(f=None, **kw):\n            return f if f is not None else (lambda g: g)\n",
            "@tf.function",
        ),
        conditional=True,
    ),
}
