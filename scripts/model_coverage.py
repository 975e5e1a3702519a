"""Reports how much of the public API has a model that gives exact types, as judged by TensorFlow and NumPy.

Run with an environment that has TensorFlow:  python scripts/model_coverage.py [--missing PREFIX]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "library")]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from op_oracle import EXACT, WRONG, cases, judge  # noqa: E402

from hybridize.library import registry  # noqa: E402
from hybridize.library.index import symbols  # noqa: E402

#: Functions below these give no tensors.
_OTHER = ("tf.config", "tf.debugging", "tf.distribute", "tf.saved_model", "tf.profiler", "tf.summary", "tf.io.gfile")
_OTHER += ("tf.test", "tf.train", "tf.types", "tf.autograph", "tf.nest", "tf.feature_column", "tf.lite", "tf.mlir")
_OTHER += ("tf.raw_ops", "tf.data", "tf.estimator", "tf.experimental.dtensor", "tf.sysconfig", "tf.tpu", "tf.xla")


def verdicts() -> dict[str, list[str]]:
    """The verdicts of all oracle cases, by canonical function name."""
    found: dict[str, list[str]] = defaultdict(list)
    for case in cases():
        try:
            verdict = judge(case)
        except Exception as error:
            found[case.function].append(f"error {error}")
            continue
        if verdict is not None:
            found[case.function].append(verdict.verdict)
    return found


def main() -> int:
    """Prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missing", metavar="PREFIX", help="list the functions below a name that have no model")
    options = parser.parse_args()
    if options.missing:
        for name in _functions(options.missing):
            if registry.function_spec(name) is None:
                print(name)
        return 0
    judged = verdicts()
    exact = {name for name, results in judged.items() if EXACT in results and WRONG not in results}
    wrong = sorted(name for name, results in judged.items() if WRONG in results)
    for root in ("tf", "keras", "np"):
        names = [n for n in judged if n.split(".")[0] == root]
        print(f"{root}: {len(names)} callables tested, {len([n for n in names if n in exact])} exact")
    print(f"TensorFlow and Keras together: {len([n for n in exact if not n.startswith('np.')])} exact")
    print(f"calls judged: {sum(map(len, judged.values()))}; wrong: {len(wrong)} {' '.join(wrong)}")
    for table in ("tf", "np"):
        public = list(_functions(table))
        modelled = [n for n in public if registry.function_spec(n) is not None]
        print(f"{table}: {len(modelled)} of {len(public)} public functions modelled, the others fall to the default")
    return 1 if wrong else 0


def _functions(prefix: str) -> list[str]:
    """Public functions below a name whose results may be tensors."""
    table = "numpy" if prefix.startswith("np") else "tensorflow"
    return [
        name
        for name, kind, _ in symbols(table)
        if kind in ("function", "ufunc") and name.startswith(prefix) and not name.startswith(_OTHER)
    ]


if __name__ == "__main__":
    raise SystemExit(main())
