"""Objects that are changed in place, under another name than the one that a function reads (HY602)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybridize.api import analyze
from hybridize.config import Config

if TYPE_CHECKING:
    from pathlib import Path

STALE = """\
#### partial_dict_pos
from functools import partial
import tensorflow as tf
cfg = {"k": 1.0}
def weigh(c, x):
    return x * c["k"]
step = partial(weigh, cfg)
def target(x):
    return step(x)
r1 = target(tf.constant(2.0))
cfg["k"] = 4.0
r2 = target(tf.constant(2.0))
#### factory_array_item
import numpy as np
import tensorflow as tf
def make():
    w = np.ones(3, np.float32)
    def target(x):
        return x * w
    return w, target
w, fn = make()
r1 = fn(tf.ones(3))
w[0] = 9.0
r2 = fn(tf.ones(3))
#### factory_array_aug
import numpy as np
import tensorflow as tf
def make():
    a = np.ones(3, np.float32)
    def target(x):
        return x * a
    return target, a
fn, a = make()
r1 = fn(tf.ones(3))
a *= 2
r2 = fn(tf.ones(3))
#### factory_array_fill
import numpy as np
import tensorflow as tf
def make():
    a = np.ones(3, np.float32)
    def target(x):
        return x * a
    return target, a
fn, a = make()
r1 = fn(tf.ones(3))
a.fill(3)
r2 = fn(tf.ones(3))
#### alias_global
import numpy as np
import tensorflow as tf
a = np.ones(3, np.float32)
def target(x):
    return x * a
def change(v):
    v[0] = 4
r1 = target(tf.ones(3))
change(a)
r2 = target(tf.ones(3))
#### field_given
import numpy as np
import tensorflow as tf
class M:
    def __init__(self, w):
        self.w = w
    def target(self, x):
        return x * self.w
w = np.ones(3, np.float32)
m = M(w)
r1 = m.target(tf.ones(3))
w[1] = 4
r2 = m.target(tf.ones(3))
#### closure_param
import numpy as np
import tensorflow as tf
def make(a):
    def target(x):
        return x * a
    return target
w = np.ones(3, np.float32)
fn = make(w)
r1 = fn(tf.ones(3))
w.fill(4)
r2 = fn(tf.ones(3))
#### main_local
import numpy as np
import tensorflow as tf
def build():
    mask = np.ones(3, np.float32)
    def target(x):
        return x * mask
    return target, mask
def main():
    fn, mask = build()
    print(fn(tf.ones(3)))
    np.multiply(mask, 2, out=mask)
    print(fn(tf.ones(3)))
main()
#### ret_single
import numpy as np
import tensorflow as tf
class M:
    def __init__(self):
        self.w = np.ones(3, np.float32)
    def weights(self):
        return self.w
    def target(self, x):
        return x * self.w
m = M()
r1 = m.target(tf.ones(3))
m.weights()[0] = 3
w = m.weights()
w += 1
r2 = m.target(tf.ones(3))
#### moduletype
import types
import tensorflow as tf
settings = types.ModuleType("settings")
settings.scale = 1.0
def target(x):
    return x * settings.scale
r1 = target(tf.constant(2.0))
settings.scale = 5.0
r2 = target(tf.constant(2.0))
#### dict_update
import tensorflow as tf
class C:
    def __init__(self):
        self.k = 1.0
c = C()
def target(x):
    return x * c.k
r1 = target(tf.constant(2.0))
c.__dict__.update(k=3.0)
r2 = target(tf.constant(2.0))
"""

FRESH = """\
#### partial_safe_never
from functools import partial
import tensorflow as tf
cfg = {"k": 1.0}
def weigh(c, x):
    return x * c["k"]
step = partial(weigh, cfg)
def target(x):
    return step(x)
r1 = target(tf.constant(2.0))
r2 = target(tf.constant(2.0))
#### safe_before
import numpy as np
import tensorflow as tf
def make():
    a = np.ones(3, np.float32)
    def target(x):
        return x * a
    return target, a
fn, a = make()
a[0] = 5
r1 = fn(tf.ones(3))
r2 = fn(tf.ones(3))
#### safe_other_array
import numpy as np
import tensorflow as tf
def make():
    a = np.ones(3, np.float32)
    b = np.zeros(3, np.float32)
    def target(x):
        return x * a
    return target, b
fn, b = make()
r1 = fn(tf.ones(3))
b[0] = 5
r2 = fn(tf.ones(3))
#### safe_copy
import numpy as np
import tensorflow as tf
def make(a):
    a = a.copy()
    def target(x):
        return x * a
    return target
w = np.ones(3, np.float32)
fn = make(w)
r1 = fn(tf.ones(3))
w.fill(4)
r2 = fn(tf.ones(3))
#### moduletype_safe
import types
import tensorflow as tf
settings = types.ModuleType("settings")
settings.scale = 1.0
settings.scale = 5.0
def target(x):
    return x * settings.scale
r1 = target(tf.constant(2.0))
r2 = target(tf.constant(2.0))
#### dict_update_safe
import tensorflow as tf
class C:
    def __init__(self):
        self.k = 1.0
        self.j = 1.0
c = C()
c.__dict__.update(k=3.0)
def target(x):
    return x * c.k
r1 = target(tf.constant(2.0))
c.__dict__.update(j=3.0)
r2 = target(tf.constant(2.0))
#### field_before
import numpy as np
import tensorflow as tf
class M:
    def __init__(self, w):
        self.w = w
    def target(self, x):
        return x * self.w
w = np.ones(3, np.float32)
m = M(w)
w[1] = 4
r1 = m.target(tf.ones(3))
r2 = m.target(tf.ones(3))
#### loop_made
import numpy as np
import tensorflow as tf
class M:
    def __init__(self, w):
        self.w = w
    def target(self, x):
        return x * self.w
r = []
for i in range(3):
    w = np.ones(3, np.float32)
    w[0] = i
    m = M(w)
    r.append(m.target(tf.ones(3)))
    r.append(m.target(tf.ones(3)))
#### loop_closure
import numpy as np
import tensorflow as tf
def make(a):
    def target(x):
        return x * a
    return target
def run(i):
    w = np.ones(3, np.float32)
    w[0] = i
    fn = make(w)
    return fn(tf.ones(3)) + fn(tf.ones(3))
r1 = run(1)
r2 = run(2)
#### batch_inner
import numpy as np
import tensorflow as tf
def target(x):
    def inner(v):
        return v + x
    return inner(tf.ones(3))
batch = np.zeros(3, np.float32)
r = []
for i in range(3):
    batch[:] = i
    r.append(target(batch))
#### variable
import numpy as np
import tensorflow as tf
def make():
    a = np.ones(3, np.float32)
    v = tf.Variable(a)
    def target(x):
        return x * v
    return target, a
fn, a = make()
r1 = fn(tf.ones(3))
a[0] = 4
r2 = fn(tf.ones(3))
#### rebound
import numpy as np
import tensorflow as tf
def make():
    a = np.ones(3, np.float32)
    def target(x):
        return x * a
    return target, a
fn, a = make()
r1 = fn(tf.ones(3))
a = a + 1
a[0] = 5
r2 = fn(tf.ones(3))
#### partial_in_call
from functools import partial
import tensorflow as tf
def weigh(c, x):
    return x * c["k"]
def target(x, k):
    cfg = {"k": 1.0}
    f = partial(weigh, cfg)
    cfg["k"] = 2.0
    return f(x)
r1 = target(tf.constant(2.0), 1)
r2 = target(tf.constant(2.0), 1)
#### partial_arg
from functools import partial
import tensorflow as tf
def weigh(c, x):
    return x * c["k"]
def target(cfg, x):
    f = partial(weigh, cfg)
    g = lambda v: f(v)
    return g(x)
cfg = {"k": 1.0}
r1 = target(cfg, tf.constant(2.0))
cfg["k"] = 2.0
r2 = target(cfg, tf.constant(2.0))
"""


def _stale(programs: str, folder: Path) -> dict[str, bool]:
    """By program whether `target` is told to read stale state."""
    for name, text in re.findall(r"#### (\w+)\n(.*?)(?=####|\Z)", programs, re.DOTALL):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    report = analyze([folder], Config(all_safe=True), repairs=False)
    targets = [f for f in report.functions if f.facts.qualname.rpartition(".")[2] == "target"]
    return {f.facts.path.rpartition("/")[2]: "HY602" in [s.code for s in f.statuses] for f in targets}


def test_what_is_changed_between_calls_is_stale(tmp_path: Path) -> None:
    found = _stale(STALE, tmp_path)
    assert len(found) == STALE.count("####")
    assert [name for name, is_stale in found.items() if not is_stale] == []


def test_what_is_changed_before_or_copied_is_not(tmp_path: Path) -> None:
    found = _stale(FRESH, tmp_path)
    assert len(found) == FRESH.count("####")
    assert [name for name, is_stale in found.items() if is_stale] == []
