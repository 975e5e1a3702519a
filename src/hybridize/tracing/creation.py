"""What makes variables, or other things of which a graph wants one and no more."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Class, Container, Func, Lib, LibInst, Lit, Value
from hybridize.library import registry
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.operands import operands
from hybridize.regex import regex
from hybridize.tracing.views import FrameView, ProjectView

#: Layers with weights, in every version of Keras.
_WEIGHTED: Final = regex(
    r"keras\.layers\.(BatchNormalization|Bidirectional|Conv\w+|Dense|DepthwiseConv\w+|Embedding|EinsumDense|GRU(Cell)?"
    r"|GroupNormalization|GroupQueryAttention|LSTM(Cell)?|LayerNormalization|LocallyConnected\w+|MultiHeadAttention"
    r"|Normalization|PReLU|RMSNormalization|ReversibleEmbedding|Separable\w+|SimpleRNN(Cell)?|SpectralNormalization)"
)
#: Layers that own a seed generator, which is a variable, from Keras 3 on.
_SEEDED: Final = regex(
    r"keras\.layers\.(AlphaDropout|AugMix|CutMix|Dropout|Gaussian\w+|MixUp|RandAugment|Random\w+|SpatialDropout\w+)"
    r"|keras\.random\.SeedGenerator"
)
#: Those of the weighted ones that may own such a generator, too.
_EARLY: Final = regex(r"Attention|Bidirectional|GRU|LSTM|RNN")
_CLASSES: Final = regex(r"keras\.(optimizers|metrics|applications(\.\w+)?)\.[A-Z]\w*")
#: What makes a model or layer anew, from another one or from a description.
_COPIES: Final = regex(r"keras\.models\.(clone_model|model_from_(json|config|yaml))|keras\.layers\.deserialize")
_MODELS: Final = regex(r"keras\.(models\.)?(Sequential|Model|Functional)")
_FROM_CONFIG: Final = ".from_config"
_FUNCTIONS: Final = regex(
    r"tf\.Variable|keras\.Variable|tf\.compat\.v1\.get_variable|tf\.random\.Generator(\.from_\w+)?"
    r"|tf\.random\.experimental\.Generator(\.from_\w+)?|keras\.backend\.variable|keras\.optimizers\.get"
    r"|\S+\.add_weight|\S+\.add_variable|tf\.summary\.create_file_writer"
    r"|tf\.compat\.v1\.(get_local_variable|layers\.(dense|batch_normalization|(separable_)?conv\w+))"
    r"|tf\.compat\.v1\.nn\.(static|dynamic|bidirectional_dynamic|static_bidirectional)_rnn"
)
_OWN_WEIGHTS: Final = frozenset({"add_weight", "add_variable"})
_QUEUES: Final = regex(r"tf\.queue\.\w*Queue")
_TABLES: Final = regex(r"tf\.lookup\.experimental\.(MutableHashTable|DenseHashTable)")


def makes_variables(view: FrameView, slot: int) -> str | None:
    """The name of what a call of the callable in a slot makes, if that owns variables; None otherwise."""
    for name in view.names(slot):
        if _FUNCTIONS.fullmatch(name) or _CLASSES.fullmatch(name) or _WEIGHTED.fullmatch(name):
            return name
        made = _weighted_owner(view, slot) if name.endswith(_FROM_CONFIG) else None
        if made is not None or _COPIES.fullmatch(name):
            return made or name
        if view.project.versions.may_have_keras(3) and _SEEDED.fullmatch(name):
            return name
    return None


def _weighted_owner(view: FrameView, slot: int) -> str | None:
    """The class of Keras with weights whose method a slot holds: a model or layer, or an object of one."""
    owners = view.value(view.receiver(slot))
    classes = (o.name if isinstance(o, Lib) else o.cls for o in owners if isinstance(o, (Lib, LibInst)))
    return next((name for name in classes if _WEIGHTED.fullmatch(name) or _MODELS.fullmatch(name)), None)


def may_own_variables(name: str) -> bool:
    """Whether what is called so may make something that owns variables, or a queue, in some version of Keras."""
    known = (_FUNCTIONS, _CLASSES, _WEIGHTED, _SEEDED, _QUEUES, _COPIES)
    return name.endswith(_FROM_CONFIG) or any(kind.fullmatch(name) for kind in known)


def is_table(name: str) -> bool:
    """Whether a class of this name is that of a mutable hash table."""
    return _TABLES.fullmatch(name) is not None


def builds_weights(project: ProjectView, value: Value) -> str | None:
    """The name of a class of the project whose instances make weights in their `build`, at the first call."""
    for cls in value:
        if isinstance(cls, Class) and any(n.endswith("layers.Layer") for n in registry.mro_names(cls)):
            cell = cls.fields.get("build")
            for func in cell.value if cell is not None else ():
                if isinstance(func, Func) and _adds_weights(func):
                    return str(cls.name)
    return None


def _adds_weights(func: Func) -> bool:
    return any(isinstance(i, ir.Attr) and i.name in _OWN_WEIGHTS for i in index_of(func.code).flat)


def makes_queue(view: FrameView, slot: int) -> str | None:
    """The name of a queue class that a call makes an object of."""
    return next((name for name in view.names(slot) if _QUEUES.fullmatch(name)), None)


def makes_table(view: FrameView, slot: int) -> str | None:
    """The name of a mutable hash table class that a call makes an object of."""
    return next((name for name in view.names(slot) if is_table(name)), None)


def once_kept(view: FrameView, made: ir.Call) -> int | None:
    """The slot of the key under which `d.setdefault(key, Dense(...))` keeps the first object of all that are made.

    That is enough where an object makes its variables when it is first called: those that are dropped make none.
    """
    if not is_built_late(view, made.function):
        return None
    flat = index_of(view.code)
    users = [i for i in flat.flat if made.target in operands(i)]
    if (
        len(users) != 1
        or not isinstance(users[0], ir.Call)
        or len(users[0].arguments) != 2
        or users[0].arguments[1][0] != made.target
    ):
        return None
    called = view.definition(users[0].function)
    if not isinstance(called, ir.Attr) or called.name != "setdefault":
        return None
    return int(users[0].arguments[0][0]) if _holds_dicts(view, called.owner) else None


def is_built_late(view: FrameView, slot: int) -> bool:
    """Whether what a call makes is a layer that makes its variables when it is first called."""
    names = view.names(slot)
    return bool(names) and all(_WEIGHTED.fullmatch(name) and not _EARLY.search(name) for name in names)


def _holds_dicts(view: FrameView, slot: int) -> bool:
    known = [o for o in view.value(slot) if not isinstance(o, Lit)]  # `cache = None`, at the end of a program
    return bool(known) and all(isinstance(o, Container) and o.kind == "dict" for o in known)
