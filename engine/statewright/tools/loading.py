"""Things named on a command line, tools above all: ``package.module:attribute``, ``path/to/file.py:attribute``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from statewright.tools.declaration import Tool
from statewright.tools.registry import ToolRegistry
from statewright.tools.suggestion import did_you_mean
from statewright_states.errors import ConfigurationError, StatewrightError


def load_tools(specification: str) -> ToolRegistry:
    """The tools that ``specification`` names.

    The attribute is a ToolRegistry, a list or tuple of tools and functions, or one of these; it is never called.
    Without an attribute: every ``@tool`` of the module. The current directory stays importable afterwards, as with
    ``python -m``; for a file also its own directory, as with ``python file.py``.

    Raises ConfigurationError when the module does not import or holds nothing of the kind, ToolDeclarationError when
    a function in it cannot become a tool.
    """
    named = load_named(specification, "tools")
    _, attribute = _split(specification)
    if not attribute and isinstance(named, ModuleType):
        return _declared_in(named, specification)
    return _registry_of(named, specification)


def load_named(specification: str, role: str) -> object:
    """The attribute that ``specification`` names, or the module where it names none. ``role`` is what errors call it.

    Importing runs whatever stands in the module. Raises ConfigurationError when it does not import or has no such attribute.
    """
    source, attribute = _split(specification)
    where = f"{role} {specification}"
    module = _import(source, where)
    if not attribute:
        return module
    if not hasattr(module, attribute):
        public = [name for name in vars(module) if not name.startswith("_")]
        raise ConfigurationError(f"{source} has no attribute {attribute!r}", where=where, cure=did_you_mean(attribute, public))
    return getattr(module, attribute)


def _split(specification: str) -> tuple[str, str]:
    """Module or file, and attribute; the colon of a drive letter separates nothing."""
    source, colon, attribute = specification.rpartition(":")
    if not colon or "/" in attribute or "\\" in attribute:
        return specification, ""
    return source, attribute


def _registry_of(value: object, specification: str) -> ToolRegistry:
    if isinstance(value, ToolRegistry):
        return value
    if isinstance(value, list | tuple):
        return ToolRegistry(cast("list[Tool | Callable[..., Any]]", value))
    if callable(value) and not isinstance(value, type):
        return ToolRegistry([value])
    raise ConfigurationError(
        f"{value!r:.80} is neither a tool nor a collection of tools",
        where=f"tools {specification}",
        cure="name a ToolRegistry, a list of functions, or a function",
    )


def _declared_in(module: ModuleType, specification: str) -> ToolRegistry:
    declared = [value for value in vars(module).values() if isinstance(value, Tool)]
    if declared:
        return ToolRegistry(declared)
    raise ConfigurationError(
        "the module declares no tools",
        where=f"tools {specification}",
        cure=f"put @tool above its functions, or name what holds them: {specification.removesuffix(':')}:attribute",
    )


def _import(source: str, where: str) -> ModuleType:
    try:
        _make_importable(Path.cwd())
        return _import_file(Path(source)) if source.endswith(".py") else importlib.import_module(source)
    except StatewrightError:  # says what, where and the cure already
        raise
    except (Exception, SystemExit) as error:  # importing runs whatever stands in the module
        last_line = traceback.format_exception_only(error)[-1].strip()
        raise ConfigurationError(
            f"{source or 'a module without a name'} cannot be imported: {last_line}",
            where=f"{where}{raised_at(error)}",
            cure="name a module that is installed or in the current directory, or a path that ends in .py; mend what it raises",
        ) from error


def _import_file(path: Path) -> ModuleType:
    """The file as a module, named by its full path: two files of one name do not meet, and one file loads once."""
    path = path.resolve(strict=True)
    name = str(path)
    if name in sys.modules:
        return sys.modules[name]
    loader = SourceFileLoader(name, name)
    spec = cast("ModuleSpec", importlib.util.spec_from_loader(name, loader))  # None only for loaders that know no file
    module = importlib.util.module_from_spec(spec)
    _make_importable(path.parent)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _make_importable(directory: Path) -> None:
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))


def raised_at(error: BaseException) -> str:
    """``, file:line`` of the place in the caller's code where it was raised; nothing when none was reached."""
    if isinstance(error, SyntaxError):
        return f", {error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    ours = (__file__, importlib.__file__)
    theirs = [frame for frame in frames if frame.filename not in ours and not frame.filename.startswith("<frozen importlib")]
    return f", {theirs[-1].filename}:{theirs[-1].lineno}" if theirs else ""
