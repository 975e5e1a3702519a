"""What stands in the place of a watched function: called, it runs the function eagerly, as a graph, or both."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from .novelty import Novelty
from .signatures import Signatures

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Shadow:
    """A watched function. Like one made by `tf.function` it binds to instances by itself.

    Args:
        watcher: decides how each call is run.
        record: what is known of the function.
        function: as it was defined.
        decorator: makes a hybrid function of it.
    """

    #: AutoGraph leaves alone what has this.
    autograph_info__: Any = ()

    def __init__(self, watcher: Any, record: Any, function: Any, decorator: Callable[[Any], Any]) -> None:
        try:
            functools.update_wrapper(self, function)
        except (AttributeError, TypeError):
            pass
        self.__hybridize_function__ = function
        self.__hybridize__ = Subject(watcher, record, function, decorator)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The function's call."""
        subject = self.__hybridize__
        return subject.watcher.call(Call(subject, [], None, args, keywords))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bound, as a method."""
        return self if instance is None else Bound(self, instance, owner)

    def __reduce__(self) -> str:
        return str(self.__hybridize_function__.__qualname__)

    def __copy__(self) -> Shadow:
        return self

    def __deepcopy__(self, memo: Any) -> Shadow:
        return self

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__hybridize_function__)

    @property
    def _tf_decorator(self) -> Any:
        return _tf_decorator(self.__hybridize_function__)


class Bound:
    """A watched function bound to an instance (or a class)."""

    autograph_info__: Any = ()

    def __init__(self, shadow: Shadow, instance: Any, owner: Any) -> None:
        self.__shadow = shadow
        self.__instance = instance
        self.__owner = owner

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The method's call."""
        subject = self.__shadow.__hybridize__
        instance = self.__instance
        # This object and two names here are all that holds it: a hybrid function would not have kept it alive.
        temporary = sys.getrefcount(instance) <= 3 and not isinstance(instance, type)
        call = Call(subject, [instance], self.__owner, args, keywords, temporary)
        if temporary:
            self.__instance = None
        del instance
        return subject.watcher.call(call)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__shadow, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bound) and self.__method == other.__method

    def __hash__(self) -> int:
        return hash(self.__method)

    def __reduce__(self) -> Any:
        return getattr, (self.__instance, self.__shadow.__hybridize_function__.__name__)

    @property
    def __method(self) -> Any:
        return types.MethodType(self.__shadow.__hybridize_function__, self.__instance)

    @property
    def __self__(self) -> Any:
        return self.__instance

    @property
    def __func__(self) -> Any:
        return self.__shadow.__hybridize_function__

    @property
    def __wrapped__(self) -> Any:
        return self.__method

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__method)

    @property
    def _tf_decorator(self) -> Any:
        return _tf_decorator(self.__method)


def _tf_decorator(target: Any) -> Any:
    """What TensorFlow's and Keras' own inspection follows to the function."""
    import importlib

    return importlib.import_module("tensorflow.python.util.tf_decorator").TFDecorator("hybridize", target)


class Subject:
    """One definition of a watched function: the function, and its hybrid form, made anew when its traces are void."""

    def __init__(self, watcher: Any, record: Any, function: Any, decorator: Callable[[Any], Any]) -> None:
        self.watcher, self.record, self.function, self.decorator = watcher, record, function, decorator
        self.hybrid = decorator(function)
        self.signatures = Signatures(watcher.tf, function)
        self.seen: dict[Any, int] = {}  # calls by signature
        self.parts: dict[Any, dict[str, list[Any]]] = {}  # by receiver: what each parameter got
        self.counts: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self.known: set[Any] = set()  # signatures that were traced
        self.novelties: dict[int, Novelty] = {}  # by receiver
        self.renewed = False
        self.touched: bool | None = None  # whether computing gradients through it changes state
        self.noted: Any = None  # the variables that were last noted as made by a graph
        self._makers: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()  # receivers whose graphs made variables

    def creates(self, instance: Any) -> bool:
        """Notes that a graph of this receiver made variables; true if one did before: that may be only once."""
        key = self if instance is None else instance
        try:
            if key in self._makers:
                return True
            self._makers[key] = True
        except TypeError:  # neither hashable nor weakly referable
            pass
        return False

    def made(self) -> bool:
        """Whether traces of this hybrid function made variables."""
        bound = list(getattr(self.hybrid, "_descriptor_cache", {}).values())
        return any(getattr(form, "_created_variables", None) for form in (self.hybrid, *bound))

    def renew(self) -> None:
        """A hybrid function without traces: the present one holds objects that the program does not."""
        self.hybrid = self.decorator(self.function)
        self.renewed = True


class Call:
    """One call of a watched function; `temporary`: nothing else holds the instance that it is bound to."""

    __slots__ = ("_box", "arguments", "owner", "subject", "temporary")

    def __init__(
        self, subject: Subject, box: list[Any], owner: Any, args: Any, keywords: Any, temporary: bool = False
    ) -> None:
        self.subject, self._box, self.owner, self.temporary = subject, box, owner, temporary
        self.arguments: Arguments = (args, keywords)

    @property
    def instance(self) -> Any:
        """What it is bound to, or None."""
        return self._box[0] if self._box else None

    def forget(self) -> None:
        """Lets go of the instance."""
        self._box.clear()

    @property
    def receiver(self) -> int:
        """The identity of what it is bound to (0: nothing)."""
        return 0 if self.instance is None else id(self.instance)

    def reference(self) -> Any:
        """What the program has without the conversion, bound: as a rule the function as it was defined."""
        return self._hybrid() if self.subject.record.reverse else self._plain()

    def candidate(self) -> Any:
        """What the conversion makes of it, bound. May raise: a hybrid function can't be bound to everything."""
        return self._plain() if self.subject.record.reverse else self._hybrid()

    def _plain(self) -> Any:
        function = self.subject.function
        return function if self.instance is None else function.__get__(self.instance, self.owner)

    def _hybrid(self) -> Any:
        hybrid = self.subject.hybrid
        return hybrid if self.instance is None else hybrid.__get__(self.instance, self.owner)

    def holders(self) -> list[tuple[str, Any]]:
        """What leads to state that is not among the arguments: the receiver and the function."""
        function = (getattr(self.subject.function, "__name__", "function"), self.subject.function)
        return [function] if self.instance is None else [("self", self.instance), function]

    def bound(self) -> list[tuple[str, Any]]:
        """Parameters with their arguments."""
        args, keywords = self.arguments
        if self.instance is not None:
            args = (self.instance, *args)
        return self.subject.signatures.bind(args, keywords)
