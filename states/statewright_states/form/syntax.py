"""The normal form of Python code: what it does, as plain data, and nothing of how it is written.

Left out are comments, docstrings and every other statement that is a constant, type annotations, positions and
formatting. Names of locals and parameters are numbers in the order of their appearance. Every other name is what a
``NameMeanings`` says that it means. A field of a syntax node that is empty is left out, so that a field that a later Python
adds changes nothing for older code; the pieces of an f-string, which Pythons cut differently, are joined.

What a call calls has to be known from the text (rule ``code-can-be-known``). It may be a name that is bound outside, a function
that is defined inside, or a method; never the value of a parameter or a local, of an item, or of another call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol, cast

from statewright_states.errors import DeclarationError
from statewright_states.frozen import dataclass

RULE = "code-can-be-known"

LEFT_OUT = frozenset(("annotation", "ctx", "kind", "returns", "simple", "type_comment", "type_ignores", "type_params"))
"""Fields of syntax nodes that decide nothing while the code runs."""
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BY_NAMES = frozenset(("getattr", "hasattr", "operator.attrgetter", "operator.methodcaller"))
"""What asks for attributes by text: the text has to be a constant."""
UNKNOWABLE = frozenset(
    ("__import__", "compile", "delattr", "eval", "exec", "globals", "locals", "setattr", "vars", "importlib.import_module")
)
"""What makes code, or reaches any, at run time."""


def refuse(what: str, where: str, cure: str) -> NoReturn:
    """Say that it cannot be known what code decides."""
    raise DeclarationError(RULE, what, where=where, cure=cure)


class Syntax:
    """Encodes code as it stands, names included: for code that is taken as a whole."""

    def encode(self, node: object) -> Any:
        """The normal form of a node, of nodes, or of a plain value in one."""
        if isinstance(node, list):
            return [self.encode(item) for item in cast("list[object]", node) if not _says_nothing(item)]
        if not isinstance(node, ast.AST):
            return node
        special: Callable[[Any], Any] | None = getattr(self, f"on_{type(node).__name__.lower()}", None)
        return special(node) if special is not None else self.fields(node)

    def fields(self, node: ast.AST) -> dict[str, Any]:
        """A node by its kind and its fields, those that are empty left out."""
        form: dict[str, Any] = {"": type(node).__name__}
        for name, value in ast.iter_fields(node):
            if name not in LEFT_OUT and value is not None and (encoded := self.encode(value)) != []:
                form[name] = encoded
        return form

    def on_constant(self, node: ast.Constant) -> Any:
        return {"": "Constant", "value": f"{type(node.value).__name__} {node.value!r}"}

    def on_annassign(self, node: ast.AnnAssign) -> Any:
        """As an assignment without the annotation; what assigns nothing is left out by ``_says_nothing``."""
        return {"": "Assign", "targets": [self.encode(node.target)], "value": self.encode(node.value)}

    def on_joinedstr(self, node: ast.JoinedStr) -> Any:
        pieces: list[Any] = []
        for value in node.values:
            text = str(value.value) if isinstance(value, ast.Constant) else None
            if text is None:
                pieces.append(self.encode(value))
            elif pieces and isinstance(pieces[-1], str):
                pieces[-1] += text
            elif text:
                pieces.append(text)
        return {"": "JoinedStr", "values": pieces} if pieces else []


def _says_nothing(node: object) -> bool:
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


class NameMeanings(Protocol):
    """Says what the names in a piece of code mean that are not bound inside it."""

    def free(self, chain: tuple[str, ...], where: str) -> tuple[Any, int, str]:
        """What a name and the attributes after it mean: plain data, how many of ``chain`` that covers, and what it is.

        The last is the name by which ``BY_NAMES`` and ``UNKNOWABLE`` may know it, or "value" for what is no code.
        """
        ...

    def attribute(self, name: str, where: str, *, called: bool) -> None:
        """Take note that an attribute of this name is asked for, of a value that only a run knows."""
        ...

    def keyword(self, name: str | None) -> None:
        """Take note that an argument is given by this name; None for ``**``, which may give any."""
        ...


@dataclass(frozen=True, slots=True)
class NameScope:
    """The names that a function or a comprehension binds, each with its number once it has appeared."""

    bound: frozenset[str]
    functions: frozenset[str]
    """Those that nothing but a function defined here is bound to."""
    numbers: dict[str, int]


class Resolved(Syntax):
    """Encodes a function, or an expression, with the meaning of its names. ``file`` and ``label`` say where it stands."""

    def __init__(self, names: NameMeanings, file: str, label: str, params: list[list[Any]]) -> None:
        self._names = names
        self._file = file
        self._label = label
        self._params = params
        """Collects each parameter as it was encoded, with its name last: whoever reads all code knows which names matter."""
        self._scopes: list[NameScope] = []
        self._count = 0

    def _where(self, node: ast.AST) -> str:
        return f"{self._file}:{getattr(node, 'lineno', '?')}, {self._label}"

    # -- names -------------------------------------------------------------------------------------------------------

    def _local(self, name: str) -> list[Any] | None:
        for scope in reversed(self._scopes):
            if name in scope.bound:
                if name not in scope.numbers:
                    self._count += 1
                    scope.numbers[name] = self._count
                return ["local", scope.numbers[name]]
        return None

    def _bound(self, name: str | None) -> Any:
        return self._local(name) if name is not None else None

    def on_name(self, node: ast.Name) -> Any:
        return self._reference(node)[0]

    def on_attribute(self, node: ast.Attribute) -> Any:
        return self._reference(node)[0]

    def _reference(self, node: ast.expr, *, called: bool = False) -> tuple[Any, str]:
        """A name with the attributes after it, and what is known of it; see ``NameMeanings.free``."""
        chain: list[str] = []
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            chain.append(base.attr)
            base = base.value
        chain.reverse()
        if isinstance(base, ast.Name) and (found := self._local(base.id)) is not None:
            form, known = found, "" if self._is_function(base.id) else "value"
        elif isinstance(base, ast.Name):
            form, covered, known = self._names.free((base.id, *chain), self._where(node))
            chain = chain[covered - 1 :]
        else:
            form, known = self.encode(base), "value"
        for at, name in enumerate(chain):
            self._names.attribute(name, self._where(node), called=called and at == len(chain) - 1)
            form, known = ["attribute", form, name], ""
        return form, known

    def _is_function(self, name: str) -> bool:
        scope = next(scope for scope in reversed(self._scopes) if name in scope.bound)
        return name in scope.functions

    # -- calls -------------------------------------------------------------------------------------------------------

    def on_call(self, node: ast.Call) -> Any:
        function, where = node.func, self._where(node)
        form, known = None, "value"
        if isinstance(function, ast.Name | ast.Attribute):
            form, known = self._reference(function, called=True)
        elif isinstance(function, ast.Lambda):
            form, known = self.encode(function), ""
        self._require_known(known, node, where)
        for keyword in node.keywords:
            self._names.keyword(keyword.arg)
        called = {"": "Call", "func": form, "args": self.encode(node.args), "keywords": self.encode(node.keywords)}
        return {name: value for name, value in called.items() if value != []}

    def _require_known(self, known: str, node: ast.Call, where: str) -> None:
        text = ast.unparse(node.func)
        if known == "value":
            cure = "call a function by the name that it is declared under; hand over values, and no code"
            refuse(f"{text}(...) calls what only a run can know", where, cure)
        if known in UNKNOWABLE:
            refuse(f"{text}(...) reaches code that only a run can know", where, "write the code that is meant")
        if known in BY_NAMES:
            for asked in node.args[1:2] if known in ("getattr", "hasattr") else node.args[:1]:
                if not (isinstance(asked, ast.Constant) and isinstance(asked.value, str)):
                    refuse(f"{text}(...) asks for an attribute that only a run can know", where, "write its name as a constant")
                for name in asked.value.split("."):
                    self._names.attribute(name, where, called=known == "operator.methodcaller")

    # -- scopes ------------------------------------------------------------------------------------------------------

    def on_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        form = {"name": self._bound(node.name), "decorators": self.encode(node.decorator_list), **self._function(node)}
        return {"": type(node).__name__, **{name: value for name, value in form.items() if value}}

    on_asyncfunctiondef = on_functiondef

    def on_lambda(self, node: ast.Lambda) -> Any:
        return {"": "Lambda", **self._function(node)}

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> dict[str, Any]:
        given = node.args
        defaults = {"defaults": self.encode(given.defaults), "kw_defaults": self.encode(given.kw_defaults)}
        named = [*given.args, *given.kwonlyargs]
        every = [arg for arg in (*given.posonlyargs, *named, given.vararg, given.kwarg) if arg is not None]
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        self._scopes.append(_scope(body, [arg.arg for arg in every]))
        numbers = {arg.arg: self._local(arg.arg) for arg in every}
        for arg in named:
            numbers[arg.arg] = ["parameter", *(numbers[arg.arg] or ())[1:], arg.arg]
            self._params.append(numbers[arg.arg] or [])
        groups = {"posonlyargs": given.posonlyargs, "args": given.args, "kwonlyargs": given.kwonlyargs}
        groups |= {"vararg": [given.vararg] if given.vararg else [], "kwarg": [given.kwarg] if given.kwarg else []}
        parameters = {name: [numbers[arg.arg] for arg in args] for name, args in groups.items() if args}
        form = {"parameters": parameters, **defaults, "body": self.encode(body)}
        self._scopes.pop()
        return form

    def _made_of_each(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Any:
        first, *others = node.generators
        source = self.encode(first.iter)  # it is looked up outside
        targets = [name for generator in node.generators for name in _stored(generator.target)]
        self._scopes.append(NameScope(frozenset(targets), frozenset(), {}))
        form: dict[str, Any] = {"": type(node).__name__, "iter": source, "target": self.encode(first.target)}
        form |= {"ifs": self.encode(first.ifs), "is_async": first.is_async, "generators": self.encode(others)}
        form |= {name: self.encode(value) for name, value in ast.iter_fields(node) if name != "generators"}
        self._scopes.pop()
        return form

    on_listcomp = on_setcomp = on_dictcomp = on_generatorexp = _made_of_each

    # -- other places where a name stands as text --------------------------------------------------------------------

    def on_matchas(self, node: ast.MatchAs) -> Any:
        return {"": "MatchAs", "pattern": self.encode(node.pattern), "name": self._bound(node.name)}

    def on_matchstar(self, node: ast.MatchStar) -> Any:
        return {"": "MatchStar", "name": self._bound(node.name)}

    def on_matchmapping(self, node: ast.MatchMapping) -> Any:
        return {**self.fields(node), "rest": self._bound(node.rest)}

    def on_matchclass(self, node: ast.MatchClass) -> Any:
        for name in node.kwd_attrs:
            self._names.attribute(name, self._where(node), called=False)
        return self.fields(node)

    def on_excepthandler(self, node: ast.ExceptHandler) -> Any:
        return {**self.fields(node), "name": self._bound(node.name)}

    def on_nonlocal(self, node: ast.Nonlocal) -> Any:
        return {"": "Nonlocal", "names": [self._bound(name) for name in node.names]}

    def _inside(self, node: ast.stmt) -> NoReturn:
        kind = {"ClassDef": "declares a class", "Global": "changes a global name"}.get(type(node).__name__, "imports")
        refuse(f"code that decides {kind} while it runs", self._where(node), "do that at the top of a module")

    on_classdef = on_import = on_importfrom = on_global = _inside


# -- what a scope binds ----------------------------------------------------------------------------------------------


def _scope(body: list[Any], parameters: list[str]) -> NameScope:
    bound = [name for statement in body for name in _bindings(statement)]
    functions = {name for name, is_function in bound if is_function}
    others = {name for name, is_function in bound if not is_function}
    declared = {name for name in others if name.startswith(OUTSIDE)}
    outside = {name.removeprefix(OUTSIDE) for name in declared}
    names = frozenset(parameters) | (functions | others - declared) - outside
    return NameScope(names, frozenset(functions - others - set(parameters)), {})


OUTSIDE = "nonlocal "
"""Marks, among the names that a scope binds, one that is bound in a scope around it."""


def _bindings(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Every name that a statement binds in its scope, with whether it binds a function."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name, not isinstance(node, ast.ClassDef) and not node.decorator_list
        case ast.Name(ctx=ast.Store() | ast.Del()):
            yield node.id, False
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
            yield name, False
        case ast.MatchMapping(rest=str(name)):
            yield name, False
        case ast.Nonlocal():
            yield from ((OUTSIDE + name, False) for name in node.names)
        case _:
            pass
    if isinstance(node, COMPREHENSIONS):
        yield from ((name, False) for name in _walrus(node))
    elif not isinstance(node, SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _bindings(child)


def _walrus(node: ast.AST) -> Iterator[str]:
    """What an assignment expression in a comprehension binds: it binds outside of it."""
    for child in ast.walk(node):
        if isinstance(child, ast.NamedExpr):
            yield from _stored(child.target)


def _stored(target: ast.AST) -> Iterator[str]:
    yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
