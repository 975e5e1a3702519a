"""Programs: absl, click, fire, typer, hydra, gin, tqdm, six, wandb, mlflow, numba, tree, easydict and other helpers."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    FLOAT_V,
    INT_V,
    NONE_V,
    STR_V,
    Class,
    Container,
    Tup,
    Value,
    lib,
    optional_int,
    prim,
    stream,
    tup,
    unknown,
)
from hybridize.library.python.functions import FUNCTIONS as BUILTINS
from hybridize.library.python.rules import (
    SCALAR_V,
    call_back,
    decorator,
    decorator_factory,
    functions_in,
    give,
    instance,
    integer,
    iterator_of,
    itself,
    listed,
    methods,
    nothing,
    opaque,
    parsed,
    pass_through,
    properties,
    recall,
    remember,
    same,
    table,
    text,
    truth,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec

# Starting programs ----------------------------------------------------------------------------------------------------


def _run_main(call: Call) -> Value:
    """`app.run(main)` calls `main` with the arguments that are left."""
    call_back(call, functions_in(call.arg(0, "main")), call.list_of(STR_V, "list", "argv"))
    return BOTTOM


def _fire(call: Call) -> Value:
    """`fire.Fire(f)` calls `f` (or the methods of a class) with values from the command line."""
    for obj in functions_in(call.arg(0, "component")):
        code = getattr(obj, "code", None)
        if isinstance(obj, Class):
            call.call(obj.value)
            continue
        params = [p for p in getattr(code, "params", ()) if not p.has_default and not p.is_starred]
        call.call(obj.value, *[SCALAR_V] * len(params))
    return NONE_V


def _command(call: Call) -> Value:
    """`@click.command()`, `@click.option(...)`: the function stays what it is."""
    return decorator(call) if functions_in(call.arg(0)) else pass_through()


def _flag(kind: Value) -> Rule:
    """`DEFINE_integer(name, default, help)`: also gives a holder whose `value` the flag is."""

    def rule(call: Call) -> Value:
        default = call.arg(1, "default")
        return instance("absl.flags.FlagHolder", value=join(kind, default))(call)

    return rule


def _number(default: Value) -> Value:
    return join(optional_int(default), default)


def _texts(call: Call) -> Value:
    return instance("absl.flags.FlagHolder", value=call.list_of(STR_V))(call)


_FLAGS: Final[dict[str, Rule]] = {
    "DEFINE_string": _flag(STR_V),
    "DEFINE_enum": _flag(STR_V),
    "DEFINE_integer": lambda call: instance("absl.flags.FlagHolder", value=_number(call.arg(1, "default")))(call),
    "DEFINE_float": _flag(FLOAT_V),
    "DEFINE_bool": _flag(BOOL_V),
    "DEFINE_boolean": _flag(BOOL_V),
    "DEFINE": _flag(SCALAR_V),
    "DEFINE_enum_class": _flag(SCALAR_V),
    "DEFINE_alias": _flag(SCALAR_V),
    "DEFINE_list": _texts,
    "DEFINE_multi_string": _texts,
    "DEFINE_spaceseplist": _texts,
    "DEFINE_multi_integer": lambda call: instance("absl.flags.FlagHolder", value=call.list_of(INT_V))(call),
    "DEFINE_multi_float": lambda call: instance("absl.flags.FlagHolder", value=call.list_of(FLOAT_V))(call),
    "adopt_module_key_flags": nothing,
    "declare_key_flag": nothing,
    "mark_flag_as_required": nothing,
    "mark_flags_as_required": nothing,
    "register_validator": nothing,
    "set_default": nothing,
}
_FLAG_MODULES: Final = ("absl.flags", "gflags")
_LOGS: Final = (
    "info debug warning warn error fatal exception log vlog log_first_n log_every_n log_if log_every_n_seconds"
)

# Progress bars --------------------------------------------------------------------------------------------------------


def _bar(call: Call) -> Value:
    """`tqdm(iterable)`: prints, and gives the elements on."""
    made = call.made("tqdm.tqdm")
    call.keep(made, "iterable", call.arg(0, "iterable"))
    return made.value


def _bar_range(call: Call) -> Value:
    made = call.made("tqdm.tqdm")
    call.keep(made, "iterable", stream("range", prim("int", True).value).value)
    return made.value


def _bar_elements(call: Call) -> Value:
    call.effect("print", "a progress bar")
    over = frozenset(o for o in recall(call, "iterable") if o is not call.receiver)  # `self.items = tqdm(self.items)`
    element = call.elements(over)
    return element if call.name == "iter" else iterator_of(call, element)


def _bar_constructed(call: Call) -> Value:
    remember(call, "iterable", call.arg(0, "iterable"))
    return NONE_V


def _mapped(call: Call) -> Value:
    items = [call.elements(value) for value in call.args[1:]]
    return call.list_of(call_back(call, call.arg(0), *items) if items and all(items) else BOTTOM)


_BAR: Final = ClassSpec(
    methods={
        **methods(
            "update refresh close clear set_description set_postfix set_postfix_str set_description_str reset "
            "display unpause",
            nothing,
            "print",
        ),
        **methods("write", nothing, "print"),
        "__iter__": Spec(_bar_elements),
        "__enter__": Spec(itself, effects=("print",)),
        "__len__": Spec(integer),
        "__init__": Spec(_bar_constructed, effects=("print",)),
    },
    properties={"n": integer, "total": integer},
    make=_bar,
    effects=("print",),
)
_BAR_NAMES: Final = (
    "tqdm.tqdm",
    "tqdm.auto.tqdm",
    "tqdm.notebook.tqdm",
    "tqdm.std.tqdm",
    "tqdm.autonotebook.tqdm",
    "tqdm.rich.tqdm",
    "tqdm.asyncio.tqdm",
    "tqdm.tqdm_notebook",
    "tqdm.gui.tqdm",
)

# six, future, past ----------------------------------------------------------------------------------------------------


def _method(name: str) -> Rule:
    def rule(call: Call) -> Value:
        found = call.engine.attributes.get_attrs(call.frame, call.arg(0), name, call.pos)
        return call.call(found, *call.args[1:])

    return rule


def _builtin(name: str) -> Spec:
    return BUILTINS[f"builtins.{name}"]


# Nested structures ----------------------------------------------------------------------------------------------------


def leaves(call: Call, value: Value, depth: int = 6) -> Value:
    """What nested lists, tuples and dicts hold at last."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, (Container, Tup)) and depth:
            inner = call.values(obj) if isinstance(obj, Container) else call.elements(obj.value)
            result = join(result, leaves(call, inner, depth - 1))
        else:
            result = join(result, obj.value)
    return result


def _structure_map(call: Call) -> Value:
    """`tree.map_structure(f, a, b)`: tuples keep their form, the leaves of other containers are mixed."""
    mapped = _mapped_structure(call, list(call.args[1:]), 4)
    return mapped or unknown("a mapped structure").value


def _mapped_structure(call: Call, values: list[Value], depth: int) -> Value:
    first = values[0] if values else BOTTOM
    if len(first) == 1 and depth:
        (obj,) = first
        if isinstance(obj, Tup) and len(values) == 1:
            return tup([_mapped_structure(call, [i], depth - 1) for i in obj.items], obj.kind, obj.names).value
        if isinstance(obj, Container):
            inner = [leaves(call, value) for value in values]
            made = call.new(obj.kind, f"structure{depth}")
            call.engine.cells.lose_exactness(made)
            call.write(made.rest_cell(), call_back(call, call.arg(0), *inner))
            return made.value
    return call_back(call, call.arg(0), *[leaves(call, value) for value in values]) if all(values) else BOTTOM


def _access(call: Call) -> Value:
    """`EasyDict(d)`: a dict whose keys are attributes."""
    made = call.made("easydict.EasyDict")
    for obj in call.arg(0):
        if isinstance(obj, Container) and obj.kind == "dict":
            for key, item in call.engine.cells.items(call.frame, obj):
                if isinstance(key, str):
                    call.keep(made, key, item)
    for key, value in call.kwargs.items():
        call.keep(made, key, value)
    return made.value


def _access_item(call: Call) -> Value:
    key = call.constant(0, "")
    return (recall(call, key) if isinstance(key, str) else BOTTOM) or SCALAR_V


_SIX_NAMES: Final = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys", "viewitems": "items"}
_EXPERIMENTS: Final = ("wandb", "mlflow", "neptune", "comet_ml", "clearml")
_WRAPPERS: Final = (
    "typeguard.typechecked",
    "deprecated.deprecated",
    "numba.jit",
    "numba.njit",
    "numba.vectorize",
    "numba.guvectorize",
    "numba.cuda.jit",
    "numba.experimental.jitclass",
    "wrapt.decorator",
    "gin.configurable",
    "gin.external_configurable",
    "gin.register",
    "decorator.decorator",
    "line_profiler.profile",
    "memory_profiler.profile",
    "beartype.beartype",
    "jaxtyping.jaxtyped",
    "cython.cfunc",
    "tenacity.retry",
    "retrying.retry",
    "deprecation.deprecated",
    "check_shapes.check_shapes",
    "ray.remote",
    "pydantic.validate_call",
)

FUNCTIONS: Final[dict[str, Spec]] = {
    "absl.app.run": Spec(_run_main, effects=("io",)),
    "absl.app.call_after_init": Spec(lambda call: call_back(call, call.arg(0)) and NONE_V),
    **{f"{m}.{name}": Spec(rule, effects=("state",)) for m in _FLAG_MODULES for name, rule in _FLAGS.items()},
    **table("absl.flags.FLAGS", "append_flag_values append_flags_into_file set_default", nothing, "state"),
    "absl.flags.FLAGS.__call__": Spec(listed(STR_V), effects=("state",)),
    "absl.flags.FLAGS.flag_values_dict": Spec(parsed),
    "absl.flags.FLAGS.is_parsed": Spec(truth),
    **table("absl.logging", _LOGS, nothing, "print"),
    **table("absl.logging", "set_verbosity use_absl_handler set_stderrthreshold use_python_logging", nothing, "state"),
    **table("absl.logging", "get_verbosity", integer),
    **table("absl.logging", "level_debug level_info level_warning level_warn level_error vlog_is_on", truth),
    "absl.logging.get_absl_handler": Spec(instance("logging.Handler")),
    **table(
        "click",
        "command option argument group pass_context pass_obj version_option help_option confirmation_option "
        "password_option make_pass_decorator",
        _command,
    ),
    **table("click", "echo secho echo_via_pager", nothing, "print"),
    **table("click", "prompt", give(SCALAR_V), "io"),
    "click.confirm": Spec(truth, effects=("io",)),
    "click.style": Spec(text),
    "click.progressbar": Spec(_bar, effects=("print",)),
    "typer.run": Spec(_fire, effects=("io",)),
    **table("typer", "Option Argument", same),
    **table("typer", "echo secho", nothing, "print"),
    "fire.Fire": Spec(_fire, effects=("io",)),
    "hydra.main": Spec(decorator_factory),
    **table("omegaconf.OmegaConf", "create load from_cli merge structured to_container", parsed, "environment"),
    **table("omegaconf.OmegaConf", "to_yaml", text),
    **table(
        "gin",
        "parse_config parse_config_file parse_config_files_and_bindings bind_parameter clear_config constant "
        "enter_interactive_mode finalize add_config_file_search_path",
        nothing,
        "state",
    ),
    "gin.query_parameter": Spec(give(SCALAR_V)),
    **table("gin", "operative_config_str config_str", text),
    **{name: Spec(decorator) for name in _WRAPPERS},
    "numba.prange": _builtin("range"),
    # progress bars and printing
    **{
        name: Spec(_bar_range, effects=("print",))
        for name in ("tqdm.trange", "tqdm.auto.trange", "tqdm.notebook.trange", "tqdm.tnrange")
    },
    **table("tqdm.tqdm", "write pandas", nothing, "print"),
    **table("tqdm.contrib.concurrent", "process_map thread_map", _mapped, "print"),
    "progressbar.progressbar": Spec(_bar, effects=("print",)),
    "alive_progress.alive_bar": Spec(_bar, effects=("print",)),
    "rich.progress.track": Spec(_bar, effects=("print",)),
    **table("rich", "print inspect", nothing, "print"),
    "colorama.init": Spec(nothing, effects=("state",)),
    **table("IPython.display", "display clear_output", nothing, "print"),
    "IPython.embed": Spec(nothing, effects=("io",)),
    # Python 2 and 3
    **{f"six.{name}": Spec(_method(to)) for name, to in _SIX_NAMES.items()},
    **{f"six.moves.{name}": _builtin(name) for name in ("range", "zip", "map", "filter", "input")},
    "six.moves.xrange": _builtin("range"),
    "six.moves.reduce": Spec(lambda call: _reduced(call)),
    "six.add_metaclass": Spec(decorator_factory),
    "six.with_metaclass": Spec(lambda call: call.arg(1) or lib("builtins.object").value),
    "six.python_2_unicode_compatible": Spec(same),
    "six.next": _builtin("next"),
    **table("six", "ensure_str ensure_text text_type u", text),
    "six.ensure_binary": Spec(give(prim("bytes").value)),
    **table("six.moves.urllib.request", "urlretrieve urlopen", opaque, "io"),
    "six.raise_from": Spec(give(BOTTOM)),
    "past.builtins.xrange": _builtin("range"),
    # experiment trackers write files and talk to servers
    **{
        f"{root}.{name}": Spec(nothing, effects=("io",))
        for root in _EXPERIMENTS
        for name in (
            "log",
            "finish",
            "save",
            "watch",
            "log_metric",
            "log_metrics",
            "log_param",
            "log_params",
            "login",
            "log_artifact",
            "log_artifacts",
            "set_experiment",
            "set_tracking_uri",
            "end_run",
            "alert",
            "agent",
            "autolog",
            "tensorflow.autolog",
            "set_tag",
            "set_tags",
        )
    },
    **{
        f"{root}.{name}": Spec(instance("wandb.Run"), effects=("io",))
        for root in _EXPERIMENTS
        for name in ("init", "start_run", "init_run")
    },
    **table("wandb", "Image Histogram Table Video Artifact Audio Html", opaque),
    # the machine
    **table(
        "psutil",
        "virtual_memory cpu_percent cpu_count swap_memory disk_usage net_io_counters sensors_temperatures",
        opaque,
        "environment",
    ),
    **table("GPUtil", "getGPUs showUtilization", opaque, "environment"),
    **table("pynvml", "nvmlInit nvmlDeviceGetHandleByIndex nvmlDeviceGetMemoryInfo", opaque, "environment"),
    "dotenv.load_dotenv": Spec(truth, effects=("io",)),
    "setproctitle.setproctitle": Spec(nothing, effects=("state",)),
    # structures (`tree` is DeepMind's)
    "tree.map_structure": Spec(_structure_map),
    "tree.map_structure_with_path": Spec(
        lambda call: call_back(call, call.arg(0), unknown("a path").value, leaves(call, call.arg(1)))
    ),
    "tree.flatten": Spec(lambda call: call.list_of(leaves(call, call.arg(0)))),
    "tree.flatten_with_path": Spec(
        lambda call: call.list_of(tup([unknown("a path").value, leaves(call, call.arg(0))]).value)
    ),
    "tree.unflatten_as": Spec(opaque),
    "tree.assert_same_structure": Spec(nothing),
    "tree.is_nested": Spec(truth),
    "tree.traverse": Spec(lambda call: call_back(call, call.arg(0), leaves(call, call.arg(1))) or opaque(call)),
    **table("tabulate", "tabulate", text),
    "more_itertools.chunked": Spec(lambda call: iterator_of(call, call.list_of(call.elements(call.arg(0))))),
    "more_itertools.flatten": Spec(lambda call: iterator_of(call, call.elements(call.elements(call.arg(0))))),
    **table("setuptools", "setup", nothing, "io"),
    "setuptools.find_packages": Spec(listed(STR_V), effects=("environment",)),
    **table("distutils.core", "setup", nothing, "io"),
    "distutils.util.strtobool": Spec(integer),
    **table("google.colab.drive", "mount", nothing, "io"),
    **table("google.colab.files", "upload download", opaque, "io"),
    **table("cloudpickle", "dumps", give(prim("bytes").value)),
    **table("ray", "init shutdown", nothing, "io"),
    "ray.get": Spec(opaque, effects=("io",)),
    **table("horovod.tensorflow", "init", nothing, "io"),
    **table("horovod.tensorflow", "rank size local_rank local_size", integer),
    **table("horovod.tensorflow.keras", "rank size local_rank local_size", integer),
    "horovod.tensorflow.keras.init": Spec(nothing, effects=("io",)),
}


def _reduced(call: Call) -> Value:
    from hybridize.library.python.iteration import FUNCTIONS as ITERATION

    rule = ITERATION["functools.reduce"].rule
    return rule(call) if rule is not None else BOTTOM


_ATTRIBUTE_DICT: Final = ClassSpec(
    methods={
        "__getitem__": Spec(_access_item),
        "get": Spec(lambda call: join(_access_item(call), call.arg(1, "", NONE_V))),
        **methods("update pop setdefault clear merge_from_file merge_from_list freeze defrost", opaque, "mutate"),
        **methods("keys values items to_dict toDict clone", opaque),
    },
    make=_access,
)
_RUN: Final = ClassSpec(
    methods={**methods("log finish save watch log_code log_artifact stop", nothing, "io"), "__enter__": Spec(itself)},
    properties={"config": parsed, **properties("id name dir url", text), "summary": parsed},
)
CLASSES: Final[dict[str, ClassSpec]] = {
    "absl.flags.FlagHolder": ClassSpec(),
    "absl.flags.FlagValues": ClassSpec(call=Spec(listed(STR_V), effects=("state",))),
    **dict.fromkeys(_BAR_NAMES, _BAR),
    "progressbar.ProgressBar": _BAR,
    "keras_tqdm.TQDMNotebookCallback": ClassSpec(bases=("keras.callbacks.Callback",)),
    "rich.console.Console": ClassSpec(methods=methods("print log rule print_json clear status", nothing, "print")),
    "rich.table.Table": ClassSpec(methods=methods("add_column add_row", nothing, "mutate")),
    "typer.Typer": ClassSpec(
        methods={"command": Spec(decorator_factory), "callback": Spec(decorator_factory)},
        call=Spec(nothing, effects=("io",)),
    ),
    "click.Path": ClassSpec(),
    "click.Choice": ClassSpec(),
    "easydict.EasyDict": _ATTRIBUTE_DICT,
    "addict.Dict": _ATTRIBUTE_DICT,
    "munch.Munch": _ATTRIBUTE_DICT,
    "ml_collections.ConfigDict": _ATTRIBUTE_DICT,
    "yacs.config.CfgNode": _ATTRIBUTE_DICT,
    "wandb.Run": _RUN,
    "psutil.Process": ClassSpec(methods=methods("memory_info cpu_percent memory_percent", opaque, "environment")),
    "tabulate.Line": ClassSpec(),
    "tensorboardX.SummaryWriter": ClassSpec(
        methods=methods("add_scalar add_scalars add_histogram add_image add_text add_graph flush close", nothing, "io"),
        effects=("io",),
    ),
    "prettytable.PrettyTable": ClassSpec(
        methods={**methods("add_row add_column", nothing, "mutate"), "get_string": Spec(text)}
    ),
}
