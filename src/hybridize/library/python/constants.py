"""Names of the standard library and of other packages that are plain values, for `library.constants` to take in."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import FLOAT_V, INT_V, STR_V, Value, literal, stream
from hybridize.library.python.rules import COMPLEX_V, SCALAR_V, STRINGS_V

# Those of the module `string`, which compiles expressions when it is imported.
_LOWERCASE: Final = "abcdefghijklmnopqrstuvwxyz"
_DIGITS: Final = "0123456789"
_PUNCTUATION: Final = r"""!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~"""
_WHITESPACE: Final = " \t\n\r\v\f"


def _all(prefix: str, names: str, value: Value) -> dict[str, Value]:
    return {f"{prefix}.{name}": value for name in names.split()}


#: `logging.INFO` and the like are levels; `string.digits` is its text; what the machine decides is a type only.
CONSTANTS: Final[dict[str, Value]] = {
    **{
        f"logging.{n}": literal(v).value
        for n, v in (
            ("NOTSET", 0),
            ("DEBUG", 10),
            ("INFO", 20),
            ("WARNING", 30),
            ("WARN", 30),
            ("ERROR", 40),
            ("CRITICAL", 50),
            ("FATAL", 50),
        )
    },
    **{
        f"string.{name}": literal(text).value
        for name, text in (
            ("ascii_lowercase", _LOWERCASE),
            ("ascii_uppercase", _LOWERCASE.upper()),
            ("ascii_letters", _LOWERCASE + _LOWERCASE.upper()),
            ("digits", _DIGITS),
            ("hexdigits", _DIGITS + "abcdefABCDEF"),
            ("punctuation", _PUNCTUATION),
            ("whitespace", _WHITESPACE),
            ("printable", _DIGITS + _LOWERCASE + _LOWERCASE.upper() + _PUNCTUATION + _WHITESPACE),
        )
    },
    **_all("sys", "executable version byteorder prefix exec_prefix copyright ps1", STR_V),
    **_all("sys", "maxunicode hexversion", INT_V),
    **_all("sys.float_info", "max min epsilon", FLOAT_V),
    **_all("sys", "builtin_module_names stdlib_module_names", STRINGS_V),
    **_all("os", "name curdir pardir pathsep devnull extsep", STR_V),
    **_all("os.path", "sep pathsep", STR_V),
    **_all("os", "F_OK R_OK W_OK X_OK O_RDONLY O_WRONLY O_CREAT", INT_V),
    **_all("re", "IGNORECASE MULTILINE DOTALL VERBOSE UNICODE ASCII I M S X U A", INT_V),
    **_all("cmath", "pi e tau inf nan", FLOAT_V),
    **_all("cmath", "infj nanj", COMPLEX_V),
    **_all("pickle", "HIGHEST_PROTOCOL DEFAULT_PROTOCOL", INT_V),
    **_all("subprocess", "PIPE STDOUT DEVNULL", INT_V),
    **_all("signal", "SIGINT SIGTERM SIGKILL SIGUSR1 SIGALRM SIGHUP", INT_V),
    **_all("csv", "QUOTE_ALL QUOTE_NONE QUOTE_MINIMAL QUOTE_NONNUMERIC", INT_V),
    **_all("time", "timezone altzone", INT_V),
    "six.PY2": literal(False).value,
    "six.PY3": literal(True).value,
    "six.MAXSIZE": INT_V,
    "argparse.SUPPRESS": STR_V,
    "tempfile.tempdir": STR_V,
    "zlib.DEFLATED": INT_V,
    "zipfile.ZIP_DEFLATED": INT_V,
    **_all("sys", "flags", stream("tuple", INT_V).value),
}
# Every attribute of these is a value that a user sets on the command line: some primitive, true or false.
OPEN_ATTRIBUTES: Final[dict[str, Value]] = {
    "absl.flags.FLAGS": SCALAR_V,
    "tf.compat.v1.flags.FLAGS": SCALAR_V,
    "tf.compat.v1.app.flags.FLAGS": SCALAR_V,
    "gflags.FLAGS": SCALAR_V,
}
# Containers that libraries own: reading an item looks at the environment, writing one changes the world.
OPEN_ITEMS: Final[dict[str, Value]] = {
    "os.environ": STR_V,
    "sys.modules": SCALAR_V,
    "matplotlib.pyplot.rcParams": SCALAR_V,
}
