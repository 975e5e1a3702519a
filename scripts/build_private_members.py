"""Writes which private methods the classes of TensorFlow, Keras and TensorFlow Probability have: `library/contracts`.

    python scripts/build_private_members.py PYTHON...

Each PYTHON is an interpreter with a TensorFlow; what any of them has counts. The public members are in the index.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
DATA = SOURCE / "hybridize" / "library" / "contracts" / "private_members.zlib"
PROBABILITY = "tensorflow_probability."

#: Runs in each interpreter: names of classes on its input, their private members on its output.
INSIDE = """
import json, operator, sys
import tensorflow as tf

def resolved(name):
    root, *rest = name.split(".")
    for found in [tf] if root == "tf" else [tf.keras, __import__("keras")]:
        try:
            for part in rest:
                found = getattr(found, part)
            return found
        except Exception:
            pass

def members(cls, private=True):
    for base in cls.__mro__:
        if base is object or base.__module__ in ("builtins", "abc", "typing"):
            continue
        for name, value in vars(base).items():
            hidden = name.startswith("_" + base.__name__.lstrip("_") + "__") or name == "_abc_impl"
            method = callable(value) or isinstance(value, (property, classmethod, staticmethod))
            if method and not hidden and not name.endswith("__") and (name.startswith("_") or not private):
                yield name

found = {}
for name in json.load(sys.stdin):
    cls = resolved(name)
    if isinstance(cls, type):
        found[name] = sorted(set(members(cls)))
try:
    import tensorflow_probability as tfp
except Exception:
    tfp = None
if tfp is not None:
    names = "distributions bijectors math.psd_kernels mcmc layers experimental sts optimizer vi util"
    names += " experimental.mcmc experimental.distributions experimental.bijectors experimental.nn"
    modules = [operator.attrgetter(name)(tfp) for name in names.split()]
    classes = {c for m in modules for c in vars(m).values() if isinstance(c, type)}
    layers = {name for c in (tf.keras.layers.Layer, tf.keras.Model) for name in dir(c)}
    found["PROBABILITY"] = sorted({n for c in classes for n in members(c, private=False)} - layers)
json.dump(found, sys.stdout)
"""


def main(pythons: list[str]) -> int:
    """Asks each interpreter, and writes what they say together."""
    sys.path.insert(0, str(SOURCE))
    from hybridize.library.index import RELEASES, lookup, symbols

    classes = [
        name
        for table in ("tensorflow", "tensorflow_v1", "keras")
        for name, kind, _ in symbols(table)
        if kind == "class"
    ]
    found: dict[str, set[str]] = {}
    for python in pythons:
        code = INSIDE.replace("PROBABILITY", PROBABILITY)
        run = subprocess.run(
            [python, "-c", code], input=json.dumps(classes), capture_output=True, text=True, check=True
        )
        for name, members in json.loads(run.stdout).items():
            found.setdefault(name, set()).update(members)
    lines = []
    for name in sorted(found):
        entries = [entry for release in RELEASES if (entry := lookup(name, release)) is not None]
        inherited = {member for entry in entries for base in entry.mro for member in found.get(base, ())}
        own = sorted(found[name] - inherited)
        if own:
            lines.append(" ".join([name, *own]))
    DATA.write_bytes(zlib.compress("\n".join(lines).encode(), 9))
    print(f"{len(lines)} classes, {DATA.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
