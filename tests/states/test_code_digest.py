"""The digest of the code that decides: what is written otherwise changes nothing, what does otherwise changes it."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import symtable
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_trees import FORGETS_TO_COUNT, OTHER_COMMAND, STEPS_LEFT, copied_tree, different, digests_in
from house import PACKAGES
from statewright_states.errors import DeclarationError
from statewright_states.form.syntax import Resolved, Syntax
from statewright_states.form.table import Table
from statewright_states.requirements import TABLES

MINE = '''"""A table of a user's own."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from statewright_states.form.question import one_of, yes_no
from statewright_states.form.row import SAME, Command, Event, Row, effect
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass, replace

LIMITS = {"small": 3, "large": (10, 20)}
FACTOR = 2


class S(StrEnum):
    OPEN = "open"
    DONE = "done"


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


@dataclass(frozen=True, slots=True)
class Purse:
    coins: int = 4

    @property
    def rich(self) -> bool:
        """Whether there is much."""
        return self.coins > LIMITS["small"]

    def after(self, spent: int) -> Purse:
        return replace(self, coins=self.coins - spent)


@dataclass(frozen=True, slots=True)
class Facts:
    purse: Purse = field(default_factory=Purse)
    count: int = 0


@dataclass(frozen=True, slots=True)
class Knock(Event):
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Ring(Command):
    times: int = 1
    loud: bool = False


def third(value: int) -> int:
    doubled = value * FACTOR
    return doubled + 1


def second(value: int, *, more: int = 1) -> int:
    return third(value) + more


def first(value: int) -> int:
    # three calls away from the table
    parts = [second(each, more=2) for each in range(value) if each]
    return sum(parts)


@yes_no
def rich(facts: Facts, event: Event) -> bool:
    """Is there much?"""
    return facts.purse.rich


@one_of(Size)
def size(facts: Facts, event: Knock) -> Size:
    """How large is it?"""
    match event:
        case Knock(weight=weight) if first(weight) > 7:
            return Size.LARGE
        case _:
            return Size.SMALL


def ring(times: int):
    @effect(called=f"ring({times})")
    def sound(facts: Facts, event: Event) -> Ring:
        return Ring(times, loud=facts.count > 2)

    return sound


def fold(facts: Facts, event: Event, commands: tuple[Command, ...]) -> Facts:
    total = facts.count
    for command in commands:
        if isinstance(command, Ring):
            total = total + command.times
    return replace(facts, count=total, purse=facts.purse.after(spent=1))


MINE = Table(
    "mine", S, facts=Facts, initial=S.OPEN, final=(S.DONE,), fold=fold,
    rows=(
        Row("M-1", S.OPEN, Knock, S.DONE, when=(rich.no,), do=(ring(1),), req=("R",), why="w"),
        Row("M-2", S.OPEN, Knock, SAME, when=(rich.yes, size.is_(Size.SMALL)), do=(ring(2),), req=("R",), why="w"),
        Row("M-3", S.OPEN, Knock, SAME, when=(rich.yes, size.is_(Size.LARGE)), do=(ring(2), ring(3)), req=("R",), why="w"),
    ),
)
'''

RING = MINE[MINE.index("def ring") : MINE.index("    return sound")]
SECOND = "(one: int, two: int) -> int:\n    return one - two"
SAME_CODE = {
    "a comment": ("    return facts.purse.rich", "    # it is in the purse\n    return facts.purse.rich"),
    "a docstring": ('    """How large is it?"""', '    """How large is that?"""'),
    "a string that stands alone": ("    total = facts.count\n", '    total = facts.count\n    "so far"\n'),
    "an annotation": ("def third(value: int) -> int:", "def third(value):"),
    "an annotation of a local": ("doubled = value * FACTOR", "doubled: int = value * FACTOR"),
    "a field's annotation": ("    weight: int = 1", "    weight: float = 1"),
    "formatting": ("sum(parts)", "sum(\n        parts,\n    )"),
    "a local": ("    total = facts.count\n", "    counted = facts.count\n"),
    "a parameter": (
        "def third(value: int) -> int:\n    doubled = value",
        "def third(given: int) -> int:\n    doubled = given",
    ),
    "the names in a comprehension": (
        "[second(each, more=2) for each in range(value) if each]",
        "[second(one, more=2) for one in range(value) if one]",
    ),
    "a captured parameter": (RING, RING.replace("times", "often")),
    "the name in a pattern": ("case Knock(weight=weight) if first(weight) > 7:", "case Knock(weight=heft) if first(heft) > 7:"),
    "how a constant is computed": ("FACTOR = 2", "FACTOR = 4 - 2"),
    "a function that nothing reaches": ("LIMITS =", "def unused() -> None: ...\n\n\nLIMITS ="),
    "a pass": ("            return Size.SMALL\n", "            pass\n            return Size.SMALL\n"),
}  # fmt: skip
OTHER_CODE = {
    "an operator in a question": ("self.coins > LIMITS", "self.coins >= LIMITS", {"function Purse.rich"}),
    "a constant": ("FACTOR = 2", "FACTOR = 3", {"constant FACTOR"}),
    "a value in a constant": ('"large": (10, 20)', '"large": (10, 21)', {"constant LIMITS"}),
    "a default of a field": ("coins: int = 4", "coins: int = 5", {"field Purse.coins"}),
    "a default of a fact": ("count: int = 0", "count: int = 1", {"field Facts.count"}),
    "a default of a command": ("loud: bool = False", "loud: bool = True", {"field Ring.loud"}),
    "a default of an event": ("weight: int = 1", "weight: int = 2", {"field Knock.weight"}),
    "a default of a parameter": ("more: int = 1", "more: int = 3", {"function second"}),
    "a helper three calls away": ("return doubled + 1", "return doubled + 2", {"function third"}),
    "a forgotten line in the fold": ("            total = total + command.times", "            pass", {"fold"}),
    "what an effect captured": ("    return sound", "    times += 1\n    return sound", {"effect ring(2)"}),
    "an effect that gives something else": ("return Ring(times, loud", "return Ring(times + 1, loud", {"effect ring(1)"}),
    "a method": ("coins=self.coins - spent", "coins=self.coins + spent", {"function Purse.after"}),
    "a member": ('    SMALL = "small"', '    SMALL = "little"', {"class Size"}),
    "the order of members": (
        '    SMALL = "small"\n    LARGE = "large"',
        '    LARGE = "large"\n    SMALL = "small"',
        {"class Size"},
    ),
    "the order of statements": (
        "    doubled = value * FACTOR\n    return doubled + 1",
        "    return doubled + 1\n    doubled = value * FACTOR",
        {"function third"},
    ),
    "locals that change places": ("return doubled + 1", "return value + 1", {"function third"}),
    "a decorator": ("    @property\n    def rich", "    def rich", {"class Purse"}),
    "an answer": ("return Size.LARGE", "return Size.SMALL", {"question size"}),
}
NUMBERS = count()


def loaded(text: str, folder: Path, **others: str) -> ModuleType:
    """A module from its text, beside others, each with a name of its own that no module had before."""
    for name, other in others.items():
        module_from(name, other, folder)
    return module_from(f"mine_{next(NUMBERS)}", text, folder)


def module_from(name: str, text: str, folder: Path) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test imports is forgotten after it."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("mine_", "moved_")):
            del sys.modules[name]


def code_of(text: str, folder: Path, **others: str) -> Mapping[str, str]:
    found: Mapping[str, str] = loaded(text, folder, **others).MINE.code
    return found


def changed(old: str, new: str, text: str = MINE) -> str:
    assert text.count(old) == 1, f"{text.count(old)} times: {old}"
    return text.replace(old, new)


# -- a table of a user's own -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", SAME_CODE)
def test_what_is_written_otherwise_has_the_same_digest(what: str, tmp_path: Path) -> None:
    old, new = SAME_CODE[what]
    text = MINE.replace("total", "counted") if what == "a local" else changed(old, new)
    assert text != MINE
    assert code_of(text, tmp_path) == code_of(MINE, tmp_path)


@pytest.mark.parametrize("what", OTHER_CODE)
def test_what_does_otherwise_has_another_digest_and_a_name(what: str, tmp_path: Path) -> None:
    old, new, named = OTHER_CODE[what]
    before = code_of(MINE, tmp_path)
    after = code_of(changed(old, new), tmp_path)
    assert different(before, after) >= named


def test_code_may_be_moved_within_a_file_and_to_another(tmp_path: Path) -> None:
    before = code_of(MINE, tmp_path)
    start, end = MINE.index("def third"), MINE.index("def second")
    helper = MINE[start:end]
    below = MINE[:start] + MINE[end:].replace("@yes_no", helper + "@yes_no", 1)
    assert code_of(below, tmp_path) == before
    elsewhere = MINE[:start].replace("FACTOR = 2\n", "from moved_helpers import third\n") + MINE[end:]
    assert code_of(elsewhere, tmp_path, moved_helpers=f"FACTOR = 2\n\n\n{helper}") == before


def test_code_that_is_reached_twice_counts_once(tmp_path: Path) -> None:
    before = code_of(MINE, tmp_path)
    reached = [name for name in before if "third" in name or "Ring" in name]
    assert reached == ["class Ring", "field Ring.loud", "field Ring.times", "function third"]
    assert [name for name in before if name.startswith("effect")] == ["effect ring(1)", "effect ring(2)", "effect ring(3)"]


def test_two_functions_of_one_name_are_two(tmp_path: Path) -> None:
    text = changed("    return third(value) + more", "    return third(value) + moved_other.third(value)")
    text = changed("LIMITS =", "import moved_other\n\nLIMITS =", text)
    other = "def third(value: int) -> int:\n    return value + {}\n"
    one, two = (code_of(text, tmp_path, moved_other=other.format(number)) for number in (1, 2))
    assert different(one, two) == {"function third #2"}


def test_a_parameter_that_is_given_by_name_keeps_its_name(tmp_path: Path) -> None:
    text = changed("(value: int, *, more: int = 1) -> int:\n    return third(value) + more", SECOND)
    text = changed("second(each, more=2)", "second(one=each, two=2)", text)
    swapped = changed(SECOND, "(two: int, one: int) -> int:\n    return one - two", text)
    other = changed(SECOND, "(two: int, one: int) -> int:\n    return two - one", text)
    before = code_of(text, tmp_path)
    assert different(before, code_of(swapped, tmp_path)) == {"function second"}  # the order is another, for who gives none
    assert different(before, code_of(other, tmp_path)) == {"function second"}  # without names, these two would be one


def test_the_digest_of_a_table_is_that_of_its_list(tmp_path: Path) -> None:
    table: Table[Any] = loaded(MINE, tmp_path).MINE
    assert table.code_digest == sha256(table.code_form).hexdigest()
    assert table.code is table.code
    assert all(part in table.code_form.decode() for part in table.code.values())


def test_the_pieces_of_a_text_count_as_one_text() -> None:
    """Some versions of Python leave them apart."""
    apart, joined = (ast.JoinedStr([ast.Constant(text) for text in texts]) for texts in (("a", "b"), ("ab",)))
    assert Syntax().encode(apart) == Syntax().encode(joined) != Syntax().encode(ast.JoinedStr([ast.Constant("ba")]))


# -- what cannot be known --------------------------------------------------------------------------------------------

REFUSED = {
    "a parameter is called": ("return third(value) + more", "return more(value)", "more(...) calls what only a run"),
    "a local is called": (
        "return third(value) + more",
        "chosen = third\n    return chosen(value) + more",
        "chosen(...) calls what only a run can know",
    ),
    "an item is called": ("return third(value) + more", "return [third][0](value)", "[third][0](...) calls what only a run"),
    "a result is called": ("return third(value) + more", "return third(value)(more)", "(value)(...) calls what only a run"),
    "a constant is called": ("return third(value) + more", "return LIMITS(value)", "LIMITS(...) calls what only a run"),
    "code is made": ("return third(value) + more", 'return eval("third(value)")', "eval(...) reaches code"),
    "a module is named by a run": (
        "return third(value) + more",
        "return importlib.import_module(str(value)).third(more)",
        "importlib.import_module(...) reaches code",
    ),
    "an attribute is named by a run": ("facts.count > 2", "getattr(facts, str(times)) > 2", "asks for an attribute"),
    "an attribute that nothing has": ("facts.count > 2", "facts.number > 2", "no class that this code can reach has .number"),
    "a field is called": ("facts.count > 2", "facts.count() > 2", ".count"),
    "a name that nothing has": ("return third(value) + more", "return fourth(value)", "nobody knows what fourth is"),
    "an import within": ("return third(value) + more", "import os\n    return third(value)", "imports while it runs"),
    "a class within": ("return third(value) + more", "class A: ...\n    return third(value)", "declares a class while it runs"),
    "a global name that changes": ("return third(value) + more", "global FACTOR\n    return third(value)", "changes a global"),
    "two functions in one line": (
        "return third(value) + more",
        "return ONE(value) + TWO(value)",
        "two functions without a name begin in one line",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_known_is_refused_with_its_place(what: str, tmp_path: Path) -> None:
    old, new, words = REFUSED[what]
    text = changed(
        "LIMITS =", "import importlib\n\nONE, TWO = lambda value: value, lambda value: value\nLIMITS =", changed(old, new)
    )
    if what == "a field is called":  # tuples have a count() too, so the field needs a name of its own
        text = text.replace("count", "counted").replace("counted()", "counted(1)")
        words = ".counted(...) calls what a field holds"
    with pytest.raises(DeclarationError) as refused:
        code_of(text, tmp_path)
    assert words in refused.value.what
    file, number = refused.value.where.partition(",")[0].rsplit(":", 1)
    assert Path(file).read_text("utf-8") == text
    line = text.splitlines()[int(number) - 1].strip()
    assert line in new or new in line or "ONE, TWO" in line or ".counted(1)" in line
    assert refused.value.cure
    assert refused.value.rule == "code-can-be-known"


def test_code_without_a_source_is_refused(tmp_path: Path) -> None:
    table: Table[Any] = loaded(MINE, tmp_path).MINE
    for path in tmp_path.glob("*.py"):
        path.unlink()
    with pytest.raises(DeclarationError, match="is not there"):
        _ = table.code


def test_a_source_that_is_not_what_runs_is_refused(tmp_path: Path) -> None:
    table: Table[Any] = loaded(MINE, tmp_path).MINE
    for path in tmp_path.glob("*.py"):
        path.write_text(f"\n{MINE}", "utf-8")
    with pytest.raises(DeclarationError, match="the source is not what this process runs"):
        _ = table.code


# -- the normal form of every function of ours -----------------------------------------------------------------------

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Echo:
    """Names that mean themselves."""

    def free(self, chain: tuple[str, ...], where: str) -> tuple[Any, int, str]:
        return ["free", chain[0]], 1, ""

    def attribute(self, name: str, where: str, *, called: bool) -> None: ...

    def keyword(self, name: str | None) -> None: ...


def normal(node: Function) -> Any:
    params: list[list[Any]] = []
    form = Resolved(Echo(), "file", "function", params).encode(node)
    for param in params:
        param.pop()
    return form


def readable(text: str) -> Iterator[str]:
    """Each function at the top of a module of ours whose code can be known."""
    for node in ast.parse(text).body:
        if isinstance(node, Function):
            try:
                normal(node)
            except DeclarationError:
                continue
            yield ast.unparse(node)


FUNCTIONS = [
    text for package in PACKAGES for path in sorted(package.rglob("*.py")) for text in readable(path.read_text("utf-8"))
]


def function(text: str) -> Function:
    (node,) = ast.parse(text).body
    assert isinstance(node, Function)
    return node


def asked_of_outside(table: symtable.SymbolTable) -> Iterator[str]:
    """The names that code means by what stands outside of it, with those of the functions and comprehensions in it."""
    yield from (symbol.get_name() for symbol in table.get_symbols() if symbol.is_global())
    for inner in table.get_children():
        yield from asked_of_outside(inner)


class Renamed(ast.NodeTransformer):
    """Other names for everything that a function binds, and in no part of it means something outside by."""

    def __init__(self, node: Function) -> None:
        bound = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
        bound |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
        bound |= {
            each.name
            for each in ast.walk(node)
            if isinstance(each, ast.MatchAs | ast.MatchStar | ast.ExceptHandler) and each.name
        }
        bound |= {each.name for each in ast.walk(node) if isinstance(each, Function) and each is not node}
        bound -= set(asked_of_outside(symtable.symtable(ast.unparse(node), "function", "exec")))
        self.names = {name: f"other_{number}" for number, name in enumerate(sorted(bound))}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "arg", "name", "rest"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name in self.names and not isinstance(node, ast.keyword):
                setattr(node, field, self.names[name])
        if isinstance(node, ast.Nonlocal):
            node.names = [self.names[name] for name in node.names]
        return super().generic_visit(node)


class Bare(ast.NodeTransformer):
    """No annotations, and words in between."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(ast.Constant("so it is said")))
        return node


SWAPPED: Mapping[type[ast.AST], ast.AST] = {
    ast.Lt: ast.LtE(), ast.LtE: ast.Lt(), ast.Gt: ast.GtE(), ast.GtE: ast.Gt(), ast.Eq: ast.NotEq(), ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(), ast.IsNot: ast.Is(), ast.In: ast.NotIn(), ast.NotIn: ast.In(), ast.And: ast.Or(), ast.Or: ast.And(),
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.Div(), ast.Div: ast.Mult(), ast.Not: ast.USub(),
}  # fmt: skip


def mutants(text: str) -> Iterator[str]:
    """The function with one operator or one constant that means something changed, once for each."""
    total = sum(1 for _ in ast.walk(function(text)))
    for at in range(total):
        node = function(text)
        silent = {id(each.value) for each in ast.walk(node) if isinstance(each, ast.Expr)}
        silent |= {id(each) for arg in ast.walk(node) for each in ast.walk(getattr(arg, "annotation", None) or ast.Pass())}
        silent |= {id(each) for fun in ast.walk(node) for each in ast.walk(getattr(fun, "returns", None) or ast.Pass())}
        chosen = list(ast.walk(node))[at]
        if id(chosen) in silent:
            continue
        if isinstance(chosen, ast.Constant):
            chosen.value = {bool: not chosen.value, str: f"{chosen.value!s}!"}.get(type(chosen.value), 12345)  # type: ignore[assignment]
            yield ast.unparse(node)
        for field, operator in ast.iter_fields(chosen):
            if type(operator) in SWAPPED:
                setattr(chosen, field, SWAPPED[type(operator)])
                yield ast.unparse(node)
            elif field == "ops":
                chosen.ops[0] = SWAPPED[type(operator[0])]  # type: ignore[attr-defined]
                yield ast.unparse(node)


def test_there_are_many_functions_to_try() -> None:
    assert len(FUNCTIONS) > 300


def renamed(node: Function) -> str:
    return ast.unparse(Renamed(node).visit(node))


def bare(node: Function) -> str:
    return ast.unparse(ast.fix_missing_locations(Bare().visit(node)))


def commented(node: Function) -> str:
    text = ast.unparse(node)
    return text if '"""' in text else "\n".join(f"{line}  # {at}\n" for at, line in enumerate(text.splitlines()))


@pytest.mark.parametrize("otherwise", [renamed, bare, commented])
def test_writing_a_function_otherwise_never_changes_its_normal_form(otherwise: Callable[[Function], str]) -> None:
    for text in FUNCTIONS:  # each of them: the one that a sample leaves out is the one that fails later
        assert normal(function(otherwise(function(text)))) == normal(function(text)), text


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(FUNCTIONS))
def test_another_operator_or_constant_always_changes_the_normal_form(text: str) -> None:
    before = normal(function(text))
    for mutant in mutants(text):
        assert normal(function(mutant)) != before, mutant


# -- the tables of this package --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    return digests_in(copied_tree(tmp_path_factory.mktemp("pristine")))


def test_a_copy_elsewhere_has_the_digests_that_this_process_finds(pristine: Mapping[str, Any]) -> None:
    assert pristine == {table.name: [table.code_digest, dict(table.code)] for table in TABLES}


def test_every_python_and_every_process_finds_the_same(tmp_path: Path, pristine: Mapping[str, Any]) -> None:
    tree = copied_tree(tmp_path)
    for python in pythons():
        for seed in (1, 4711):
            assert digests_in(tree, python=python, seed=seed) == pristine, python


def pythons() -> Iterator[str]:
    """Every Python of this machine that the package is for."""
    named = [shutil.which(f"python3.{minor}") for minor in range(11, 16)]
    kept = sorted((Path.home() / ".pyenv" / "versions").glob("*/bin/python3"))
    for python in dict.fromkeys([sys.executable, *filter(None, named), *map(str, kept)]):
        command = [python, "-c", "import sys; print(sys.version_info >= (3, 11))"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.stdout == "True\n":
            yield python


@pytest.mark.parametrize(
    ("change", "tables"),
    [
        (STEPS_LEFT, {"run": {"question steps_left"}}),
        (FORGETS_TO_COUNT, {"run": {"function _after_command"}}),
        (OTHER_COMMAND, {"run": {"effect build_context"}}),
        (("run/facts.py", "max_steps: int = 40", "max_steps: int = 41"), {"run": {"field RunSettings.max_steps"}}),
        (("frozen.py", "in changes.items():", "in ():"), {table.name: {"module frozen"} for table in TABLES}),
        (("words/approval.py", "0xFE00, 0xFE10", "0xFE00, 0xFE11"), {name: {"constant FILLERS"} for name in ("run", "tool")}),
        (("plan_build/table.py", "steps=facts.steps + end.steps", "steps=end.steps"), {"plan_build": {"function _used"}}),
        (("run/questions.py", '"""May this attempt call the model once more?"""', '"""Another one?"""'), {}),
        (("form/table.py", '"""Every question of the cell, answered."""', '"""What comes."""'), {}),
    ],
    ids=lambda value: value[2][:30] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_a_change_of_the_package_is_named(change: Any, tables: Any, tmp_path: Path, pristine: Mapping[str, Any]) -> None:
    found = digests_in(copied_tree(tmp_path, change))
    named = {table: different(pristine[table][1], found[table][1]) for table in pristine}
    assert {table: parts for table, parts in named.items() if parts} == tables
    assert {table for table in pristine if pristine[table][0] != found[table][0]} == set(tables)


def test_a_package_in_an_archive_has_the_same_digests(tmp_path: Path, pristine: Mapping[str, Any]) -> None:
    copied_tree(tmp_path / "tree")
    archive = shutil.make_archive(str(tmp_path / "packages"), "zip", tmp_path / "tree")
    assert digests_in(Path(archive)) == pristine
