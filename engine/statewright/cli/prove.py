"""``prove``: whether a table does what is claimed of it, in every state that it can come to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from statewright.cli.exits import Exit
from statewright.cli.options import JsonList
from statewright.presentation.layout import print_folded
from statewright.presentation.output import answers, print_json, printable, stdout_kept_for_the_answer
from statewright.tools.loading import load_named
from statewright.tools.suggestion import did_you_mean
from statewright_evidence.proofs.explorer import MAX_STATES
from statewright_evidence.proofs.proof import Proof
from statewright_evidence.proofs.proofs_text import json_of, summary_of, verdict, witness
from statewright_evidence.proofs.prove import Proofs, no_such_property, prove
from statewright_evidence.proofs.targets import GROUPS, SCOPE_TARGETS, TABLE_TARGETS, TARGETS, Target, of_proof, of_table
from statewright_states.errors import ConfigurationError
from statewright_states.form.table import Table

WHERE = "statewright prove"


def prove_tables(
    *targets: str,
    properties: Annotated[tuple[str, ...], Parameter(name="--property", negative_iterable=())] = (),
    max_states: Annotated[int, Parameter(show_default=True)] = MAX_STATES,
    json: JsonList = False,
) -> Exit:
    """Prove tables: visit every state that they can come to, and judge what is claimed of them.

    Exit code 5 when a claim is broken; a shortest way to where it is broken is shown.

    Parameters
    ----------
    targets
        run, call, tool, plan_build: a table for itself; composition: a run with its calls and tool calls, scope by scope;
        composition:SCOPE: one scope (default: all of them); or `module:NAME` of a `Proof` or a table of your own.
    properties
        Judge this property only; may be given several times.
    max_states
        Give up beyond so many states.
    """
    if max_states < 1:
        raise ConfigurationError(f"{max_states} states are none", where=f"{WHERE} --max-states", cure="allow at least 1")
    with stdout_kept_for_the_answer():
        made = [_target(each) for name in targets or TARGETS for each in GROUPS.get(name, (name,))]
        _check_names(properties, made)
        all_proofs = [_prove(target, properties, max_states) for target in made if _is_asked(target, properties)]
    if json:
        print_json([json_of(proofs) for proofs in all_proofs])
    else:
        _print(answers(), all_proofs, in_full=set(targets))
    return Exit.SUCCESS if all(proofs.holds for proofs in all_proofs) else Exit.VERIFICATION_FAILED


def _target(name: str) -> Target:
    make: Callable[[], Target] | None = TARGETS.get(name)
    if make is not None:
        return make()
    if ":" not in name:
        cure = f"{did_you_mean(name, [*TABLE_TARGETS, *GROUPS])} (a table of your own is named module:NAME)"
        raise ConfigurationError(f"there is no target {name!r}", where=WHERE, cure=cure)
    declared: Any = load_named(name, "target")
    if isinstance(declared, Proof):
        return of_proof(declared)  # pyright: ignore[reportUnknownArgumentType] - of whatever facts
    if isinstance(declared, Table):
        return of_table(declared)  # pyright: ignore[reportUnknownArgumentType] - of whatever facts
    raise ConfigurationError(
        f"{declared!r:.80} is neither a Proof nor a Table",
        where=f"target {name}",
        cure="name a statewright.Proof, or a statewright_states.form.table.Table",
    )


def _check_names(properties: Sequence[str], targets: Sequence[Target]) -> None:
    claimed = dict.fromkeys(claim for target in targets for claim in target.claims)
    for name in properties:
        if name not in claimed:
            raise no_such_property(name, claimed, f"{WHERE} --property")


def _is_asked(target: Target, properties: Sequence[str]) -> bool:
    return not properties or any(name in target.claims for name in properties)


def _prove(target: Target, properties: Sequence[str], max_states: int) -> Proofs:
    return prove(target, [name for name in target.claims if name in properties] if properties else None, max_states=max_states)


def _print(console: Console, all_proofs: Sequence[Proofs], in_full: Collection[str]) -> None:
    """One by one; scopes of which everything holds in a line each, unless they were asked for by name."""
    for proofs in all_proofs:
        if proofs.target in SCOPE_TARGETS and proofs.target not in in_full and proofs.holds:
            claims = f"  {len(proofs.findings)} held of {len(proofs.findings)}; {proofs.argument}, {proofs.seconds:.1f} s"
            print_folded(console, Text.assemble((proofs.target, "bold"), claims), 2)
            continue
        print_folded(console, Text.assemble((proofs.target, "bold"), f" — {printable(proofs.model)}"), 2)
        print_folded(console, Text(f"  {proofs.argument}, {proofs.seconds:.1f} s", style="dim"), 2)
        print_folded(console, Text(f"  bounds: {printable(proofs.bounds)}", style="dim"), 10)
        for finding in proofs.findings:
            word = (f"{verdict(finding):<6}", "green" if finding.holds else "bold red")
            print_folded(console, Text.assemble("  ", word, f"  {printable(finding.name)}: {printable(finding.text)}"), 10)
            if finding.violation is not None:
                for line in witness(finding.violation):
                    print_folded(console, Text(f"            {printable(line)}", style="red"), 14)
        for remark in proofs.remarks:
            print_folded(console, Text(f"  remark  {printable(remark)}", style="dim"), 10)
    print_folded(console, Text(f"{summary_of(all_proofs)}", style="bold"), 2)
