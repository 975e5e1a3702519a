"""Finds the uses of an API (such as `tf.function`) in one file by its syntax tree.

A use is a decorator, a wrapping call, an alias made from it, or any other mention in code. Comments, strings and other
things of the same name are no uses. A file that Python 3 cannot parse is scanned by `uses_text`, and says so.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import Final

from hybridize.source.syntax import BLOCKS
from hybridize.study.keyword import DEFAULT, Keyword
from hybridize.study.uses_data import MODULE, Arguments, FileUses, Function, Outside, Role, Use
from hybridize.study.uses_lines import SCOPES, Definition, blocks, line_numbers, own_statements, split_lines, within
from hybridize.study.uses_text import scan

_PARTIALS: Final = frozenset({"partial", "functools.partial"})
_NO_FUNCTION: Final = (ast.Constant, ast.List, ast.Tuple, ast.Call)
_PARAMETERS: Final = frozenset({"parametrize", "parameters", "named_parameters", "product", "named_product", "expand"})
"""Decorators that hand values to a test (pytest's, absl's, parameterized's): what stands there makes nothing hybrid."""


def find_uses(source: str, keyword: Keyword = DEFAULT, outside: Outside = ()) -> FileUses:
    """All functions and uses of a file. Never raises: what Python 3 cannot parse is scanned as tokens, then as text.

    `outside` are makers that it imports from other files (`wrappers` finds them).
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return scan(source, keyword)
    finder = _Finder(keyword, source, outside)
    try:
        finder.run(tree)
    except RecursionError:
        return scan(source, keyword)
    makers = tuple(sorted((name, finder.aliases[name]) for name in finder.top if name in finder.aliases))
    return FileUses(finder.functions, tuple(finder.uses), "tree", tuple(split_lines(source)), makers)


class _Finder:
    """One pass over statements; expressions are entered only on lines that hold a name of interest."""

    def __init__(self, keyword: Keyword, source: str, outside: Outside = ()) -> None:
        self.keyword = keyword
        self.source = source
        self.functions: dict[str, Function] = {}
        self.uses: list[Use] = []
        self.modules: dict[str, str] = {}  # local name -> dotted module or object
        self.aliases: dict[str, Arguments] = dict(outside)  # local name -> arguments bound with it
        self.top: set[str] = set()  # aliases made at the top level
        self.tree = ast.Module([], [])
        self.imports: list[int] = []  # lines that import
        self.defining: list[int] = []  # lines that define functions or classes
        self.interesting: list[int] = []  # lines that hold a name of interest, ascending
        self.telling: list[int] = []  # the same before aliases are known
        self.lines: dict[frozenset[str], list[int]] = {}
        self.consumed: set[int] = set()  # ids of expressions that are part of a recorded use
        self.counts: dict[str, int] = {}
        self.later: list[tuple[ast.Call, str, Arguments, str]] = []
        self.condition = ""  # under which the statement at hand runs, within its function

    def run(self, tree: ast.Module) -> None:
        self.tree = tree
        self.imports, self.defining = self._lines_with({"import"}), self._lines_with({"def", "class"})
        self._imports(tree.body)
        if not (any(leaf in self.source for leaf in self.keyword.leaves) or bool(self.aliases)):
            self._define(tree.body, "")
            return
        self.telling = self._lines_with({*self.keyword.leaves, *self.aliases, *self._renamed()})
        self._collect(tree.body, "")
        self.interesting = self._lines_with({*self.keyword.leaves, *self.aliases, *self._renamed()})
        self._statements(tree.body, "")
        for call, scope, bound, condition in self.later:
            self.condition = condition
            self._record_wrap(call, scope, bound)
        self.uses.sort(key=lambda use: (use.line, use.end_line, use.text))

    def _imports(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Import):
                for name in node.names:
                    if name.asname:
                        self.modules[name.asname] = name.name
                    else:
                        root = name.name.partition(".")[0]
                        self.modules[root] = root
            elif isinstance(node, ast.ImportFrom):
                for name in node.names if node.module and not node.level else ():
                    self.modules[name.asname or name.name] = f"{node.module}.{name.name}"
            elif within(self.imports, node.lineno, node.end_lineno or node.lineno):
                for child in [node.body] if isinstance(node, SCOPES) else blocks(node):
                    self._imports(child)

    # -- names ---------------------------------------------------------------------------------------------------

    def _dotted(self, node: ast.expr) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        parts.append(node.id)
        return ".".join(reversed(parts))

    def _is_keyword(self, node: ast.expr) -> bool:
        dotted = self._dotted(node) if isinstance(node, ast.Attribute | ast.Name) else None
        if dotted is None:
            return False
        # `self.tf = tensorflow`: a module kept as a field goes by its customary name.
        dotted = dotted.removeprefix("self.").removeprefix("cls.")
        root, _, rest = dotted.partition(".")
        meant = self.modules.get(root)
        if meant is None:
            # Star imports, notebooks' earlier cells and fragments: the customary name is taken at its word.
            return dotted in self.keyword.spellings
        return (f"{meant}.{rest}" if rest else meant) in self.keyword.full_names or self.keyword.says(dotted, meant)

    def _alias_of(self, node: ast.expr) -> tuple[tuple[str, str], ...] | None:
        """The arguments bound with an alias, if the expression names one."""
        name = self._dotted(node) if isinstance(node, ast.Attribute | ast.Name) else None
        return None if name is None else self.aliases.get(name.removeprefix("self.").removeprefix("cls."))

    def _maker(self, node: ast.expr) -> tuple[tuple[str, str], ...] | None:
        """Arguments bound so far if the expression makes hybrid functions: the API, an alias, a partial of either."""
        if self._is_keyword(node):
            return ()
        alias = self._alias_of(node)
        if alias is not None:
            return alias
        if isinstance(node, ast.Call):
            if self._dotted(node.func) in _PARTIALS and node.args:
                bound = self._maker(node.args[0])
                return None if bound is None else self._merge(bound, node, "")
            bound = self._maker(node.func)
            if bound is not None and self._target(node) is None:
                return self._merge(bound, node, "")
        return None

    def _target(self, call: ast.Call) -> ast.expr | None:
        """What a call wraps: its first argument or `func=`."""
        if call.args and not isinstance(call.args[0], ast.Starred):
            first = call.args[0]
            if isinstance(first, ast.Constant) and first.value is None:
                return None
            return None if self.keyword.profile.signature_first and isinstance(first, _NO_FUNCTION) else first
        for word in call.keywords:
            if word.arg in self.keyword.profile.targets:
                return word.value
        return None

    def _merge(self, bound: tuple[tuple[str, str], ...], call: ast.Call, scope: str) -> tuple[tuple[str, str], ...]:
        names = dict(bound)
        profile = self.keyword.profile
        for word in call.keywords:
            if word.arg is None:
                names["**"] = self._source_of(word.value, scope)
            elif word.arg not in profile.targets:
                names[word.arg] = self._source_of(word.value, scope)
        if self._is_keyword(call.func):
            target = self._target(call)
            for name, value in zip(profile.positional, call.args, strict=False):
                if value is not target and not isinstance(value, ast.Starred):
                    names.setdefault(name, self._source_of(value, scope))
        return tuple(sorted(names.items()))

    def _source_of(self, node: ast.expr, scope: str, depth: int = 0) -> str:
        """Normalized source; a variable is replaced by what was last assigned to it in this file, if that is known."""
        dotted = self._dotted(node) if isinstance(node, ast.Name | ast.Attribute) else None
        if dotted is not None and depth < 3:
            name = dotted.removeprefix("self.").removeprefix("cls.")
            where = scope
            while True:
                value = self.values.get((where, name))
                if value is not None and value is not node:
                    return self._source_of(value, where, depth + 1)
                if not where:
                    break
                where = where.rpartition(".")[0]
        text = ast.unparse(node)
        # A signature's list or tuple, and its trailing comma, are one and the same to the API.
        return f"[{text[1:-1].rstrip(',')}]" if isinstance(node, ast.Tuple) and text.startswith("(") else text

    # -- statements ----------------------------------------------------------------------------------------------

    @cached_property
    def values(self) -> dict[tuple[str, str], ast.expr]:
        """The last assigned expression by scope and name."""
        found: dict[tuple[str, str], ast.expr] = {}
        stack: list[tuple[ast.stmt, str]] = [(node, "") for node in reversed(self.tree.body)]
        while stack:
            node, scope = stack.pop()
            if isinstance(node, SCOPES):
                inner = f"{scope}.{node.name}" if scope else node.name
                stack += [(child, inner) for child in reversed(node.body)]
                continue
            assigned = self._assigned(node, scope)
            if assigned is not None:
                found[assigned[:2]] = assigned[2]
            for body in reversed(blocks(node)):
                stack += [(child, scope) for child in reversed(body)]
        return found

    def _assigned(self, node: ast.stmt, scope: str) -> tuple[str, str, ast.expr] | None:
        """The scope, the name and the value, if the statement gives a value to a plain name or a field."""
        target = None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        elif isinstance(node, ast.AnnAssign):
            target = node.target
        if target is None or node.value is None:  # type: ignore[attr-defined]
            return None
        if isinstance(target, ast.Name):
            return scope, target.id, node.value  # type: ignore[attr-defined]
        if isinstance(target, ast.Attribute) and self._dotted(target) == f"self.{target.attr}":
            return scope.rpartition(".")[0], target.attr, node.value  # type: ignore[attr-defined]
        return None

    def _collect(self, body: list[ast.stmt], scope: str) -> None:
        """Aliases first: a decorator may stand above the variable it names."""
        for node in body:
            if not self.aliases and not within(self.telling, node.lineno, node.end_lineno or node.lineno):
                continue  # no maker can stand there
            if isinstance(node, SCOPES):
                inner = f"{scope}.{node.name}" if scope else node.name
                self._collect(node.body, inner)
                made = None if isinstance(node, ast.ClassDef) else self._returned(node)
                if made is not None:
                    self.aliases.setdefault(node.name, made)
                    if not scope:
                        self.top.add(node.name)
                continue
            assigned = self._assigned(node, scope)
            if assigned is not None:
                self._alias(*assigned)
            for child in blocks(node):
                self._collect(child, scope)

    def _alias(self, where: str, name: str, value: ast.expr) -> None:
        for candidate in [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]:
            bound = self._maker(candidate)
            if bound is not None:
                self.aliases[name] = bound
                if not where:
                    self.top.add(name)

    def _returned(self, node: Definition) -> Arguments | None:
        """The arguments bound by a function that makes functions hybrid, or null: it returns `tf.function(parameter)`,
        or a function of its own that does."""
        if not within(self.telling, node.lineno, node.end_lineno or node.lineno):
            return None
        arguments = node.args
        parameters = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        parameters |= {arguments.vararg.arg} if arguments.vararg else set()
        inner = {child.name for child in node.body if isinstance(child, Definition)}
        made: dict[str, Arguments] = {}
        for statement in own_statements(node.body):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            value = statement.value if isinstance(statement, ast.Return | ast.Assign) else None
            bound: Arguments | None = None
            for candidate in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
                if isinstance(candidate, ast.Call) and candidate.args + candidate.keywords:
                    first = candidate.args[0] if candidate.args else None
                    wrapped = first.value if isinstance(first, ast.Starred) else self._target(candidate)
                    maker = self._maker(candidate.func)
                    if maker is not None and isinstance(wrapped, ast.Name) and wrapped.id in parameters:
                        merged = self._merge(maker, candidate, "")
                        bound = tuple((n, v) for n, v in merged if n != "**" and v not in parameters)
                elif isinstance(candidate, ast.Name):
                    bound = made.get(candidate.id, self.aliases.get(candidate.id) if candidate.id in inner else None)
                if bound is not None:
                    break
            if bound is not None and isinstance(statement, ast.Return):
                return bound
            if bound is not None and isinstance(target, ast.Name):
                made[target.id] = bound
        return None

    def _define(self, body: list[ast.stmt], scope: str) -> None:
        """Functions only."""
        for node in body:
            if not within(self.defining, node.lineno, node.end_lineno or node.lineno):
                continue
            if isinstance(node, SCOPES):
                qualname = self._name(node, scope)
                if within(self.defining, node.body[0].lineno, node.end_lineno or node.lineno):
                    self._define(node.body, qualname)
            else:
                for child in blocks(node):
                    self._define(child, scope)

    def _name(self, node: Definition | ast.ClassDef, scope: str) -> str:
        qualname = f"{scope}.{node.name}" if scope else node.name
        count = self.counts[qualname] = self.counts.get(qualname, 0) + 1
        if count > 1:
            qualname = f"{qualname}#{count}"
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        self.functions[qualname] = Function(
            qualname, node.name, first, node.lineno, node.end_lineno or node.lineno, isinstance(node, ast.ClassDef)
        )
        return qualname

    def _statements(self, body: list[ast.stmt], scope: str) -> None:
        for node in body:
            decorators = node.decorator_list if isinstance(node, SCOPES) else ()
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            if not within(self.interesting, first, node.end_lineno or node.lineno):
                self._define([node], scope)
            elif isinstance(node, SCOPES):
                qualname = self._name(node, scope)
                for decorator in node.decorator_list:
                    self._decorator(decorator, qualname, scope)
                self._expressions(node, scope, skip_body=True)
                outer, self.condition = self.condition, ""
                self._statements(node.body, qualname)
                self.condition = outer
            else:
                parts = blocks(node)
                self._expressions(node, scope, skip_body=bool(parts))
                for child in parts:
                    outer = self.condition
                    if isinstance(node, ast.If):
                        self._under(node.test, child is node.body)
                    self._statements(child, scope)
                    self.condition = outer

    def _under(self, test: ast.expr, holds: bool) -> None:
        """From here on, only where the test holds (or fails). Whether a module is the program is no condition."""
        text = ast.unparse(test)
        if "__name__" not in text:
            text = text if holds else f"not ({text})"
            self.condition = f"{self.condition} and {text}" if self.condition else text

    def _decorator(self, node: ast.expr, qualname: str, scope: str) -> None:
        bound = self._maker(node)
        if bound is None:
            name = self._dotted(node.func) if isinstance(node, ast.Call) else None
            if name is not None and name.rpartition(".")[2] in _PARAMETERS:
                self._consume(node)
            return
        self._consume(node)
        if isinstance(node, ast.Call):
            bound = self._merge(self._maker(node.func) or (), node, scope)
        self._add("decorator", qualname, True, scope, bound, node)

    def _expressions(self, node: ast.stmt, scope: str, *, skip_body: bool) -> None:
        """Uses inside a statement's own expressions, outermost first."""
        if not self._holds(node):
            return
        outer = self.condition
        skipped = _BLOCKS if skip_body else ()
        stack = [(child, outer) for child in _parts(node, skipped)]
        while stack:
            child, self.condition = stack.pop()
            if id(child) in self.consumed:
                continue
            inside = _parts(child)
            if isinstance(child, ast.expr) and self._expression(child, node, scope):
                inside = [*child.args, *(w.value for w in child.keywords)] if isinstance(child, ast.Call) else []
            if isinstance(child, ast.IfExp):
                before = self.condition
                for part in (child.body, child.orelse):
                    self._under(child.test, part is child.body)
                    stack.append((part, self.condition))
                    self.condition = before
                inside = [child.test]
            stack += [(part, self.condition) for part in inside]
        self.condition = outer

    def _holds(self, node: ast.stmt) -> bool:
        """Whether a name of interest stands in the statement, or in its head if it has a body; cheap, so that most
        trees stay closed."""
        first, last = node.lineno, node.end_lineno or node.lineno
        for decorator in getattr(node, "decorator_list", ()):
            first = min(first, decorator.lineno)
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and not isinstance(node, ast.Try):
            last = max(first, min(last, body[0].lineno))
        return within(self.interesting, first, last)

    def _renamed(self) -> set[str]:
        """Names that imports give to the API itself."""
        return {name for name, meant in self.modules.items() if meant in self.keyword.full_names}

    def _lines_with(self, names: set[str]) -> list[int]:
        """The lines on which one of the (dotted) names stands as a word."""
        words = frozenset(name.rpartition(".")[2] for name in names)
        if words not in self.lines:
            # A word boundary in front would keep the search from looking for a literal, which is far faster.
            pattern = re.compile(rf"(?:{'|'.join(sorted(map(re.escape, words)))})\b")
            self.lines[words] = list(dict.fromkeys(line_numbers(self.source, pattern)))
        return self.lines[words]

    def _expression(self, node: ast.expr, statement: ast.stmt, scope: str) -> bool:
        """Record the expression if it is a use; says whether it was."""
        if isinstance(node, ast.Call):
            if self._applies_in_place(node):
                self.later.append((node, scope, (), self.condition))
                return True
            inner = self._maker(node.func)
            if inner is not None:
                self._consume(node.func)
                if self._target(node) is not None:
                    self.later.append((node, scope, inner, self.condition))
                else:
                    self._bare(node, statement, scope, self._merge(inner, node, scope))
                return True
            if self._dotted(node.func) in _PARTIALS and node.args and self._maker(node.args[0]) is not None:
                self._consume(node.args[0])
                self._bare(node, statement, scope, self._merge(self._maker(node.args[0]) or (), node, scope))
                return True
        elif self._is_keyword(node):
            self._consume(node)
            self._bare(node, statement, scope, ())
            return True
        return False

    def _applies_in_place(self, call: ast.Call) -> bool:
        """Whether it is `model.compile(mode=...)`: a method of the profile, where a file imports the package."""
        profile, func = self.keyword.profile, call.func
        if not isinstance(func, ast.Attribute) or func.attr not in profile.methods or call.args:
            return False
        receiver = self._dotted(func.value) if isinstance(func.value, ast.Name | ast.Attribute) else None
        if receiver in self.modules or self._is_keyword(func):
            return False
        imported = {meant.partition(".")[0] for meant in self.modules.values()}
        given = {word.arg for word in call.keywords}
        return bool(imported & self.keyword.tops) and given <= {*profile.method_arguments}

    def _bare(self, node: ast.expr, statement: ast.stmt, scope: str, arguments: tuple[tuple[str, str], ...]) -> None:
        """An unapplied maker: the value of an alias, or some other mention."""
        name = None
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            name = self._dotted(target)
        self._add("alias" if name else "mention", name or ast.unparse(node), False, scope, arguments, node)

    def _record_wrap(self, call: ast.Call, scope: str, bound: tuple[tuple[str, str], ...]) -> None:
        target = self._target(call)
        if target is None and isinstance(call.func, ast.Attribute):
            target = call.func.value  # of a method that applies the API to its object
        assert target is not None
        arguments = self._merge(bound, call, scope)
        owner, known = self._owner(target, scope)
        self._add("wrap", owner, known, scope, arguments, call)

    def _owner(self, target: ast.expr, scope: str) -> tuple[str, bool]:
        """Which function of the file is wrapped: `f` and `self.f` are looked up, the rest stays as text."""
        if isinstance(target, ast.Lambda):
            return "<lambda>", False
        dotted = self._dotted(target) if isinstance(target, ast.Name | ast.Attribute) else None
        if dotted is None:
            return ast.unparse(target)[:120], False
        name = dotted.removeprefix("self.").removeprefix("cls.")
        where = scope
        while True:
            qualname = f"{where}.{name}" if where else name
            found = self.functions.get(qualname)
            if found is not None and not found.is_class:
                return qualname, True
            if not where:
                return dotted, False
            where = where.rpartition(".")[0]

    def _consume(self, node: ast.AST) -> None:
        self.consumed.add(id(node))  # nobody comes to its parts but through it

    def _add(
        self, role: Role, owner: str, known: bool, scope: str, arguments: tuple[tuple[str, str], ...], node: ast.expr
    ) -> None:
        prefix = "@" if role == "decorator" else ""
        text = prefix + (ast.unparse(node))
        self.uses.append(
            Use(
                *(role, owner, known, scope or MODULE, arguments, node.lineno, node.end_lineno or node.lineno, text),
                condition=self.condition,
            )
        )


_BLOCKS: Final = (*BLOCKS, "handlers", "cases")
_ANNOTATIONS: Final = ("annotation", "returns")


def _parts(node: ast.AST, skipped: tuple[str, ...] = ()) -> list[ast.AST]:
    """The children of a node in which a use may stand: annotations only speak of the API."""
    found: list[ast.AST] = []
    for name, value in ast.iter_fields(node):
        if name not in skipped and name not in _ANNOTATIONS:
            found += [v for v in (value if isinstance(value, list) else (value,)) if isinstance(v, ast.AST)]
    return found
