"""Names in Promela: what a table calls a thing, as an identifier that neither Promela nor C gives a meaning to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

PROMELA = """
active assert atomic bit bool break byte c_code c_decl c_expr c_state c_track chan d_step D_proctype do else empty enabled end
eval false fi for full get_priority goto hidden if in init inline int len local ltl mtype nempty never nfull np_ od of pc_value
pid print printf printm priority proctype provided return run select set_priority short show skip timeout trace true typedef
unless unsigned xr xs always eventually until release weakuntil next implies equivalent U V W X
ended home fired state states machine check due met it_waits no_person
"""
C = """
auto case char const continue default double enum extern float goto inline long register restrict return short signed sizeof
static struct switch typedef union unsigned void volatile while linux unix i386 now EOF NULL main exit
"""
TAKEN = frozenset((*PROMELA.split(), *C.split()))
"""Words of the language, of C (into which SPIN translates a model), of the preprocessor, and of the models themselves."""


@dataclass(slots=True)
class Identifiers:
    """Gives each thing of one model an identifier of its own, the same for the same thing."""

    _of: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _used: set[str] = field(default_factory=lambda: set(TAKEN))

    def of(self, kind: str, name: str) -> str:
        """The identifier of a thing of this kind that is called ``name``."""
        known = self._of.get((kind, name))
        if known is not None:
            return known
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        plain = plain if plain[:1].isalpha() else f"n{plain}"
        number, chosen = 2, plain
        while chosen in self._used:
            chosen, number = f"{plain}_{number}", number + 1
        self._used.add(chosen)
        self._of[kind, name] = chosen
        return chosen


def remark(text: str) -> str:
    """The text as the inside of a comment: on one line, and without what would end or open one."""
    shown = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")


def quoted(text: str) -> str:
    """The text as the inside of a string that is printed: without what printing or C gives a meaning to."""
    return "".join(letter if letter.isascii() and letter.isprintable() and letter not in '"\\%' else "_" for letter in text)
