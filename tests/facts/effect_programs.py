"""Small programs, each with one thing that is a side effect of `f`, or looks like one: see `test_effects.py`."""

from __future__ import annotations

from typing import Final

PROGRAMS: Final[dict[str, str]] = {
    "global_written": """
        n = 0
        def f(x):
            global n
            n = n + 1  # <-
            return x
        f(1)
    """,
    "global_augmented": """
        n = 0
        def f(x):
            global n
            n += x  # <-
        f(1)
    """,
    "global_deleted": """
        n = 0
        def f():
            global n
            del n  # <-
        f()
    """,
    "global_in_callee": """
        n = 0
        def g():
            global n
            n = 2  # <-
        def f():
            g()
        f()
    """,
    "global_list_appended": """
        log = []
        def f(x):
            log.append(x)  # <-
            return x
        f(1)
    """,
    "global_list_item": """
        log = [0]
        def f(x):
            log[0] = x  # <-
        f(1)
    """,
    "global_list_augmented": """
        log = []
        def f(x):
            global log
            log += [x]  # <-
        f(1)
    """,
    "list_methods_insert": """
        xs = [1, 2]
        def f():
            xs.insert(0, 3)  # <-
            xs.pop(0)  # <-
            xs.remove(3)  # <-
            xs.reverse()  # <-
            xs.sort()  # <-
            xs.clear()  # <-
            xs.extend([1])  # <-
        f()
    """,
    "list_item_deleted": """
        xs = [1, 2]
        def f():
            del xs[0]  # <-
        f()
    """,
    "list_slice_assigned": """
        xs = [1, 2]
        def f():
            xs[:] = []  # <-
        f()
    """,
    "list_dunder_setitem": """
        xs = [1, 2]
        def f():
            xs.__setitem__(0, 3)  # <-
        f()
    """,
    "list_iadd_argument": """
        def f(xs, x):
            xs += [x]  # <-
            return xs
        f([1], 2)
    """,
    "list_times_argument": """
        def f(xs):
            xs *= 2  # <-
            return xs
        f([1])
    """,
    "dict_item": """
        d = {}
        def f(k):
            d[k] = 1  # <-
        f("a")
    """,
    "dict_methods": """
        d = {"a": 1}
        def f():
            d.update(b=2)  # <-
            d.setdefault("c", 3)  # <-
            d.pop("a")  # <-
            d.popitem()  # <-
            d.clear()  # <-
        f()
    """,
    "dict_item_deleted": """
        d = {"a": 1}
        def f():
            del d["a"]  # <-
        f()
    """,
    "dict_or_assign": """
        d = {"a": 1}
        def f(e):
            e |= {"b": 2}  # <-
        f(d)
    """,
    "dict_dunder": """
        d = {"a": 1}
        def f():
            d.__setitem__("b", 1)  # <-
            d.__delitem__("a")  # <-
        f()
    """,
    "set_methods": """
        s = {1}
        def f():
            s.add(2)  # <-
            s.discard(2)  # <-
            s.remove(1)  # <-
            s.update([1])  # <-
            s.difference_update([1])  # <-
            s.intersection_update([1])  # <-
            s.symmetric_difference_update([1])  # <-
        f()
    """,
    "set_or_assign": """
        s = {1}
        def f(t):
            t |= {2}  # <-
        f(s)
    """,
    "deque_methods": """
        from collections import deque
        q = deque()
        def f():
            q.append(1)  # <-
            q.appendleft(1)  # <-
            q.popleft()  # <-
            q.rotate(1)  # <-
            q.extendleft([1])  # <-
        f()
    """,
    "counter_update": """
        from collections import Counter
        c = Counter()
        def f(xs):
            c.update(xs)  # <-
        f([1])
    """,
    "counter_item": """
        from collections import Counter
        c = Counter()
        def f(x):
            c[x] += 1  # <-
        f("a")
    """,
    "counter_read": """
        from collections import Counter
        c = Counter()
        def f(x):
            return c[x]
        f("a")
    """,
    "defaultdict_read": """
        from collections import defaultdict
        d = defaultdict(list)
        def f(k):
            return d[k]  # <-
        f("a")
    """,
    "defaultdict_append": """
        from collections import defaultdict
        d = defaultdict(list)
        def f(k):
            d[k].append(1)  # <-
        f("a")
    """,
    "defaultdict_local": """
        from collections import defaultdict
        def f(k):
            d = defaultdict(list)
            d[k].append(1)
            return d
        f("a")
    """,
    "ordered_dict": """
        from collections import OrderedDict
        d = OrderedDict(a=1)
        def f():
            d.move_to_end("a")  # <-
        f()
    """,
    "bytearray_outer": """
        b = bytearray(3)
        def f():
            b[0] = 1  # <-
            b.append(2)  # <-
        f()
    """,
    "bytearray_local": """
        def f():
            b = bytearray(3)
            b[0] = 1
            b.append(2)
            return b
        f()
    """,
    "array_item": """
        import numpy as np
        a = np.zeros(3)
        def f():
            a[0] = 1  # <-
        f()
    """,
    "array_argument": """
        import numpy as np
        def f(a):
            a[0] = 1  # <-
        f(np.zeros(3))
    """,
    "array_inplace": """
        import numpy as np
        def f(a):
            a += 1  # <-
            return a
        f(np.zeros(3))
    """,
    "array_methods": """
        import numpy as np
        a = np.zeros(3)
        def f():
            a.fill(1)  # <-
            a.sort()  # <-
        f()
    """,
    "array_local": """
        import numpy as np
        def f():
            a = np.zeros(3)
            a[0] = 1
            a += 1
            a.fill(2)
            return a
        f()
    """,
    "array_in_callee": """
        import numpy as np
        def fill(a):
            a[0] = 1
        def f():
            a = np.zeros(3)
            fill(a)
            return a
        f()
    """,
    "array_in_callee_outer": """
        import numpy as np
        def fill(a):
            a[0] = 1  # <-
        b = np.zeros(3)
        def f():
            a = np.zeros(3)
            fill(a)
            fill(b)
            return a
        f()
    """,
    "array_out": """
        import numpy as np
        a = np.zeros(3)
        def f(x):
            np.add(x, 1, out=a)  # <-
        f(np.zeros(3))
    """,
    "array_shuffled": """
        import numpy as np
        a = np.zeros(3)
        def f():
            np.random.shuffle(a)  # <-
        f()
    """,
    "array_field": """
        import numpy as np
        class C:
            def __init__(self):
                self.a = np.zeros(3)
            def f(self):
                self.a[0] = 1  # <-
        C().f()
    """,
    "array_field_of_local": """
        import numpy as np
        class D:
            def __init__(self):
                self.a = np.zeros(3)
            def put(self):
                self.a[0] = 1
        def f():
            d = D()
            d.put()
            return d
        f()
    """,
    "closure_written": """
        def make():
            n = 0
            def f():
                nonlocal n
                n += 1  # <-
                return n
            return f
        make()()
    """,
    "closure_list": """
        def make():
            seen = []
            def f(x):
                seen.append(x)  # <-
            return f
        make()(1)
    """,
    "closure_of_own_frame": """
        def f():
            n = 0
            def bump():
                nonlocal n
                n += 1
            bump()
            return n
        f()
    """,
    "closure_list_of_own_frame": """
        def f():
            xs = []
            def put(x):
                xs.append(x)
            put(1)
            return xs
        f()
    """,
    "field_written": """
        class C:
            def __init__(self):
                self.n = 0
            def f(self):
                self.n = 1  # <-
        C().f()
    """,
    "field_augmented": """
        class C:
            def __init__(self):
                self.n = 0
            def f(self):
                self.n += 1  # <-
        C().f()
    """,
    "field_list": """
        class C:
            def __init__(self):
                self.xs = []
            def f(self, x):
                self.xs.append(x)  # <-
        C().f(1)
    """,
    "field_dict": """
        class C:
            def __init__(self):
                self.d = {}
            def f(self, x):
                self.d["a"] = x  # <-
        C().f(1)
    """,
    "field_deleted": """
        class C:
            def __init__(self):
                self.n = 0
            def f(self):
                del self.n  # <-
        C().f()
    """,
    "field_setattr": """
        class C:
            def f(self, x):
                setattr(self, "n", x)  # <-
        C().f(1)
    """,
    "field_setattr_computed": """
        class C:
            def f(self, name, x):
                setattr(self, name, x)  # <-
        C().f(input(), 1)
    """,
    "field_delattr": """
        class C:
            def __init__(self):
                self.n = 0
            def f(self):
                delattr(self, "n")  # <-
        C().f()
    """,
    "delattr_local": """
        class D:
            def __init__(self):
                self.n = 0
        def f():
            d = D()
            delattr(d, "n")
        f()
    """,
    "field_of_argument": """
        class D:
            pass
        def f(d):
            d.n = 1  # <-
        f(D())
    """,
    "field_dict_written": """
        class C:
            def f(self, x):
                self.__dict__["n"] = x  # <-
        C().f(1)
    """,
    "field_dict_updated": """
        class C:
            def f(self, **kw):
                self.__dict__.update(kw)  # <-
        C().f(a=1)
    """,
    "vars_updated": """
        class C:
            def f(self, **kw):
                vars(self).update(kw)  # <-
        C().f(a=1)
    """,
    "globals_written": """
        def f(x):
            globals()["n"] = x  # <-
        f(1)
    """,
    "class_attribute": """
        class C:
            count = 0
            def f(self):
                C.count += 1  # <-
        C().f()
    """,
    "class_attribute_by_cls": """
        class C:
            count = 0
            @classmethod
            def f(cls):
                cls.count = 1  # <-
        C.f()
    """,
    "class_attribute_by_type": """
        class C:
            count = 0
            def f(self):
                type(self).count = 1  # <-
        C().f()
    """,
    "class_list": """
        class C:
            seen = []
            def f(self, x):
                self.seen.append(x)  # <-
        C().f(1)
    """,
    "function_attribute": """
        def f():
            f.calls = 1  # <-
        f()
    """,
    "object_setattr": """
        class C:
            def f(self):
                object.__setattr__(self, "n", 1)  # <-
        C().f()
    """,
    "module_attribute": """
        import helper_module
        def f():
            helper_module.value = 2  # <-
        f()
    """,
    "helper_module": """
        value = 1
        def f():
            return value
        f()
    """,
    "local_objects": """
        class D:
            def __init__(self, n):
                self.n = n
                self.xs = []
            def put(self, x):
                self.xs.append(x)
                self.n += 1
        def f(x):
            d = D(1)
            d.put(x)
            d.n = 3
            del d.n
            return d
        f(1)
    """,
    "local_containers": """
        def f(x):
            xs = [1]
            xs.append(x)
            xs.insert(0, x)
            del xs[0]
            xs += [2]
            d = {}
            d["a"] = xs
            d.update(b=1)
            del d["a"]
            s = set()
            s.add(x)
            s |= {2}
            return xs, d, s
        f(1)
    """,
    "local_copy": """
        def f(xs):
            ys = list(xs)
            ys.append(1)
            zs = xs[:]
            zs.append(1)
            ws = xs.copy()
            ws.append(1)
            us = sorted(xs)
            us.pop(0)
            return ys + zs + ws + us
        f([3, 1])
    """,
    "deep_copied": """
        import copy
        def f(d):
            e = copy.deepcopy(d)
            e["a"] = 1
            return e
        f({"b": 1})
    """,
    "local_through_callee": """
        def put(xs, x):
            xs.append(x)
        def f(x):
            xs = []
            put(xs, x)
            return xs
        f(1)
    """,
    "made_by_callee": """
        def make():
            return []
        def f(x):
            xs = make()
            xs.append(x)
            return xs
        f(1)
    """,
    "argument_through_callee": """
        def put(xs, x):
            xs.append(x)  # <-
        def f(xs):
            put(xs, 1)
        f([])
    """,
    "mutable_default": """
        def f(x, xs=[]):
            xs.append(x)  # <-
            return xs
        f(1)
    """,
    "keyword_arguments_dict": """
        def f(**kw):
            kw["a"] = 1
            kw.pop("b", None)
            return kw
        f(b=1)
    """,
    "comprehension": """
        def f(xs):
            ys = [x for x in xs]
            d = {x: 1 for x in xs}
            t = sum(x for x in xs)
            return ys, d, t
        f([1])
    """,
    "comprehension_appends": """
        log = []
        def f(xs):
            [log.append(x) for x in xs]  # <-
        f([1])
    """,
    "constructor_effect": """
        made = []
        class D:
            def __init__(self):
                made.append(self)  # <-
        def f():
            return D()
        f()
    """,
    "next_of_argument": """
        def f(it):
            return next(it)  # <-
        f(iter([1, 2]))
    """,
    "next_of_global": """
        it = iter([1, 2])
        def f():
            return next(it)  # <-
        f()
    """,
    "next_of_count": """
        import itertools
        ids = itertools.count()
        def f():
            return next(ids)  # <-
        f()
    """,
    "next_of_zip": """
        pairs = zip([1], [2])
        def f():
            return next(pairs)  # <-
        f()
    """,
    "next_of_enumerate": """
        pairs = enumerate(["a"])
        def f():
            return next(pairs)  # <-
        f()
    """,
    "next_of_reversed": """
        xs = reversed([1, 2])
        def f():
            return next(xs)  # <-
        f()
    """,
    "next_local": """
        def f(xs):
            it = iter(xs)
            first = next(it)
            pairs = zip(xs, xs)
            return first, next(pairs), next(iter(xs)), next(x for x in xs)
        f([1])
    """,
    "next_method": """
        it = iter([1, 2])
        def f():
            return it.__next__()  # <-
        f()
    """,
    "generator_argument_looped": """
        def gen():
            yield 1
        def f(g):
            total = 0
            for x in g:  # <-
                total += x
            return total
        f(gen())
    """,
    "generator_global_next": """
        def gen():
            yield 1
        g = gen()
        def f():
            return next(g)  # <-
        f()
    """,
    "generator_global_sent": """
        def gen():
            yield 1
        g = gen()
        def f():
            return g.send(None)  # <-
        f()
    """,
    "generator_local": """
        def gen():
            yield 1
            yield 2
        def f():
            g = gen()
            first = next(g)
            for x in gen():
                first += x
            for x in g:
                first += x
            return first + g.send(None) + sum(gen())
        f()
    """,
    "generator_to_callee": """
        def gen():
            yield 1
        def take(g):
            return next(g)
        def f():
            return take(gen())
        f()
    """,
    "generator_outer_to_callee": """
        def gen():
            yield 1
        def take(g):
            return next(g)  # <-
        g = gen()
        def f():
            return take(g)
        f()
    """,
    "generator_field": """
        def gen():
            yield 1
        class C:
            def __init__(self):
                self.g = gen()
            def f(self):
                return next(self.g)  # <-
        C().f()
    """,
    "iterator_looped": """
        it = iter([1, 2])
        def f():
            for x in it:  # <-
                pass
        f()
    """,
    "iterator_listed": """
        it = iter([1, 2])
        def f():
            return list(it)  # <-
        f()
    """,
    "zip_listed": """
        pairs = zip([1, 2], [3, 4])
        def f():
            return list(pairs)  # <-
        f()
    """,
    "map_summed": """
        numbers = map(int, ["1"])
        def f():
            return sum(numbers)  # <-
        f()
    """,
    "list_looped": """
        xs = [1, 2]
        def f():
            total = 0
            for i, x in enumerate(xs):
                total += x
            for x in reversed(xs):
                total += x
            for x, y in zip(xs, xs):
                total += x
            for x in map(int, xs):
                total += x
            for x in range(3):
                total += x
            return total
        f()
    """,
    "range_global_looped": """
        r = range(3)
        def f():
            total = 0
            for i in r:
                total += i
            return total
        f()
    """,
    "dict_views_looped": """
        d = {"a": 1}
        k = d.keys()
        def f():
            return [x for x in k] + [v for v in d.values()] + [v for _, v in d.items()]
        f()
    """,
    "own_iterator_class": """
        class Counter:
            def __init__(self):
                self.n = 0
            def __iter__(self):
                return self
            def __next__(self):
                self.n += 1  # <-
                return self.n
        c = Counter()
        def f():
            return next(c)
        f()
    """,
    "own_iterator_looped": """
        class Counter:
            def __init__(self):
                self.n = 0
            def __iter__(self):
                return self
            def __next__(self):
                self.n += 1  # <-
                return self.n
        c = Counter()
        def f():
            for x in c:
                break
        f()
    """,
    "dataset_looped": """
        import tensorflow as tf
        ds = tf.data.Dataset.range(3)
        def f():
            total = tf.constant(0, tf.int64)
            for x in ds:
                total += x
            return total
        f()
    """,
    "dataset_iterator_next": """
        import tensorflow as tf
        ds = iter(tf.data.Dataset.range(3))
        def f():
            return next(ds)
        f()
    """,
    "file_iterated": """
        h = open("a")
        def f():
            for line in h:  # <-
                pass
        f()
    """,
    "file_opened": """
        def f():
            with open("a") as h:  # <-
                return h.read()
        f()
    """,
    "file_written": """
        h = open("a", "w")
        def f():
            h.write("x")  # <-
        f()
    """,
    "path_written": """
        from pathlib import Path
        p = Path("x") / "y"
        def f():
            p.write_text("x")  # <-
        f()
    """,
    "path_computed": """
        from pathlib import Path
        p = Path("x")
        def f():
            return p / "y" / "z"
        f()
    """,
    "json_dumped": """
        import json
        def f(h, x):
            json.dump(x, h)  # <-
        f(open("a", "w"), [1])
    """,
    "numpy_saved": """
        import numpy as np
        def f(a):
            np.save("a", a)  # <-
        f(np.zeros(2))
    """,
    "removed": """
        import os
        def f():
            os.remove("a")  # <-
        f()
    """,
    "made_directory": """
        import os
        def f():
            os.makedirs("a")  # <-
        f()
    """,
    "unknown_os_function": """
        import os
        def f():
            os.utime("a")  # <-
        f()
    """,
    "subprocess_run": """
        import subprocess
        def f():
            subprocess.run(["ls"])  # <-
        f()
    """,
    "printed": """
        def f(x):
            print(x)  # <-
        f(1)
    """,
    "printed_in_lambda": """
        def f(x):
            show = lambda y: print(y)  # <-
            show(x)
        f(1)
    """,
    "printed_to_stderr": """
        import sys
        def f():
            sys.stderr.write("a")  # <-
        f()
    """,
    "pprinted": """
        from pprint import pprint
        def f(x):
            pprint(x)  # <-
        f(1)
    """,
    "logged": """
        import logging
        def f():
            logging.info("a")  # <-
        f()
    """,
    "logged_by_logger": """
        import logging
        log = logging.getLogger(__name__)
        def f():
            log.warning("a")  # <-
        f()
    """,
    "absl_logged": """
        from absl import logging
        def f():
            logging.info("a")  # <-
        f()
    """,
    "tf_logged": """
        import tensorflow as tf
        def f():
            tf.get_logger().warning("a")  # <-
        f()
    """,
    "warned": """
        import warnings
        def f():
            warnings.warn("a")  # <-
        f()
    """,
    "random_drawn": """
        import random
        def f():
            return random.random()  # <-
        f()
    """,
    "random_shuffled": """
        import random
        def f(xs):
            random.shuffle(xs)  # <-
        f([1])
    """,
    "random_seeded": """
        import random
        def f():
            random.seed(1)  # <-
        f()
    """,
    "random_imported": """
        from random import choice
        def f(xs):
            return choice(xs)  # <-
        f([1])
    """,
    "random_object": """
        import random
        r = random.Random(1)
        def f():
            return r.random()  # <-
        f()
    """,
    "numpy_random": """
        import numpy as np
        def f():
            return np.random.rand(3)  # <-
        f()
    """,
    "numpy_generator": """
        import numpy as np
        rng = np.random.default_rng(0)
        def f():
            return rng.normal()  # <-
        f()
    """,
    "numpy_random_state": """
        import numpy as np
        rng = np.random.RandomState(0)
        def f():
            return rng.randn(3)  # <-
        f()
    """,
    "numpy_list_shuffled": """
        import numpy as np
        xs = [1, 2]
        def f():
            np.random.shuffle(xs)  # <-
        f()
    """,
    "tf_random": """
        import tensorflow as tf
        def f():
            return tf.random.normal([2])
        f()
    """,
    "time_read": """
        import time
        def f():
            return time.time()  # <-
        f()
    """,
    "perf_counter_read": """
        from time import perf_counter
        def f():
            return perf_counter()  # <-
        f()
    """,
    "slept": """
        import time
        def f():
            time.sleep(1)  # <-
        f()
    """,
    "datetime_now": """
        import datetime
        def f():
            return datetime.datetime.now()  # <-
        f()
    """,
    "uuid_made": """
        import uuid
        def f():
            return uuid.uuid4()  # <-
        f()
    """,
    "environment_written": """
        import os
        def f():
            os.environ["A"] = "1"  # <-
        f()
    """,
    "environment_deleted": """
        import os
        def f():
            del os.environ["A"]  # <-
        f()
    """,
    "environment_updated": """
        import os
        def f():
            os.environ.setdefault("A", "1")  # <-
            os.environ.update(B="2")  # <-
        f()
    """,
    "environment_read": """
        import os
        def f():
            return os.environ.get("A"), os.getenv("B"), os.environ["C"]
        f()
    """,
    "stdout_replaced": """
        import sys
        def f(s):
            sys.stdout = s  # <-
        f(open("a"))
    """,
    "sys_setattr": """
        import sys
        def f(s):
            setattr(sys, "stdout", s)  # <-
        f(open("a"))
    """,
    "sys_path_appended": """
        import sys
        def f():
            sys.path.append("a")  # <-
            sys.path.insert(0, "a")  # <-
        f()
    """,
    "sys_modules_written": """
        import sys
        def f(m):
            sys.modules["a"] = m  # <-
        f(sys)
    """,
    "plot_parameters": """
        import matplotlib.pyplot as plt
        def f():
            plt.rcParams["figure.dpi"] = 100  # <-
        f()
    """,
    "plotted": """
        import matplotlib.pyplot as plt
        def f(xs):
            plt.plot(xs)  # <-
            plt.show()  # <-
        f([1])
    """,
    "plotted_by_axes": """
        import matplotlib.pyplot as plt
        def f(xs):
            fig, ax = plt.subplots()  # <-
            ax.plot(xs)
        f([1])
    """,
    "through_lambda": """
        log = []
        add = lambda x: log.append(x)  # <-
        def f(x):
            add(x)
        f(1)
    """,
    "through_callback": """
        log = []
        def note(x):
            log.append(x)  # <-
        def apply(g, x):
            return g(x)
        def f(x):
            return apply(note, x)
        f(1)
    """,
    "through_map": """
        log = []
        def note(x):
            log.append(x)  # <-
            return x
        def f(xs):
            return list(map(note, xs))
        f([1])
    """,
    "through_sort_key": """
        log = []
        def note(x):
            log.append(x)  # <-
            return x
        def f(xs):
            return sorted(xs, key=note)
        f([1])
    """,
    "through_filter": """
        log = []
        def f(xs):
            return list(filter(lambda x: log.append(x), xs))  # <-
        f([1])
    """,
    "through_reduce": """
        import functools
        log = []
        def plus(a, b):
            log.append(a)  # <-
            return a + b
        def f(xs):
            return functools.reduce(plus, xs)
        f([1, 2])
    """,
    "through_partial": """
        import functools
        log = []
        def note(x):
            log.append(x)  # <-
        g = functools.partial(note, 1)
        def f():
            g()
        f()
    """,
    "through_bound_method": """
        log = []
        put = log.append
        def f(x):
            put(x)  # <-
        f(1)
    """,
    "through_decorator": """
        import functools
        count = 0
        def counted(g):
            @functools.wraps(g)
            def wrapper(*args):
                global count
                count += 1  # <-
                return g(*args)
            return wrapper
        @counted
        def g(x):
            return x
        def f(x):
            return g(x)
        f(1)
    """,
    "decorator_harmless": """
        import functools
        def same(g):
            @functools.wraps(g)
            def wrapper(*args):
                return g(*args)
            return wrapper
        @same
        def g(x):
            return x
        def f(x):
            return g(x)
        f(1)
    """,
    "through_property": """
        class D:
            def __init__(self):
                self.n = 0
            @property
            def value(self):
                self.n += 1  # <-
                return self.n
        def f(d):
            return d.value
        f(D())
    """,
    "through_property_setter": """
        class D:
            def __init__(self):
                self._n = 0
            @property
            def n(self):
                return self._n
            @n.setter
            def n(self, value):
                self._n = value  # <-
        def f(d):
            d.n = 2
        f(D())
    """,
    "through_operator": """
        log = []
        class D:
            def __add__(self, other):
                log.append(other)  # <-
                return self
        def f(d):
            return d + 1
        f(D())
    """,
    "through_sum": """
        log = []
        class D:
            def __add__(self, other):
                log.append(other)  # <-
                return self
            __radd__ = __add__
        def f(ds):
            return sum(ds)
        f([D(), D()])
    """,
    "through_iadd": """
        class D:
            def __init__(self):
                self.n = 0
            def __iadd__(self, other):
                self.n += other  # <-
                return self
        def f(d):
            d += 1
            return d
        f(D())
    """,
    "through_comparison": """
        log = []
        class D:
            def __lt__(self, other):
                log.append(other)  # <-
                return True
        def f(ds):
            return sorted(ds)
        f([D(), D()])
    """,
    "through_comparison_max": """
        log = []
        class D:
            def __lt__(self, other):
                log.append(other)  # <-
                return True
            def __gt__(self, other):
                log.append(other)
                return True
        def f(ds):
            return max(ds), min(ds)
        f([D(), D()])
    """,
    "through_list_sort": """
        log = []
        class D:
            def __lt__(self, other):
                log.append(other)  # <-
                return True
        def f():
            ds = [D(), D()]
            ds.sort()
        f()
    """,
    "through_getitem": """
        class D:
            def __init__(self):
                self.n = 0
            def __getitem__(self, i):
                self.n += 1  # <-
                return i
        def f(d):
            return d[0]
        f(D())
    """,
    "through_setitem": """
        class D:
            def __init__(self):
                self.d = {}
            def __setitem__(self, k, v):
                self.d[k] = v  # <-
        def f(d):
            d["a"] = 1
        f(D())
    """,
    "through_contains": """
        class D:
            def __init__(self):
                self.n = 0
            def __contains__(self, i):
                self.n += 1  # <-
                return True
        def f(d):
            return 1 in d
        f(D())
    """,
    "through_len": """
        class D:
            def __init__(self):
                self.n = 0
            def __len__(self):
                self.n += 1  # <-
                return 1
        def f(d):
            return len(d)
        f(D())
    """,
    "through_bool": """
        class D:
            def __init__(self):
                self.n = 0
            def __bool__(self):
                self.n += 1  # <-
                return True
        def f(d):
            return bool(d)
        f(D())
    """,
    "through_condition": """
        class D:
            def __init__(self):
                self.n = 0
            def __bool__(self):
                self.n += 1  # <-
                return True
        def f(d):
            if d:
                return 1
            return 2
        f(D())
    """,
    "through_int": """
        class D:
            def __init__(self):
                self.n = 0
            def __int__(self):
                self.n += 1  # <-
                return 1
            def __float__(self):
                self.n += 1
                return 1.0
            def __abs__(self):
                self.n += 1
                return 1
        def f(d):
            return int(d), float(d), abs(d)
        f(D())
    """,
    "through_hash": """
        class D:
            def __init__(self):
                self.n = 0
            def __hash__(self):
                self.n += 1  # <-
                return 1
        def f(d):
            return hash(d)
        f(D())
    """,
    "through_str": """
        class D:
            def __init__(self):
                self.n = 0
            def __str__(self):
                self.n += 1  # <-
                return ""
        def f(d):
            return str(d)
        f(D())
    """,
    "through_repr": """
        class D:
            def __init__(self):
                self.n = 0
            def __repr__(self):
                self.n += 1  # <-
                return ""
        def f(d):
            return repr(d)
        f(D())
    """,
    "through_format": """
        class D:
            def __init__(self):
                self.n = 0
            def __format__(self, spec):
                self.n += 1  # <-
                return ""
        def f(d):
            return f"{d}"
        f(D())
    """,
    "through_call": """
        class D:
            def __init__(self):
                self.n = 0
            def __call__(self):
                self.n += 1  # <-
        def f(d):
            d()
        f(D())
    """,
    "through_getattr": """
        class D:
            def __init__(self):
                self.n = {}
            def __getattr__(self, name):
                self.n["a"] = 1  # <-
                return 1
        def f(d):
            return d.other
        f(D())
    """,
    "through_super": """
        class B:
            def put(self):
                self.n = 1  # <-
        class C(B):
            def f(self):
                super().put()
        C().f()
    """,
    "through_context": """
        class D:
            def __init__(self):
                self.n = 0
            def __enter__(self):
                self.n += 1  # <-
                return self
            def __exit__(self, *a):
                self.n -= 1
        def f(d):
            with d:
                pass
        f(D())
    """,
    "through_contextmanager": """
        import contextlib
        log = []
        @contextlib.contextmanager
        def noted():
            log.append(1)  # <-
            yield
        def f():
            with noted():
                pass
        f()
    """,
    "contextmanager_harmless": """
        import contextlib
        @contextlib.contextmanager
        def quiet():
            yield 1
        def f():
            with quiet() as n:
                return n
        f()
    """,
    "context_tape": """
        import tensorflow as tf
        v = tf.Variable(1.0)
        def f(x):
            with tf.GradientTape() as tape:
                y = v * x
            return tape.gradient(y, v)
        f(tf.constant(1.0))
    """,
    "variable_assigned": """
        import tensorflow as tf
        v = tf.Variable(1.0)
        def f(x):
            v.assign_add(x)
            return v
        f(tf.constant(1.0))
    """,
    "tensor_local_augmented": """
        import tensorflow as tf
        def f(x):
            y = x
            y += 1.0
            return y
        f(tf.constant(1.0))
    """,
    "tensor_to_number": """
        import tensorflow as tf
        def f(x):
            return int(x) + float(x)
        f(tf.constant(1))
    """,
    "through_generator_body": """
        log = []
        def gen():
            log.append(1)  # <-
            yield 1
        def f():
            for x in gen():
                pass
        f()
    """,
    "through_dict_of_functions": """
        log = []
        def note(x):
            log.append(x)  # <-
        table = {"a": note}
        def f(k, x):
            table[k](x)
        f("a", 1)
    """,
    "through_dataclass": """
        import dataclasses
        log = []
        @dataclasses.dataclass
        class D:
            n: int = 0
            def __post_init__(self):
                log.append(self.n)  # <-
        def f():
            return D(1)
        f()
    """,
    "dataclass_made": """
        import dataclasses
        @dataclasses.dataclass
        class D:
            n: int = 0
            xs: list = dataclasses.field(default_factory=list)
        def f():
            d = D(1)
            d.n = 2
            d.xs.append(1)
            return d
        f()
    """,
    "recursive_effect": """
        log = []
        def f(n):
            if n > 0:
                log.append(n)  # <-
                f(n - 1)
        f(3)
    """,
    "recursive_local": """
        def f(n):
            xs = []
            if n > 0:
                xs.append(n)
                xs += f(n - 1)
            return xs
        f(3)
    """,
    "raising": """
        def f(x):
            if x < 0:
                raise ValueError("negative")
            return x
        f(1)
    """,
    "flags_read": """
        from absl import flags
        FLAGS = flags.FLAGS
        flags.DEFINE_integer("n", 1, "a number")
        def f(x):
            return x * FLAGS.n
        f(1)
    """,
    "flags_written": """
        from absl import flags
        FLAGS = flags.FLAGS
        def f(x):
            FLAGS.n = x  # <-
        f(1)
    """,
    "string_methods": """
        def f(s):
            t = s.strip().split(",")
            b = s.encode().decode()
            c = "{}".format(s) + ",".join(t) + b.replace("a", "b")
            return c.upper(), b"a".hex(), b"a b".split()
        f("a")
    """,
    "number_functions": """
        import math
        def f(x, y):
            a = divmod(x, y)
            b = pow(x, y)
            return a, b, round(x), abs(y), sum([x, y], 1), math.gcd(x, y), math.comb(x, y)
        f(3, 2)
    """,
    "sum_of_lists": """
        def f(xss):
            out = sum(xss, [])
            out.append(1)
            return out
        f([[1], [2]])
    """,
    "from_keys": """
        def f(ks):
            d = dict.fromkeys(ks, 0)
            d["a"] = 1
            return d
        f(["a"])
    """,
    "iter_two_arguments": """
        log = []
        def read():
            log.append(1)  # <-
            return 1
        def f():
            for x in iter(read, 2):
                pass
        f()
    """,
    "heap_pushed": """
        import heapq
        h = []
        def f(x):
            heapq.heappush(h, x)  # <-
        f(1)
    """,
    "bisect_inserted": """
        import bisect
        h = []
        def f(x):
            bisect.insort(h, x)  # <-
        f(1)
    """,
    "operator_setitem": """
        import operator
        d = {}
        def f(x):
            operator.setitem(d, "a", x)  # <-
        f(1)
    """,
    "queue_put": """
        import queue
        q = queue.Queue()
        def f(x):
            q.put(x)  # <-
        f(1)
    """,
    "cached": """
        import functools
        @functools.lru_cache(maxsize=None)
        def g(x):
            return x
        def f(x):
            return g(x)
        f(1)
    """,
    "tuple_swap_of_arguments": """
        def f(xs):
            xs[0], xs[1] = xs[1], xs[0]  # <-
        f([1, 2])
    """,
    "for_target_item": """
        xs = [0]
        def f():
            for xs[0] in range(3):  # <-
                pass
        f()
    """,
    "with_target_attribute": """
        class C:
            def f(self, d):
                with d as self.handle:  # <-
                    pass
        import contextlib
        C().f(contextlib.nullcontext())
    """,
    "walrus": """
        def f(x):
            if (n := x) > 1:
                return n
            return 0
        f(1)
    """,
    "threading_lock": """
        import threading
        lock = threading.Lock()
        def f():
            with lock:
                return 1
        f()
    """,
    "progress_bar": """
        from tqdm import tqdm
        def f(xs):
            for x in tqdm(xs):  # <-
                pass
        f([1])
    """,
    "user_list_class": """
        class Stack(list):
            def push(self, x):
                self.append(x)  # <-
        s = Stack()
        def f(x):
            s.push(x)
        f(1)
    """,
    "user_dict_class": """
        class Table(dict):
            pass
        t = Table()
        def f(x):
            t["a"] = x  # <-
            t.update(b=1)  # <-
        f(1)
    """,
    "itertools_local": """
        import itertools
        def f(xs):
            return [a for a in itertools.chain(xs, xs)], next(itertools.count())
        f([1])
    """,
    "unpacked_iterator": """
        it = iter([1, 2])
        def f():
            a, b = it  # <-
            return a + b
        f()
    """,
    "starred_iterator": """
        it = iter([1, 2])
        def f():
            return max(*it)  # <-
        f()
    """,
    "yield_from_outer": """
        it = iter([1, 2])
        def gen():
            yield from it  # <-
        def f():
            return list(gen())
        f()
    """,
    "extend_with_iterator": """
        it = iter([1, 2])
        def f():
            xs = []
            xs.extend(it)  # <-
            return xs
        f()
    """,
    "isinstance_of_dicts": """
        from collections import OrderedDict
        log = []
        d = OrderedDict(a=1)
        def f():
            if isinstance(d, OrderedDict):
                log.append(1)  # <-
        f()
    """,
}
