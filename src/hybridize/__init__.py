"""Decides which TensorFlow functions should run as graphs, says why, and makes the change."""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.api import FixError as FixError
    from hybridize.api import check as check
    from hybridize.api import describe as describe
    from hybridize.api import fix as fix
    from hybridize.api import schema as schema
    from hybridize.api import to_dict as to_dict
    from hybridize.config import Config as Config
    from hybridize.config import ConfigError as ConfigError
    from hybridize.config import load_config as load_config
    from hybridize.decide.model import Action as Action
    from hybridize.decide.model import Report as Report
    from hybridize.fixing.changes import Outcome as Outcome
    from hybridize.fixing.fixes import Fixes as Fixes
    from hybridize.live import explain as explain
    from hybridize.notebook import load_ipython_extension as load_ipython_extension
    from hybridize.report.lookup import TargetError as TargetError

#: What the package offers, and the module that has it: imported when it is first asked for, to keep the start cheap.
_HOMES = {
    "check": "hybridize.api",
    "fix": "hybridize.api",
    "explain": "hybridize.live",
    "describe": "hybridize.api",
    "to_dict": "hybridize.api",
    "schema": "hybridize.api",
    "Config": "hybridize.config",
    "load_config": "hybridize.config",
    "Report": "hybridize.decide.model",
    "Action": "hybridize.decide.model",
    "Fixes": "hybridize.fixing.fixes",
    "Outcome": "hybridize.fixing.changes",
    "ConfigError": "hybridize.config",
    "FixError": "hybridize.api",
    "TargetError": "hybridize.report.lookup",
    "load_ipython_extension": "hybridize.notebook",
}

__all__ = [
    "Action",
    "Config",
    "ConfigError",
    "FixError",
    "Fixes",
    "Outcome",
    "Report",
    "TargetError",
    "__version__",
    "check",
    "describe",
    "explain",
    "fix",
    "load_config",
    "load_ipython_extension",
    "schema",
    "to_dict",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
