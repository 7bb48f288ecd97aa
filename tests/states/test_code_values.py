"""What the code of a table may use besides plain functions: each counts by what it holds, or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_trees import different
from statewright_states.errors import DeclarationError
from test_code_digest import MINE, changed, code_of, loaded

HEADING = """import functools, operator, threading, typing
from collections import defaultdict, namedtuple
from datetime import timedelta
from decimal import Decimal
from enum import Enum, Flag
from types import MappingProxyType
from typing import Literal, NamedTuple, Optional

"""

FLAG = "class F(Flag):\n    A = 1\n    B = 2\n\n"
TWICE = """def twice(f):
    @functools.wraps(f)
    def both(n):
        return f(f(n)){}
    return both

@twice
def HELD(n):
    return {}"""
NUMBERED = """class HELD:
    @operator.itemgetter
    def n(self):
        return {}"""
PRIVATE = """class HELD:
    def __hidden(self):
        return {}
    def shown(self):
        return self.__hidden()"""
PATTERNS = """def HELD(n):
    match n:
        case {{'{}': x, **rest}}:
            return x, rest
        case [x, *more]:
            return x, more"""
USES = {
    # what: the declaration, how it is used instead of FACTOR, and the declaration that is other
    "a partial function": ("HELD = functools.partial(pow, 2, mod=5)", "HELD(value)", "HELD = functools.partial(pow, 3, mod=5)"),
    "a method of a value": ("HELD = (1, 2).count", "HELD(value)", "HELD = (1, 2, 2).count"),
    "a bound method": (
        "class A:\n    def by(self, n):\n        return n\n\nHELD = A().by",
        "HELD(value)",
        "class A:\n    def by(self, n):\n        return n + 1\n\nHELD = A().by",
    ),
    "a cached function": (
        "@functools.cache\ndef HELD(n):\n    return n",
        "HELD(value)",
        "@functools.cache\ndef HELD(n):\n    return -n",
    ),
    "a function in a mapping": (
        "def inner(n):\n    return n\n\nHELD = {'a': inner}",
        "len(HELD)",
        "def inner(n):\n    return n + 1\n\nHELD = {'a': inner}",
    ),
    "a mapping that cannot change": ("HELD = MappingProxyType({1: 2})", "HELD[1]", "HELD = MappingProxyType({1: 3})"),
    "a mapping with a default": (
        "HELD = defaultdict(int, {1: 2})",
        "HELD[1]",
        "HELD = defaultdict(float, {1: 2})",
    ),
    "a decimal": ("HELD = Decimal('0.1')", "int(HELD)", "HELD = Decimal('0.2')"),
    "a duration": ("HELD = timedelta(1)", "HELD.days", "HELD = timedelta(2)"),
    "a set": ("HELD = {3, 1, 2}", "len(HELD)", "HELD = {3, 1, 4}"),
    "a float": ("HELD = 0.5", "int(HELD)", "HELD = 0.25"),
    "text and bytes": ("HELD = ('a', b'a')", "len(HELD)", "HELD = ('a', b'b')"),
    "a union of types": ("HELD = int | str", "isinstance(value, HELD)", "HELD = int | bytes"),
    "a flag": (f"{FLAG}HELD = F.A", "HELD.value", f"{FLAG}HELD = F.B"),
    "a named tuple": (
        "class P(NamedTuple):\n    x: int\n\nHELD = P(1)",
        "HELD.x",
        "class P(NamedTuple):\n    x: int\n\nHELD = P(2)",
    ),
    "a value with attributes": (
        "class A:\n    def __init__(self, n):\n        self.n = n\n    n = 0\n\nHELD = A(1)",
        "HELD.n",
        "class A:\n    def __init__(self, n):\n        self.n = n\n    n = 0\n\nHELD = A(2)",
    ),
    "a class attribute": ("class A:\n    limit = 1\n\nHELD = A", "HELD.limit", "class A:\n    limit = 2\n\nHELD = A"),
    "a shared field": (
        "class A:\n    limit: typing.ClassVar[int] = 1\n\nHELD = A",
        "HELD.limit",
        "class A:\n    limit: int = 1\n\nHELD = A",
    ),
    "a class of the library": ("HELD = operator.add", "HELD(value, 1)", "HELD = operator.sub"),
    "a function of a function": (TWICE.format("", "n"), "HELD(value)", TWICE.format(" + 1", "n")),
    "what a function is made of": (TWICE.format("", "n"), "HELD(value)", TWICE.format("", "-n")),
    "a method that is no function": (NUMBERED.format(1), "HELD.n", NUMBERED.format(2)),
    "a private method": (PRIVATE.format(1), "HELD().shown()", PRIVATE.format(2)),
    "a function that calls itself": (
        "def made():\n    def down(n):\n        return down(n - 1) if n else 0\n    return down\n\nHELD = made()",
        "HELD(value)",
        "def made():\n    def down(n):\n        return down(n - 2) if n else 0\n    return down\n\nHELD = made()",
    ),
    "a class made in a function": (
        "def made(k):\n    class A:\n        def by(self, n):\n            return n + k\n    return A()\n\nHELD = made(1)",
        "HELD.by(value)",
        "def made(k):\n    class A:\n        def by(self, n):\n            return n + k\n    return A()\n\nHELD = made(2)",
    ),
    "a question that is asked": ("HELD = 1", "rich.ask(Facts(), Knock())", "HELD = 2"),
    "a question as a value": ("HELD = 1", "len([rich])", "HELD = 2"),
    "a getter of a constant name": (
        "class A:\n    n = 1\n\nHELD = A",
        "getattr(HELD, 'n')",
        "class A:\n    n = 2\n\nHELD = A",
    ),
    "a lambda": ("HELD = lambda n: n", "HELD(value)", "HELD = lambda n: n + 1"),
    "a lambda that is called at once": ("HELD = 1", "(lambda n: n)(value)", "HELD = 2"),
    "a name that is bound outside": (
        "def HELD(n):\n    k = 0\n    def up():\n        nonlocal k\n        k += n\n        return k\n    return up()",
        "HELD(value)",
        "def HELD(n):\n    k = 1\n    def up():\n        nonlocal k\n        k += n\n        return k\n    return up()",
    ),
    "patterns": (PATTERNS.format("a"), "len(HELD(value))", PATTERNS.format("b")),
    "what is raised": (
        "def HELD(n):\n    try:\n        return int(n)\n    except ValueError as error:\n        return len(error.args)",
        "HELD(value)",
        "def HELD(n):\n    try:\n        return int(n)\n    except TypeError as error:\n        return len(error.args)",
    ),
    "text with values in it": (
        'def HELD(n):\n    return len(f"{n!r:>{n}} and " "more" f"{n}")',
        "HELD(value)",
        'def HELD(n):\n    return len(f"{n!r:<{n}} and " "more" f"{n}")',
    ),
    "a constant of the language": ("HELD = 1", "(NotImplemented, __debug__)[0]", "HELD = 2"),
    "annotations of every kind": (
        'class A:\n    a: Literal["x"] = "x"\n    b: "Optional[Size]" = None\n    c: typing.Sequence[int] = ()\n\nHELD = A',
        "HELD.a",
        'class A:\n    a: Literal["x"] = "y"\n    b: "Optional[Size]" = None\n    c: typing.Sequence[int] = ()\n\nHELD = A',
    ),
}  # fmt: skip


def using(declared: str, use: str) -> str:
    """The table with a declaration before its questions, used in a helper; its other modules are imported."""
    future = "from __future__ import annotations\n"
    text = changed("    doubled = value * FACTOR\n    return doubled + 1", f"    return {use}")
    text = changed(future, f"{future}\n{HEADING}", text)
    return changed("@yes_no\ndef rich", f"{declared}\n\n\n@yes_no\ndef rich", text)


@pytest.mark.parametrize("what", USES)
def test_a_value_counts_by_what_it_holds(what: str, tmp_path: Path) -> None:
    declared, use, other = USES[what]
    before = code_of(using(declared, use), tmp_path)
    assert code_of(using(declared, use), tmp_path) == before
    after = code_of(using(other, use), tmp_path)
    assert bool(different(before, after)) == ("HELD" in use)


def test_a_fold_may_be_a_value_that_is_called(tmp_path: Path) -> None:
    summing = "class Summing:\n    def __init__(self, times):\n        self.times = times\n"
    summing += (
        "    def __call__(self, facts, event, commands):\n        return replace(facts, count=self.times + {})\n\n\nMINE ="
    )
    texts = [changed("fold=fold", "fold=Summing(2)", changed("MINE =", summing.format(more))) for more in (0, 1)]
    one, two = (code_of(text, tmp_path) for text in texts)
    three = code_of(changed("fold=Summing(2)", "fold=Summing(3)", texts[0]), tmp_path)
    assert different(one, two) == {"function Summing.__call__"}
    assert different(one, three) == {"fold"}


UNKNOWN = {
    "a module as a value": ("HELD = operator", "len([HELD])", "the module operator is used as a value"),
    "a value that does not say what it holds": ("HELD = threading.Lock()", "len([HELD])", "what lock holds cannot be known"),
    "a class that no statement declares": ("HELD = namedtuple('HELD', 'a')", "HELD(1)", "is not declared by a class statement"),
    "an annotation that nobody knows": ("class HELD:\n    a: Unheard = 1", "HELD.a", "nobody knows what Unheard is"),
    "a class that is declared twice": ("class HELD: ...\nclass HELD: ...", "HELD()", "is declared twice"),
    "a method that was taken away": ("class HELD:\n    def by(self): ...\ndel HELD.by", "HELD()", "has no by any more"),
    "another name in a getter": ("NAME = 'a'", "operator.attrgetter(NAME)", "asks for an attribute"),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_a_value_does_not_tell_is_refused(what: str, tmp_path: Path) -> None:
    declared, use, words = UNKNOWN[what]
    with pytest.raises(DeclarationError) as refused:
        code_of(using(declared, use), tmp_path)
    assert words in refused.value.what
    assert refused.value.where
    assert refused.value.cure


def test_a_source_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    table = loaded(MINE, tmp_path).MINE
    for path in tmp_path.glob("*.py"):
        path.write_text("this is (", "utf-8")
    with pytest.raises(DeclarationError, match="cannot be read"):
        _ = table.code
