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
    "iterators_of_its_own_in_lists": """
        def counted(n):
            for i in range(n):
                yield i
        def f(xs):
            its = [counted(2), map(abs, xs)]
            its.append(zip(xs, xs))
            first = next(its[0]), next(its[1]), next(its[2])
            pairs = [pair for pair in zip(*its)]
            more = [counted(n) for n in (2, 3)]
            return first, pairs, list(zip(*more)), list(zip(*(counted(1), enumerate(xs))))
        f([1, 2])
    """,
    "iterator_from_outside_among_its_own": """
        source = map(int, ["1", "2"])
        def f(xs):
            its = [map(abs, xs), source]
            return list(zip(*its))  # <-
        f([1, 2])
    """,
    "iterator_from_outside_appended": """
        source = map(int, ["1", "2"])
        def f(xs):
            its = []
            its.append(source)
            return next(its[0])  # <-
        f([1, 2])
    """,
    "iterator_from_outside_extended": """
        source = map(int, ["1", "2"])
        def f(xs):
            its = [map(abs, xs)]
            its.extend([source])
            return next(its[1])  # <-
        f([1, 2])
    """,
    "iterators_of_the_caller_zipped": """
        def f(its):
            return list(zip(*its))  # <-
        f([map(int, ["1"]), map(int, ["2"])])
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
    "method_of_attribute_object": """
        class Log:
            def __init__(self):
                self.xs = []
            def add(self, x):
                self.xs.append(x)  # <-
        class C:
            def __init__(self):
                self.log = Log()
            def f(self, x):
                self.log.add(x)
        C().f(1)
    """,
    "alias_of_global": """
        log = []
        def f(x):
            a = log
            b = a
            b.append(x)  # <-
        f(1)
    """,
    "element_of_global": """
        logs = [[], []]
        def f(x):
            logs[0].append(x)  # <-
        f(1)
    """,
    "element_of_local_holding_outer": """
        log = []
        def f(x):
            logs = [log]
            logs[0].append(x)  # <-
        f(1)
    """,
    "array_in_local_list": """
        import numpy as np
        a = np.zeros(3)
        def f():
            parts = [a]
            parts[0][0] = 1  # <-
        f()
    """,
    "array_handed_out": """
        import numpy as np
        a = np.zeros(3)
        def get():
            return a
        def f():
            get()[0] = 1  # <-
        f()
    """,
    "array_fresh_from_function": """
        import numpy as np
        def get():
            return np.zeros(3)
        def f():
            b = get()
            b[0] = 1
            return b
        f()
    """,
    "array_view": """
        import numpy as np
        def f(a):
            b = a.reshape(-1)
            b[0] = 1  # <-
        f(np.zeros((2, 2)))
    """,
    "array_copied": """
        import numpy as np
        def f(a):
            b = a.copy()
            b[0] = 1
            c = a + 1
            c += 1
            d = np.array(a)
            d[0] = 2
            return b, c, d
        f(np.zeros(3))
    """,
    "array_slice_view": """
        import numpy as np
        def f(a):
            b = a[1:]
            b[0] = 1  # <-
        f(np.zeros(3))
    """,
    "array_transposed": """
        import numpy as np
        def f(a):
            a.T[0] = 1  # <-
        f(np.zeros((2, 2)))
    """,
    "array_captured_by_nested": """
        import numpy as np
        def f():
            a = np.zeros(3)
            def put(i):
                a[i] = 1
            put(0)
            return a
        f()
    """,
    "array_captured_outer": """
        import numpy as np
        def f(a):
            def put(i):
                a[i] = 1  # <-
            put(0)
        f(np.zeros(3))
    """,
    "array_in_local_object": """
        import numpy as np
        class D:
            pass
        def f():
            d = D()
            d.a = np.zeros(3)
            d.a[0] = 1
            return d
        f()
    """,
    "array_keyword": """
        import numpy as np
        def fill(a, value):
            a[:] = value
        def f():
            b = np.empty(3)
            fill(value=1, a=b)
            return b
        f()
    """,
    "array_two_calls_deep": """
        import numpy as np
        def inner(a):
            a[0] = 1  # <-
        def middle(a):
            inner(a)
        def f(a):
            middle(a)
        f(np.zeros(3))
    """,
    "array_two_calls_deep_local": """
        import numpy as np
        def inner(a):
            a[0] = 1
        def middle(a):
            inner(a)
        def f():
            a = np.zeros(3)
            middle(a)
            return a
        f()
    """,
    "static_method": """
        log = []
        class C:
            @staticmethod
            def f(x):
                log.append(x)  # <-
        C.f(1)
    """,
    "inherited_effect": """
        class B:
            def __init__(self):
                self.n = 0
            def step(self):
                self.n += 1  # <-
        class C(B):
            def f(self):
                self.step()
        C().f()
    """,
    "init_of_local_writes_class": """
        class D:
            made = 0
            def __init__(self):
                D.made += 1  # <-
        def f():
            return D()
        f()
    """,
    "exception_branch": """
        log = []
        def f(x):
            try:
                return int(x)
            except ValueError as e:
                log.append(e)  # <-
                return 0
        f("a")
    """,
    "finally_branch": """
        log = []
        def f(x):
            try:
                return x
            finally:
                log.append(x)  # <-
        f(1)
    """,
    "while_loop": """
        log = []
        def f(n):
            while n:
                n -= 1
                log.append(n)  # <-
        f(3)
    """,
    "match_statement": """
        log = []
        def f(x):
            match x:
                case 1:
                    log.append(x)  # <-
                case _:
                    pass
        f(1)
    """,
    "conditional_expression": """
        log = []
        def f(x):
            return log.append(x) if x else None  # <-
        f(1)
    """,
    "boolean_operator": """
        log = []
        def f(x):
            return x and log.append(x)  # <-
        f(1)
    """,
    "default_argument_call": """
        log = []
        def f(x, sink=log.append):
            sink(x)  # <-
        f(1)
    """,
    "starred_call": """
        log = []
        def put(*xs):
            log.extend(xs)  # <-
        def f(*xs):
            put(*xs)
        f(1, 2)
    """,
    "lambda_in_dict": """
        log = []
        table = {"a": lambda x: log.append(x)}  # <-
        def f(x):
            table["a"](x)
        f(1)
    """,
    "lambda_in_attribute": """
        class C:
            def __init__(self, g):
                self.g = g
            def f(self, x):
                self.g(x)
        log = []
        C(lambda x: log.append(x)).f(1)  # <-
    """,
    "returned_closure_called": """
        def make():
            xs = []
            def put(x):
                xs.append(x)  # <-
            return put
        put = make()
        def f(x):
            put(x)
        f(1)
    """,
    "local_closure_called": """
        def make():
            xs = []
            def put(x):
                xs.append(x)
                return xs
            return put
        def f(x):
            return make()(x)
        f(1)
    """,
    "method_decorator_class": """
        class Counted:
            def __init__(self, g):
                self.g = g
                self.n = 0
            def __call__(self, x):
                self.n += 1  # <-
                return self.g(x)
        @Counted
        def g(x):
            return x
        def f(x):
            return g(x)
        f(1)
    """,
    "decorator_with_arguments": """
        def logged(level):
            def outer(g):
                def inner(x):
                    print(level)  # <-
                    return g(x)
                return inner
            return outer
        @logged(1)
        def g(x):
            return x
        def f(x):
            return g(x)
        f(1)
    """,
    "cached_property_read": """
        import functools
        class D:
            @functools.cached_property
            def n(self):
                print("made")  # <-
                return 1
        def f(d):
            return d.n
        f(D())
    """,
    "contextlib_redirect": """
        import contextlib, io
        def f():
            with contextlib.redirect_stdout(io.StringIO()):  # <-
                pass
        f()
    """,
    "contextlib_suppress": """
        import contextlib
        def f(x):
            with contextlib.suppress(ValueError):
                return int(x)
        f("1")
    """,
    "exit_effect": """
        class D:
            def __init__(self):
                self.n = 0
            def __enter__(self):
                return self
            def __exit__(self, *a):
                self.n -= 1  # <-
        def f(d):
            with d:
                pass
        f(D())
    """,
    "exit_of_contextmanager": """
        import contextlib
        log = []
        @contextlib.contextmanager
        def noted():
            try:
                yield
            finally:
                log.append(1)  # <-
        def f():
            with noted():
                pass
        f()
    """,
    "string_io_local": """
        import io
        def f():
            s = io.StringIO()
            s.write("a")
            return s.getvalue()
        f()
    """,
    "print_to_local": """
        import io
        def f(x):
            s = io.StringIO()
            print(x, file=s)
            return s.getvalue()
        f(1)
    """,
    "print_to_file": """
        def f(h, x):
            print(x, file=h)  # <-
        f(open("a"), 1)
    """,
    "local_queue": """
        import queue
        def f():
            q = queue.Queue()
            q.put(1)
            return q.get()
        f()
    """,
    "local_heap": """
        import heapq
        def f(xs):
            h = []
            for x in xs:
                heapq.heappush(h, x)
            return heapq.heappop(h)
        f([1])
    """,
    "local_deque": """
        from collections import deque, Counter, OrderedDict
        def f(xs):
            q = deque(xs)
            q.append(1)
            q.popleft()
            c = Counter(xs)
            c["a"] += 1
            c.update(xs)
            o = OrderedDict()
            o["a"] = 1
            o.move_to_end("a")
            return q, c, o
        f([1])
    """,
    "local_random": """
        import random
        def f():
            r = random.Random(1)
            return r.random()
        f()
    """,
    "pickle_dumps": """
        import pickle
        def f(x):
            return pickle.loads(pickle.dumps(x))
        f(1)
    """,
    "json_dumps": """
        import json
        def f(x):
            return json.loads(json.dumps(x))
        f([1])
    """,
    "os_path": """
        import os
        def f(a):
            return os.path.join(a, "b"), os.path.basename(a), os.path.exists(a), os.getcwd()
        f("a")
    """,
    "regular_expression": """
        import re
        P = re.compile("a")
        def f(s):
            return P.sub("b", s), re.findall("a", s), P.match(s)
        f("a")
    """,
    "string_formatting": """
        def f(x):
            return "%d" % x, "{}".format(x), f"{x:>3}", str(x).join(["a"])
        f(1)
    """,
    "time_formatted": """
        import time
        def f(t):
            return time.strftime("%Y", t)
        f(time.localtime())
    """,
    "tf_print": """
        import tensorflow as tf
        def f(x):
            tf.print(x)
            return x
        f(tf.constant(1))
    """,
    "tf_seed": """
        import tensorflow as tf
        def f():
            tf.random.set_seed(1)  # <-
        f()
    """,
    "tf_optimizer": """
        import tensorflow as tf
        opt = tf.keras.optimizers.SGD()
        v = tf.Variable(1.0)
        def f(x):
            with tf.GradientTape() as tape:
                loss = v * x
            opt.apply_gradients([(tape.gradient(loss, v), v)])
            return loss
        f(tf.constant(1.0))
    """,
    "keras_metric": """
        import tensorflow as tf
        m = tf.keras.metrics.Mean()
        def f(x):
            m.update_state(x)
            return m.result()
        f(tf.constant(1.0))
    """,
    "keras_layer": """
        import tensorflow as tf
        class L(tf.keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.d = tf.keras.layers.Dense(2)
            def f(self, x):
                return tf.nn.relu(self.d(x))
        L().f(tf.ones([1, 2]))
    """,
    "keras_training_step": """
        import tensorflow as tf
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        opt = tf.keras.optimizers.Adam()
        losses = []
        def f(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            g = tape.gradient(loss, model.trainable_variables)
            opt.apply_gradients(zip(g, model.trainable_variables))
            return loss
        f(tf.ones([1, 2]), tf.ones([1, 1]))
    """,
    "tf_summary": """
        import tensorflow as tf
        def f(x):
            tf.summary.scalar("a", x, step=1)
            return x
        f(tf.constant(1.0))
    """,
    "tensor_array": """
        import tensorflow as tf
        def f(x):
            ta = tf.TensorArray(tf.float32, size=2)
            ta = ta.write(0, x)
            return ta.stack()
        f(tf.constant(1.0))
    """,
    "map_fn_effect": """
        import tensorflow as tf
        log = []
        def f(x):
            return tf.map_fn(lambda e: log.append(e) or e, x)  # <-
        f(tf.ones([2]))
    """,
    "dataset_map_harmless": """
        import tensorflow as tf
        def f(ds):
            return ds.map(lambda e: e + 1).batch(2)
        f(tf.data.Dataset.range(3))
    """,
    "enum_member": """
        import enum
        class Color(enum.Enum):
            RED = 1
        def f(x):
            return Color.RED if x else Color(1)
        f(1)
    """,
    "named_tuple": """
        from collections import namedtuple
        P = namedtuple("P", "a b")
        def f(x):
            p = P(x, 2)
            return p._replace(a=3), p.a
        f(1)
    """,
    "set_operations": """
        s = {1}
        def f(t):
            return s | t, s & t, s - t, s.union(t), s.copy()
        f({2})
    """,
    "dict_merge": """
        d = {"a": 1}
        def f(e):
            return {**d, **e}, d | e, dict(d, b=1), dict(e)
        f({"b": 2})
    """,
    "list_operations": """
        xs = [1]
        def f(ys):
            return xs + ys, xs * 2, xs[::-1], sorted(xs), xs.index(1), xs.count(1), xs.copy()
        f([2])
    """,
    "augmented_local_alias_of_tuple": """
        t = (1,)
        def f(x):
            u = t
            u += (x,)
            n = 1
            n += x
            s = "a"
            s += "b"
            return u, n, s
        f(1)
    """,
    "augmented_alias_of_list": """
        xs = [1]
        def f():
            ys = xs
            ys += [2]  # <-
        f()
    """,
    "try_import": """
        def f():
            try:
                import json
            except ImportError:
                json = None
            return json
        f()
    """,
    "memo_dictionary": """
        memo = {}
        def f(n):
            if n not in memo:
                memo[n] = n * 2  # <-
            return memo[n]
        f(2)
    """,
    "lazily_made": """
        class C:
            def __init__(self):
                self.x = None
            def f(self):
                if self.x is None:
                    self.x = 1  # <-
                return self.x
        C().f()
    """,
    "class_made_inside": """
        def f():
            class D:
                n = 0
                def put(self):
                    D.n = 1
            D().put()
            return D
        f()
    """,
    "thread_started": """
        import threading
        log = []
        def work():
            log.append(1)  # <-
        def f():
            threading.Thread(target=work).start()
        f()
    """,
    "iterator_made_from_argument": """
        def f(xs):
            return [a for a in iter(xs)], list(map(str, xs)), dict(zip(xs, xs)), any(x for x in xs)
        f([1])
    """,
    "iterator_in_local_list": """
        it = iter([1])
        def f():
            its = [it]
            return next(its[0])  # <-
        f()
    """,
    "iterator_by_islice": """
        import itertools
        it = iter([1])
        def f():
            return list(itertools.islice(it, 1))  # <-
        f()
    """,
    "iterator_by_zip": """
        it = iter([1])
        def f(xs):
            return [a for a, b in zip(it, xs)]  # <-
        f([1])
    """,
    "iterator_membership": """
        it = iter([1])
        def f():
            return 1 in it  # <-
        f()
    """,
    "iterator_joined": """
        it = iter(["a"])
        def f():
            return ",".join(it)  # <-
        f()
    """,
    "csv_reader_next": """
        import csv
        r = csv.reader(open("a"))
        def f():
            return next(r)  # <-
        f()
    """,
    "file_readline": """
        h = open("a")
        def f():
            return h.readline()  # <-
        f()
    """,
    "tokenizer_state": """
        class Tok:
            def __init__(self):
                self.vocab = {}
            def encode(self, s):
                return [self.vocab.setdefault(w, len(self.vocab)) for w in s.split()]  # <-
        tok = Tok()
        def f(s):
            return tok.encode(s)
        f("a b")
    """,
    "computed_getattr_call": """
        class D:
            def put(self):
                self.n = 1  # <-
        def f(d):
            getattr(d, "put")()
        f(D())
    """,
    "unpacking_targets": """
        class C:
            def f(self, pair):
                self.a, self.b = pair  # <-
        C().f((1, 2))
    """,
    "star_target": """
        class C:
            def f(self, pair):
                a, *self.rest = pair  # <-
        C().f((1, 2))
    """,
    "nested_function_unused": """
        log = []
        def f(x):
            def put():
                log.append(x)
            return x
        f(1)
    """,
    "delete_local": """
        def f(x):
            y = x
            del y
            d = {"a": 1}
            del d["a"]
            return d
        f(1)
    """,
    "copied_object": """
        import copy
        class D:
            def __init__(self):
                self.n = 0
        def f(d):
            e = copy.copy(d)
            e.n = 2
            return e
        f(D())
    """,
    "slice_of_outer_list": """
        xs = [1, 2, 3]
        def f():
            ys = xs[1:]
            ys.append(1)
            ys[0] = 2
            return ys
        f()
    """,
    "numpy_random_seeded": """
        import numpy as np
        def f():
            np.random.seed(0)  # <-
        f()
    """,
    "numpy_copyto": """
        import numpy as np
        def f(a, b):
            np.copyto(a, b)  # <-
        f(np.zeros(3), np.ones(3))
    """,
    "numpy_put": """
        import numpy as np
        def f(a):
            np.fill_diagonal(a, 1)  # <-
        f(np.zeros((3, 3)))
    """,
    "numpy_pure": """
        import numpy as np
        def f(a):
            return np.sort(a), np.append(a, 1), np.insert(a, 0, 1), np.delete(a, 0), a.sum(), np.linalg.norm(a)
        f(np.zeros(3))
    """,
    "numpy_printoptions": """
        import numpy as np
        def f():
            np.set_printoptions(precision=2)  # <-
        f()
    """,
    "pandas_column": """
        import pandas as pd
        df = pd.DataFrame({"a": [1]})
        def f():
            df["b"] = 1  # <-
        f()
    """,
    "gc_collected": """
        import gc
        def f():
            gc.collect()  # <-
        f()
    """,
    "sys_exit": """
        import sys
        def f():
            sys.exit(1)  # <-
        f()
    """,
    "recursion_limit": """
        import sys
        def f():
            sys.setrecursionlimit(10)  # <-
        f()
    """,
    "input_read": """
        def f():
            return input()  # <-
        f()
    """,
    "lazily_filled": """
        memo = {}
        def f(x):
            if not memo:
                memo["a"] = x  # <-
            return memo
        f(1)
    """,
    "lazily_filled_by_length": """
        memo = {}
        def f(x):
            if len(memo) == 0:
                memo["a"] = x  # <-
            return memo
        f(1)
    """,
}
