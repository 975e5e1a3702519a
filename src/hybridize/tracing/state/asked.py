"""Functions that tell about the world outside: the environment, files and folders, loggers, states of objects."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Cell, Lit, Value, Wrapper
from hybridize.program import ir
from hybridize.tracing.state.writes import ENVIRONMENT, FILES, LOGGING
from hybridize.tracing.views import FrameView

GETATTR: Final = "builtins.getattr"
ATTRGETTER: Final = "operator.attrgetter.__call__"
READ_FILE: Final = "tf.io.read_file"
SAID: Final[dict[Cell, str]] = {
    ENVIRONMENT: "reads the environment",
    FILES: "reads a file or folder of a path that Python knows",
    LOGGING: "asks for the level of a logger",
}
_PROBES: Final = {
    "os.path": "exists lexists isfile isdir islink getsize getmtime getctime",
    "os": "listdir scandir walk stat access",
    "glob": "glob iglob",
    "pathlib.Path": "exists is_file is_dir is_symlink iterdir glob rglob stat read_text read_bytes",
    "tf.io.gfile": "exists isdir listdir glob stat walk",
    "tf.train": "latest_checkpoint get_checkpoint_state",
}
WORLD: Final[dict[str, Cell]] = {
    **dict.fromkeys(("os.getenv", "os.environ.get", "os._Environ.get"), ENVIRONMENT),
    **{f"{root}.{name}": FILES for root, names in _PROBES.items() for name in names.split()},
    READ_FILE: FILES,
    **dict.fromkeys(("logging.Logger.isEnabledFor", "logging.Logger.getEffectiveLevel"), LOGGING),
}


def attributes_asked(view: FrameView, instr: ir.Call) -> tuple[Value, set[str]]:
    """The objects that `getattr` or an `attrgetter` is called with, and the attributes that it reads of them."""
    names = (
        {o.const for o in view.value(instr.arguments[1][0]) if isinstance(o, Lit)}
        if len(instr.arguments) > 1
        else set()
    )
    for obj in view.value(instr.function):
        if isinstance(obj, Wrapper) and _deferred(obj) == ATTRGETTER:
            names |= {str(o.const).partition(".")[0] for _, value in obj.extra[1] for o in value if isinstance(o, Lit)}
    return view.value(instr.arguments[0][0]) if instr.arguments else frozenset(), {str(name) for name in names}


def names_asked(view: FrameView, slot: int) -> tuple[str, ...]:
    """The names of the library functions in a slot, those included that are made with their arguments beforehand."""
    made = [_deferred(o) for o in view.value(slot) if isinstance(o, Wrapper)]
    return (*view.names(slot), *(name for name in made if name))


def _deferred(obj: Wrapper) -> str:
    """The library function that a callable calls with arguments that it keeps; empty for other callables."""
    return obj.extra[0] if obj.kind == "decorator" and len(obj.extra) > 1 and isinstance(obj.extra[0], str) else ""
