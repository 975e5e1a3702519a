"""What Python itself and its standard library call back: special methods, threads, tests, enumerations, handlers.

Special methods belong to every class. Those whose result Python checks raise as graphs, since a graph gives a tensor.
"""

from __future__ import annotations

from typing import Final

SPECIAL: Final = """
graph | any | tensors
    __call__ __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__
    __rtruediv__ __itruediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __matmul__
    __rmatmul__ __imatmul__ __neg__ __pos__ __abs__ __invert__
raises | host | python | Python checks the type of the result, and a graph gives a tensor
    __bool__ __int__ __float__ __complex__ __index__ __str__ __repr__ __format__ __bytes__ __fspath__
    __length_hint__ __hash__ __sizeof__
raises | host | objects | it gives an object, which no graph returns
    __iter__ __aiter__ __anext__ __await__ __new__ __copy__ __deepcopy__ __reduce__ __reduce_ex__ __getnewargs__
    __getnewargs_ex__ __class_getitem__ __prepare__ __init_subclass__ __set_name__ __subclasshook__
    __mro_entries__
raises | host | arrays | NumPy wants an array, and a graph gives a tensor
    __array__ __array_ufunc__ __array_function__ __array_wrap__ __array_finalize__ __array_prepare__
    __array_interface__
raises | host | objects | tracing itself calls it, without end
    __getattribute__ __instancecheck__ __subclasscheck__ __tf_tracing_type__ __tf_flatten__ __tf_unflatten__
    __tf_function__
differs | host | nothing | it changes an object while it is traced, and no more
    __setattr__ __delattr__ __setstate__ __set__ __delete__ __setitem__ __delitem__
differs | host | python | names and numbers become tensors
    __dir__ __getstate__
unproven | host | python | Python goes on with the result
    __len__ __contains__ __next__ __reversed__ __lt__ __le__ __gt__ __ge__ __ne__ __round__ __trunc__ __floor__
    __ceil__ __divmod__ __rdivmod__ __and__ __or__ __xor__ __rand__ __ror__ __rxor__ __lshift__ __rshift__
unproven | host | python | tracing compares receivers and arguments with it
    __eq__
unproven | host | anything | slices, texts and numbers are traced anew for each, and slices raise
    __getitem__ __missing__
unproven | host | anything | Python calls it at places where no call is written
    __getattr__ __get__ __enter__ __exit__ __aenter__ __aexit__ __del__
unproven | host | nothing | it runs once for each object, and the fields that it sets would hold tensors of the graph
    __init__ __post_init__ __attrs_post_init__
unproven | any | tensors | TensorFlow converts arguments with it
    __tf_tensor__
"""
_TEST: Final = """
differs | host | nothing | it makes what the tests read: tensors of the graph, which raise when they are read outside
    setUp tearDown setUpClass tearDownClass asyncSetUp asyncTearDown setUpModule
"""
_THREAD: Final = """
unproven | host | nothing | it runs once, in another thread or process
    run start join
"""
_ENUM: Final = """
raises | host | objects | it gives a member of the enumeration
    _missing_ _generate_next_value_
"""
#: By the name of a class of the standard library.
TABLES: Final = {
    "unittest.TestCase": _TEST,
    "np.testing.TestCase": _TEST,
    "threading.Thread": _THREAD,
    "multiprocessing.Process": _THREAD,
    "enum.Enum": _ENUM,
}
#: Classes that call nothing back but special methods, and what they are made of.
NEUTRAL: Final = frozenset(
    "builtins.object abc.ABC typing.Generic typing.Protocol typing.NamedTuple typing_extensions.Protocol "
    "typing_extensions.Generic typing_extensions.NamedTuple types.SimpleNamespace contextlib.ContextDecorator "
    "enum.Enum enum.IntEnum enum.StrEnum enum.Flag enum.IntFlag collections.abc.Callable collections.abc.Hashable "
    "collections.abc.Sized collections.abc.Iterable collections.abc.Iterator collections.abc.Container "
    "collections.abc.Collection collections.abc.Sequence collections.abc.Mapping "
    "numbers.Number".split()
)
