"""The difference of the code that decides in two machines: which questions, effects, folds, helpers and constants are other."""

from __future__ import annotations

from collections.abc import Iterator

from statewright.core.described_machines import DescribedMachine
from statewright_states.errors import DeclarationError
from statewright_states.form.table import code_form, digest_of_code
from statewright_states.frozen import dataclass


@dataclass(frozen=True, slots=True)
class CodeDifference:
    """What differs in the code of two machines. A digest is empty where the code is not known; ``unknown`` says why."""

    old: str
    new: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unknown: str = ""

    @property
    def known(self) -> bool:
        """Whether the code of both is known, so that it can be compared."""
        return bool(self.old and self.new)

    @property
    def equal(self) -> bool:
        """Whether no difference is known."""
        return not self.known or self.old == self.new

    def lines(self) -> Iterator[str]:
        """The parts that are other, each with its sign."""
        signs = {"+": self.added, "-": self.removed, "~": self.changed}
        yield from (f"{sign} {part}" for sign, parts in signs.items() for part in parts)


def code_difference(old: DescribedMachine, new: DescribedMachine) -> CodeDifference:
    """Compare the code of two machines."""
    try:
        before, after = old.code, new.code
    except DeclarationError as error:
        return CodeDifference("", "", unknown=f"{error.what} ({error.where})")
    if not (before and after):
        lacking = " and ".join(machine.label for machine, code in ((old, before), (new, after)) if not code)
        return CodeDifference("", "", unknown=f"that of {lacking} is not on record")
    return CodeDifference(
        digest_of_code(before),
        digest_of_code(after),
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(part for part in before.keys() & after.keys() if before[part] != after[part])),
    )


def code_of(machine: DescribedMachine) -> bytes:
    """The list of the code of a machine, byte for byte as journals pin it. Raises DeclarationError."""
    return code_form(machine.code)
