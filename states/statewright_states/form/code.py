"""What decides in a table, as code: every function, class and constant that it reaches, each with a digest.

It begins with the table's questions, effects and fold, its facts and its events, and follows every name in their code:
functions, values that closures have captured, constants by their value, classes as a whole with their bases, fields and
methods, and the classes of their fields. The standard library counts by name, and so does this package, ``form``, in which
tables are written; the module ``frozen``, which makes code at run time, counts as a whole. The module in which a name stands
is no part of it, so that code may be moved.

What cannot be followed is refused with its place (rule ``code-can-be-known``): a call of a value, code made at run time, an
attribute that no class here has, a function without a source. What a field holds is taken to be what its annotation says.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from hashlib import sha256
from typing import Any, TypeGuard, TypeVar, get_args, get_origin

from statewright_states.form.objects import (
    ATTRIBUTES,
    PLAIN,
    as_bytes,
    asked_of,
    declared_in,
    functions_in,
    is_code,
    is_tuple,
    kind_of,
    own_name,
    plain_name,
    reduced,
    slots_of,
    undecorated,
)
from statewright_states.form.question import Question
from statewright_states.form.row import Row
from statewright_states.form.source import Sources
from statewright_states.form.syntax import Resolved, Syntax, refuse
from statewright_states.frozen import dataclass

THIS_PACKAGE = __package__ or ""
WHOLE = "statewright_states.frozen"
"""The module that makes methods at run time: its text is its code."""
MISSING: Any = object()
CURE = "declare it where this code can name it, or hand over a value instead"

Part = tuple[str, object]
"""What a table is made of: what it is called, such as ``question steps_left``, and the object itself."""


def code_digests(parts: Iterable[Part], classes: Iterable[type]) -> Mapping[str, str]:
    """The digest of everything that these parts and classes reach, by what it is called. Raises DeclarationError."""
    reached = _Reached()
    for label, value in parts:
        reached.begin(label, value)
    for cls in classes:
        reached.value(cls, f"class {cls.__qualname__}")
    return reached.digests()


def parts_of(rows: Iterable[Row], questions: Iterable[Question], fold: Callable[..., object]) -> Iterator[Part]:
    """The parts of a table, in an order that depends on their names alone."""
    yield from ((f"question {question.name}", question.ask) for question in sorted(questions, key=lambda each: each.name))
    effects = [
        (f"effect {effect.name}", effect.function) for row in sorted(rows, key=lambda each: each.id) for effect in row.do
    ]
    yield from sorted(effects, key=lambda each: each[0])
    yield "fold", fold


@dataclass(frozen=True, slots=True)
class _Asked:
    """An attribute that code asks for, of a value that only a run knows."""

    name: str
    called: bool
    where: str


class _Reached:
    """Everything that was reached so far: units of code by what they are called."""

    def __init__(self) -> None:
        self._sources = Sources()
        self._units: dict[str, Any] = {}
        self._labels: dict[Any, str] = {}
        self._alive: list[object] = []
        """What ``_labels`` knows by its ``id``: it must not go while that is remembered."""
        self._attributes: set[str] = set(ATTRIBUTES)
        self._fields: set[str] = set()
        self._asked: list[_Asked] = []
        self.keywords: set[str | None] = set()
        self.params: list[list[Any]] = []

    def begin(self, label: str, value: object) -> None:
        """Reach a part of the table itself, under its own name."""
        if isinstance(value, types.FunctionType):
            self.function(value, label)
        else:
            self._unit(label, ("part", id(value)), value, lambda: self.value(value, label))

    def digests(self) -> dict[str, str]:
        """The digest of each unit. Raises DeclarationError for an attribute that nothing here has."""
        for asked in self._asked:
            if asked.name in self._fields and asked.called and asked.name not in self._attributes:
                refuse(f".{asked.name}(...) calls what a field holds", asked.where, CURE)
            if asked.name not in self._attributes | self._fields:
                refuse(f"no class that this code can reach has .{asked.name}", asked.where, CURE)
        for param in self.params:
            if param[-1] not in self.keywords and None not in self.keywords:
                param.pop()
        return {label: sha256(as_bytes(unit)).hexdigest() for label, unit in sorted(self._units.items())}

    # -- units -------------------------------------------------------------------------------------------------------

    def _unit(self, label: str, key: Any, alive: object, make: Callable[[], Any]) -> Any:
        """What refers to a unit; it is made when it is reached first. Homonyms are told apart by their order."""
        if key not in self._labels:
            number = 1
            name = label
            while name in self._units:
                number += 1
                name = f"{label} #{number}"
            self._labels[key] = name
            self._alive.append(alive)
            self._units[name] = None
            self._units[name] = make()
        return ["code", self._labels[key]]

    def function(self, function: types.FunctionType, label: str | None = None) -> Any:
        """A function of ours, with what it captured and its defaults."""
        name = label or f"function {plain_name(function)}"
        if function.__module__ == WHOLE:
            return self._whole()
        code = function.__code__
        captured: dict[str, Any] = {}
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if variable != "__class__":
                itself = cell.cell_contents is function
                captured[variable] = (["itself"], "") if itself else self.known(cell.cell_contents, f"{variable}, {name}")
        key = ("function", id(code), as_bytes(captured))

        def make() -> Any:
            node = undecorated(self._sources.function(code, function.__module__, name))
            names = _Names(self, function.__globals__, captured)
            return Resolved(names, code.co_filename, name, self.params).encode(node)

        return self._unit(name, key, code, make)

    def _whole(self) -> Any:
        module = sys.modules[WHOLE]
        return self._unit(
            f"module {WHOLE.rpartition('.')[2]}",
            WHOLE,
            module,
            lambda: Syntax().encode(self._sources.of(str(module.__file__), WHOLE).tree.body),
        )

    def _class(self, cls: type) -> Any:
        label = f"class {plain_name(cls)}"
        return self._unit(label, ("class", id(cls)), cls, lambda: self._class_form(cls, label))

    def _class_form(self, cls: type, label: str) -> Any:
        node, file = self._sources.class_(cls, label)
        namespace = vars(sys.modules[cls.__module__])
        own = {name: (["own", name], "") for name in declared_in(node)}
        code = Resolved(_Names(self, namespace, own), file, label, self.params)
        methods: dict[str, list[Any]] = {}
        fields: list[Any] = []
        before: list[str] = []
        for statement in node.body:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._attributes.add(statement.name)
                    methods.setdefault(statement.name, []).append(self._method(cls, statement, file, label))
                case ast.AnnAssign(target=ast.Name(id=name)):
                    self._fields.add(name)
                    self._annotated(statement.annotation, namespace, f"{file}:{statement.lineno}, {label}")
                    shared = "ClassVar" in ast.unparse(statement.annotation)
                    if shared or statement.value is None:
                        fields.append(["class" if shared else "field", name, code.encode(statement.value)])
                    else:
                        self._defaulted(cls, name, [*before], code.encode(statement.value))
                    before.append(name)
                case _:
                    self._fields.update(declared_in(statement))
                    fields.append(code.encode([statement]))
        return {
            "bases": [self.value(base, label) for base in cls.__bases__ if base is not object],
            "decorators": code.encode(node.decorator_list),
            "keywords": code.encode(node.keywords),
            "fields": [field for field in fields if field != []],
            "methods": methods,
        }

    def _defaulted(self, cls: type, name: str, before: list[str], default: Any) -> None:
        """A field with a default is a unit of its own: one that is added after the others changes no other unit."""
        label = f"field {plain_name(cls)}.{name}"
        self._unit(label, ("field", id(cls), name), cls, lambda: [before, default])

    def _method(self, cls: type, node: ast.FunctionDef | ast.AsyncFunctionDef, file: str, label: str) -> Any:
        """A method as it is in the class: what its decorators did shows in what they made of it."""
        made = vars(cls).get(node.name, vars(cls).get(f"_{cls.__name__.lstrip('_')}{node.name}", MISSING))
        if made is MISSING:
            refuse(f"{cls.__qualname__} has no {node.name} any more", f"{file}:{node.lineno}, {label}", CURE)
        for function in functions_in(made):
            code = function.__code__
            written_here = code.co_name == node.name and code.co_filename == file
            if written_here and self._sources.function(code, cls.__module__, label) is node:
                return [kind_of(made).__name__, self.function(function)]
        return self.value(made, label)

    def _annotated(self, annotation: ast.expr, namespace: dict[str, Any], where: str) -> None:
        """Reach the classes that a field may hold."""
        match annotation:
            case ast.Constant(value=str(text)):
                self._annotated(ast.parse(text, mode="eval").body, namespace, where)
            case ast.Subscript(value=ast.Name(id="Literal")):
                pass
            case ast.Name() | ast.Attribute():
                names = ast.unparse(annotation).split(".")
                held: Any = namespace.get(names[0], getattr(builtins, names[0], MISSING))
                for name in names[1:]:
                    held = getattr(held, name, MISSING)
                if held is MISSING:
                    refuse(f"nobody knows what {ast.unparse(annotation)} is", where, CURE)
                self.value(held, where)
            case _:
                for node in ast.iter_child_nodes(annotation):
                    if isinstance(node, ast.expr):
                        self._annotated(node, namespace, where)

    # -- values ------------------------------------------------------------------------------------------------------

    def known(self, value: Any, where: str) -> tuple[Any, str]:
        """A value, and what may be done with it, as ``Names.free`` says."""
        if is_code(value):
            return self.value(value, where), own_name(value)
        return self.value(value, where), "" if hasattr(value, "__wrapped__") else "value"

    def value(self, value: object, where: str) -> Any:
        """Any value as plain data: code by reference, data by what it holds."""
        match value:
            case Enum():
                return ["member", self.value(type(value), where), value.name or self.value(value.value, where)]
            case _ if type(value) in PLAIN:
                return [type(value).__name__, repr(value)]
            case type():
                return self._class(value) if self._ours(value.__module__) else self._by_name(value)
            case types.FunctionType():
                return self.function(value) if self._ours(value.__module__) else self._by_name(value)
            case types.MethodType():
                return ["method", self.value(value.__func__, where), self.value(value.__self__, where)]
            case types.BuiltinFunctionType() if not isinstance(value.__self__, types.ModuleType | type | None):
                return ["method", self._by_name(value), self.value(value.__self__, where)]
            case types.BuiltinFunctionType() | types.MethodDescriptorType() | types.WrapperDescriptorType() | TypeVar():
                return self._by_name(value)
            case types.ModuleType():
                return refuse(f"the module {value.__name__} is used as a value", where, "name what is meant in it")
            case _ if _is_question(value):
                return self._question(value, where)
            case _:
                return self._data(value, where)

    def _question(self, question: Question[Any, Any], where: str) -> Any:
        return ["question", self.value(question.ask, where), self.value(question.answers, where)]

    def _data(self, value: Any, where: str) -> Any:
        kind = kind_of(value)
        if (origin := get_origin(value)) is not None:
            return ["type", self.value(origin, where), [self.value(each, where) for each in get_args(value)]]
        if kind in (tuple, list):
            return [kind.__name__, [self.value(each, where) for each in value]]
        if kind in (set, frozenset):
            return [kind.__name__, sorted((self.value(each, where) for each in value), key=as_bytes)]
        if kind in (dict, types.MappingProxyType):
            return [kind.__name__, [[self.value(key, where), self.value(held, where)] for key, held in value.items()]]
        if (wrapped := getattr(value, "__wrapped__", None)) is not None:
            return ["wrapped", self.value(kind, where), self.value(wrapped, where)]
        if not self._ours(kind.__module__):
            return self._of_the_library(value, where)
        held = {name: getattr(value, name) for name in slots_of(value)} | getattr(value, "__dict__", {})
        plain = [self.value(each, where) for each in (value if is_tuple(value) else ())]
        return ["instance", self._class(kind), plain, {name: self.value(held[name], where) for name in sorted(held)}]

    def _of_the_library(self, value: Any, where: str) -> Any:
        self.keywords.update(getattr(value, "keywords", ()))  # of a partial function
        try:
            held = reduced(value)
        except TypeError:
            refuse(f"what {kind_of(value).__name__} holds cannot be known", where, CURE)
        return ["instance", self.value(kind_of(value), where), self.value(held, where)]

    def _by_name(self, value: Any) -> Any:
        """Something of the standard library, or of this package; what it may be asked for is known from now on."""
        module = str(getattr(value, "__module__", None) or "builtins")
        self._attributes |= asked_of(module)
        if isinstance(value, type):
            self._attributes.update(dir(value))
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", repr(value))
        library = module.partition(".")[0].lstrip("_")  # inside of it, things move from one Python to the next
        return ["name", "form" if module.startswith(THIS_PACKAGE) else library, name]

    def _ours(self, module: str | None) -> bool:
        """Whether code of this module counts as it stands, and not by name."""
        top = (module or "builtins").partition(".")[0]
        return top == "__main__" or (top not in sys.stdlib_module_names and not (module or "").startswith(THIS_PACKAGE))

    # -- what code asks for ------------------------------------------------------------------------------------------

    def constant(self, name: str, value: object, where: str) -> tuple[Any, str]:
        """A value that a module holds under a name: code and members by reference, every other as a unit of its own."""
        form, known = self.known(value, f"{where}: {name}")
        if known != "value" or isinstance(value, Enum | Question):
            return form, known
        return self._unit(f"constant {name}", ("constant", name, as_bytes(form)), None, lambda: form), known

    def asked(self, name: str, where: str, *, called: bool) -> None:
        """An attribute is asked for: in the end it has to be known what that may be."""
        self._asked.append(_Asked(name, called, where))


def _is_question(value: object) -> TypeGuard[Question[Any, Any]]:
    return isinstance(value, Question)


class _Names:
    """What names mean in code of one namespace: ``captured`` ones first, then those of the module, then the language's own."""

    def __init__(self, reached: _Reached, namespace: dict[str, Any], captured: Mapping[str, tuple[Any, str]]) -> None:
        self._reached = reached
        self._namespace = namespace
        self._captured = captured

    def free(self, chain: tuple[str, ...], where: str) -> tuple[Any, int, str]:
        """As ``Names`` in ``syntax`` says. A module is followed to what is meant in it, and a value of ours to a function."""
        first = chain[0]
        if first in self._captured:
            form, known = self._captured[first]
            return form, 1, known
        if first in self._namespace:
            value = self._namespace[first]
        elif hasattr(builtins, first):
            value = getattr(builtins, first)
            if not callable(value):
                return ["name", "builtins", first], 1, "value"
        else:
            refuse(f"nobody knows what {first} is", where, CURE)
        covered = 1
        while covered < len(chain):
            held = inspect.getattr_static(value, chain[covered], None) if not isinstance(value, type) else None
            if isinstance(value, types.ModuleType) and hasattr(value, chain[covered]):
                value = getattr(value, chain[covered])
            elif _is_question(value) and held is not None and chain[covered] == "ask":
                value = value.ask
            else:
                break
            covered += 1
        form, known = self._reached.constant(chain[covered - 1], value, where)
        return form, covered, known

    def attribute(self, name: str, where: str, *, called: bool) -> None:
        """See ``Names``."""
        self._reached.asked(name, where, called=called)

    def keyword(self, name: str | None) -> None:
        """See ``Names``."""
        self._reached.keywords.add(name)
