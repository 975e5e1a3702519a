"""HY379: which variables of a branch AutoGraph takes to have a value before it, as measured with TensorFlow 2.15."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config

BRANCH = "if k >= 2.0:\n    a = k * 2.0\nelse:\n    a = k"

#: What a turn of the loop does, and whether a graph raises.
TURNS = {
    "plain": (f"{BRANCH}\na = a + 1.0\ns = s + a", True),
    "augmented": (f"{BRANCH}\na += 1.0\ns = s + a", True),
    "unpacked": (f"{BRANCH}\na, b = a + 1.0, k\ns = s + a + b", True),
    "named": (f"{BRANCH}\ns = s + (a := a + 1.0)", True),
    "in_with": (f"{BRANCH}\nwith tf.name_scope('q'):\n    a = a + 1.0\ns = s + a", True),
    "in_try": (f"{BRANCH}\ntry:\n    a = a + 1.0\nfinally:\n    s = s + a", True),
    "as_item": (f"{BRANCH}\ns = s + a\nwith tf.GradientTape() as a:\n    pass", True),
    "after_a_choice": (f"if i > 0:\n    a = k\n{BRANCH}\na = a + 1.0\ns = s + a", True),
    "bound_first": (f"a = 0.0\n{BRANCH}\na = a + 1.0\ns = s + a", False),
    "read_only": (f"{BRANCH}\ns = s + a", False),
    "other_name": (f"{BRANCH}\nb = a + 1.0\ns = s + b", False),
    "in_a_branch": (f"{BRANCH}\nif i > 0:\n    a = a + 1.0\ns = s + a", False),
    "in_a_loop": (f"{BRANCH}\ns = s + a\nfor a in range(2):\n    s = s + 1.0", False),
    "in_a_comprehension": (f"{BRANCH}\ns = s + a + sum([a for a in (1.0, 2.0)])", False),
    "behind_a_jump": (f"{BRANCH}\nif i > 5:\n    break\na = a + 1.0\ns = s + a", False),
    "on_python": ("if i > 0:\n    a = k\nelse:\n    a = k * 2.0\na = a + 1.0\ns = s + a", False),
}


def test_variables_that_a_turn_binds_again(tmp_path: Path) -> None:
    lines = ["import tensorflow as tf", "x = tf.constant([1.0, 2.0, 3.0])"]
    for name, (turn, _) in TURNS.items():
        inside = turn.replace("\n", "\n        ")
        lines += ["@tf.function", f"def {name}(x, n):", "    s = 0.0", "    for i in range(n):", "        k = x[i]"]
        lines += [f"        {inside}", "    return s", f"{name}(x, 3)"]
    (tmp_path / "loops.py").write_text("\n".join(lines))
    found = {
        f.function.partition(":")[2] for f in analyze([tmp_path], Config()).findings if f.code == "HY379" and f.function
    }
    assert found == {name for name, (_, raises) in TURNS.items() if raises}


def test_a_function_that_would_raise_stays_eager(tmp_path: Path) -> None:
    (tmp_path / "prices.py").write_text("""\
import tensorflow as tf

def paid(prices):
    total = tf.zeros([])
    for price in tf.unstack(prices):
        if price > 2.0:
            rate = tf.sqrt(price) * 0.9
        else:
            rate = tf.sqrt(price)
        rate = rate + tf.sin(rate) + tf.exp(-rate)
        total = total + tf.square(rate) * tf.cos(rate)
    return total

for _ in range(1000):
    print(paid(tf.random.uniform([20])).numpy())
""")
    (decided,) = [f for f in analyze([tmp_path], Config()).functions if f.facts.qualname == "paid"]
    assert [s.code for s in decided.statuses] == ["HY379"]
