"""JSON Schema of a function's parameters, from its type hints and docstring, through pydantic.

The parameters become the fields of a pydantic model. Its fields are called ``p0``, ``p1``, … and carry the parameter's
name as their alias, because a parameter may be called ``copy``, ``model_config`` or ``_x`` and a pydantic field may not.

A type of the caller's own (pydantic model, dataclass, TypedDict) that is nested inside keeps its own rules about
unknown keys; the parameters themselves allow none (``additionalProperties`` is false).
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from statewright.tools.context import deps_of, is_context
from statewright.tools.docstring import Docstring
from statewright_states.errors import ToolDeclarationError

_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
_MAPS_OF_SCHEMAS = {"properties", "$defs", "patternProperties"}
_VALUES = {"default", "const", "enum", "examples"}


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """What a function takes. ``names`` maps a field of ``model`` to the parameter it stands for, in order."""

    names: Mapping[str, str]
    model: type[BaseModel]
    json_schema: bytes
    """Compact JSON Schema in UTF-8, an object; the same declaration gives the same bytes."""
    context: str | None = None
    """The parameter that the engine fills with a ``ToolContext``, which no model is told of; None where there is none."""
    deps: Any = Any
    """What the context wants for its ``deps``: a type hint."""


def parameters_of(function: Callable[..., Any], docstring: Docstring, where: str) -> Parameters:
    """The parameters of a function. Raises ToolDeclarationError, which names the parameter and ``where`` it is."""
    fields: dict[str, _Field] = {}
    contexts: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        hint = _hint_of(function, parameter, where)
        if is_context(hint):
            contexts[parameter.name] = hint
        else:
            fields[parameter.name] = _field(hint, parameter, docstring)
    if len(contexts) > 1:
        raise ToolDeclarationError(
            f"there are {len(contexts)} parameters for a context: {', '.join(contexts)}", where=where, cure="one is enough"
        )
    try:
        model, schema = _model_and_schema(fields)
    except Exception as error:  # pydantic, and the types' own hooks inside it, raise what they like
        name, reason = _culprit(fields, error)
        raise ToolDeclarationError(
            f"parameter {name!r} cannot be described to a model: {_first_line(reason)}",
            where=where,
            cure="use types that JSON can carry: str, int, float, bool, list, dict, Literal, Enum, dataclass, pydantic model",
        ) from reason
    names = {f"p{index}": name for index, name in enumerate(fields)}
    context, hint = next(iter(contexts.items()), (None, Any))
    return Parameters(names, model, schema, context, deps_of(hint))


_Field = tuple[Any, Any]
"""What pydantic is told of a field: its type, and its default and description."""


def _hint_of(function: Callable[..., Any], parameter: inspect.Parameter, where: str) -> Any:
    """The type hint of a parameter that can be filled. Raises ToolDeclarationError."""
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise ToolDeclarationError(
            f"parameter {str(parameter).split(':')[0]!r} cannot be given by name",
            where=where,
            cure="a model names its arguments: declare each as an ordinary or keyword-only parameter (no *args, **kwargs, /)",
        )
    if parameter.annotation is parameter.empty:
        raise ToolDeclarationError(
            f"parameter {name!r} has no type hint",
            where=where,
            cure=f"write {name}: int, or whatever it is"
            if name not in ("self", "cls")
            else "declare the bound method instead: tool(instance.method), or ToolRegistry([instance.method])",
        )
    if isinstance(parameter.default, FieldInfo):
        raise ToolDeclarationError(
            f"the default of parameter {name!r} is a pydantic Field, which a plain call would hand to the function",
            where=where,
            cure=f"move it into the hint: {name}: Annotated[..., Field(...)] = default",
        )
    return _resolved_hint(function, parameter, where)


def _field(hint: Any, parameter: inspect.Parameter, docstring: Docstring) -> _Field:
    name = parameter.name
    described = any(isinstance(part, FieldInfo) and part.description for part in getattr(hint, "__metadata__", ()))
    options: dict[str, Any] = {"alias": name}
    if parameter.default is not parameter.empty:
        options["default"] = parameter.default
    if not described and name in docstring.parameters:
        options["description"] = docstring.parameters[name]
    return hint, Field(**options)


def _resolved_hint(function: Callable[..., Any], parameter: inspect.Parameter, where: str) -> Any:
    """The hint as a type. Only this one is resolved: what the function returns is of no concern here."""
    alone = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    namespace = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return typing.get_type_hints(alone, globalns=namespace, include_extras=True)[parameter.name]
    except Exception as error:  # evaluating a hint runs whatever text stands there
        raise ToolDeclarationError(
            f"the type hint {parameter.annotation!r} of parameter {parameter.name!r} cannot be resolved: {_first_line(error)}",
            where=where,
            cure="define or import the type at module level, above the tool and not under TYPE_CHECKING; "
            "types local to a function need a module without 'from __future__ import annotations'",
        ) from error


def _model_and_schema(fields: Mapping[str, _Field]) -> tuple[type[BaseModel], bytes]:
    definitions: dict[str, Any] = {f"p{index}": field for index, field in enumerate(fields.values())}
    model = create_model("Arguments", __config__=_STRICT, **definitions)
    schema = _without_titles(model.model_json_schema(schema_generator=_QuietSchema))
    return model, json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class _QuietSchema(GenerateJsonSchema):
    """A default that JSON cannot carry is left out of the schema without a warning: the function still has it."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Say nothing."""


def _culprit(fields: Mapping[str, _Field], error: Exception) -> tuple[str, Exception]:
    """The first parameter that fails alone, with its error."""
    for name, field in fields.items():
        try:
            _model_and_schema({name: field})
        except Exception as alone:  # as above
            return name, alone
    return ", ".join(fields), error


def _without_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without pydantic's titles, which repeat names and cost tokens; a property called ``title`` stays."""
    return {key: _inside(key, value) for key, value in schema.items() if key != "title"}


def _inside(key: str, value: Any) -> Any:
    if key in _VALUES:
        return value
    if key in _MAPS_OF_SCHEMAS:
        return {name: _without_titles(nested) for name, nested in value.items()}
    if isinstance(value, dict):
        return _without_titles(cast("Mapping[str, Any]", value))
    if isinstance(value, list):
        return [_inside("", nested) for nested in cast("Sequence[Any]", value)]
    return value


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
