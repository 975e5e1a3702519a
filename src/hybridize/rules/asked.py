"""Functions that tell about the world outside: the environment, files and folders, loggers, states of objects."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Cell
from hybridize.rules.writes import ENVIRONMENT, FILES, LOGGING

GETATTR: Final = "builtins.getattr"
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
