"""What every configuration is: a pydantic model, whose errors are told in our words."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema

from statewright.config.field_docs import field_docs, with_fields, without_fields
from statewright_states.errors import ConfigurationError

UNSHOWN = ("extra_headers", "extra_body")
"""Keys whose values no error shows: somebody may have put a secret there."""


class Configuration(BaseModel):
    """The base of all configuration: frozen, and unknown keys are errors that name the key and the known ones."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_enum_values=False, defer_build=True, hide_input_in_errors=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.__doc__ = with_fields(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The JSON schema, with what stands under the fields as their descriptions."""
        shape = handler.resolve_ref_schema(made := handler(schema))
        shape["description"] = without_fields(cls)
        for name, text in field_docs(cls).items():
            shape["properties"][name]["description"] = text
        return made

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise configuration_error(type(self), error) from error


def configuration_error(model: type[BaseModel], error: ValidationError) -> ConfigurationError:
    """The first problem of a pydantic error in our words: which key, what is wrong, what is known."""
    problem = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in problem["loc"])
    if not path:  # said by a validator of ours about several keys
        what = problem["msg"].removeprefix("Value error, ")
        return ConfigurationError(what, where=model.__name__, cure="change one of these keys")
    if problem["type"] == "extra_forbidden":
        known = ", ".join(sorted(_model_at(model, problem["loc"][:-1]).model_fields))
        return ConfigurationError(
            f"unknown configuration key {path!r}", where=model.__name__, cure=f"known keys there: {known}"
        )
    return ConfigurationError(
        f"configuration key {path!r}: {problem['msg']}" + ("" if path.startswith(UNSHOWN) else _given(problem["input"])),
        where=model.__name__,
        cure=f"see the fields of {model.__name__} for what it may be",
    )


def _model_at(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel]:
    for part in path:
        field = model.model_fields.get(str(part))
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            break
        model = field.annotation
    return model


def _given(value: object) -> str:
    text = repr(value)
    return f" (given: {text if len(text) <= 80 else text[:77] + '...'})"
