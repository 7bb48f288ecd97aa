"""A proof of one's own table: what is claimed of any table finds a table that breaks it, and says where."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from statewright import ConfigurationError, DeclarationError, Proof
from statewright_evidence.proofs.proofs_text import json_of, markdown_of, section, witness
from statewright_evidence.proofs.properties import Always, Finding, Kind
from statewright_evidence.proofs.prove import Proofs, prove
from statewright_evidence.proofs.table_model import ModelState, Monitor
from statewright_evidence.proofs.targets import of_proof, of_table
from statewright_evidence.section import Outcome
from statewright_states.form.row import Event, Row
from tiny import BURN, PULL, PUSH, SERVED, Door, DoorFacts, Force, Lit, Pulled, Pushed, Sung, door

DUE, TIMER, PERSON, MAYBE = Kind
Offered = Iterable[tuple[Event, Kind]]


def few_creaks(state: object, facts: DoorFacts) -> DoorFacts:
    """No question asks how often it creaked."""
    return DoorFacts(facts.locked)


def pushes_and_a_fire(state: object, facts: DoorFacts) -> Offered:
    """People at the door, and a fire in the end."""
    if state == Door.BURNT:
        return [(Pushed(), MAYBE)]
    moved = Pushed() if state == Door.OPEN else Pulled()
    touched = [(Pushed(Force.GENTLE), PERSON)] if state == Door.OPEN else []
    return [(moved, PERSON), *touched, (Lit(), TIMER)]


def proof_of(table: Any = None, alphabet: Any = pushes_and_a_fire, **more: Any) -> Proof[DoorFacts]:
    return Proof(table or door((PUSH_ALWAYS, PULL, BURN)), alphabet, abstraction=few_creaks, **more)


PUSH_ALWAYS = Row("DOOR-01", Door.OPEN, Pushed, Door.SHUT, when=PUSH.when[1:], do=PUSH.do, **SERVED)
"""Nobody locks this door."""


def found(proofs: Proofs, claim: str) -> Finding:
    return next(finding for finding in proofs.findings if finding.name == claim)


def broken_path(proofs: Proofs, claim: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    violation = found(proofs, claim).violation
    assert violation is not None, f"{claim} holds"
    return violation.what, violation.path, violation.circle


def test_a_door_that_burns_by_and_by_holds_all_that_is_claimed_of_any_table() -> None:
    proofs = prove(of_proof(proof_of(bounds="one door")))
    assert [finding.name for finding in proofs.findings if not finding.holds] == ["end-needs-no-timer"]
    assert (proofs.states, proofs.steps, proofs.bounds) == (3, 6, "one door")


def test_an_event_that_nobody_declared_is_named_with_the_way_to_it() -> None:
    proofs = prove(of_proof(proof_of(alphabet=lambda state, facts: [*pushes_and_a_fire(state, facts), (Sung(), MAYBE)])))
    what, path, _ = broken_path(proofs, "nothing-refused")
    assert what == "door: Sung is not an event of this table: send it to a machine that declares it"
    assert path == ("refused Sung",)


def test_a_row_that_leaves_a_final_state_is_named() -> None:
    table = door((PUSH_ALWAYS, PULL, BURN))
    table.final = frozenset((Door.BURNT, Door.SHUT))  # as if the check at import had let it pass
    what, path, _ = broken_path(prove(of_proof(proof_of(table))), "ends-once")
    assert what == "DOOR-03 fires in the final state shut"
    assert path == ("DOOR-01 Pushed → shut", "DOOR-03 Pulled → open")


def test_a_door_without_fire_never_ends() -> None:
    def no_fire(state: object, facts: DoorFacts) -> Offered:
        return [(event, kind) for event, kind in pushes_and_a_fire(state, facts) if not isinstance(event, Lit)]

    proofs = prove(of_proof(proof_of(alphabet=no_fire)))
    assert broken_path(proofs, "end-possible") == ("no way leads there", (), ())
    assert broken_path(proofs, "every-row")[0] == "2 of 5 never: DOOR-04, DOOR-91"
    assert broken_path(proofs, "every-cell")[0].endswith("Lit in open, Lit in shut, Pushed in burnt")


def test_an_end_that_hangs_on_chance_is_a_deadlock() -> None:
    def by_chance(state: object, facts: DoorFacts) -> Offered:
        return [(event, MAYBE) for event, _ in pushes_and_a_fire(state, facts)]

    proofs = prove(of_proof(proof_of(alphabet=by_chance)))
    assert found(proofs, "end-possible").holds
    assert broken_path(proofs, "no-deadlock")[0] == "no way leads there"
    assert broken_path(proofs, "end-inevitable")[0] == "it comes to a dead end"


def test_a_door_that_swings_for_ever_goes_round_in_a_circle_unless_a_person_swings_it() -> None:
    def by_wind(state: object, facts: DoorFacts) -> Offered:
        return [(event, DUE if kind is PERSON else kind) for event, kind in pushes_and_a_fire(state, facts)]

    swinging = broken_path(prove(of_proof(proof_of(alphabet=by_wind))), "end-inevitable")
    assert swinging == ("it goes round in a circle", (), ("DOOR-01 Pushed → shut", "DOOR-03 Pulled → open"))
    assert found(prove(of_proof(proof_of())), "end-inevitable").holds


def test_where_a_person_is_waited_for_no_end_need_come_by_itself() -> None:
    proofs = prove(of_proof(proof_of(waits=lambda place: place.state != Door.BURNT)))
    assert found(proofs, "end-needs-no-timer").holds


def test_an_invariant_of_ones_own_is_judged_in_every_state() -> None:
    quiet: Always[ModelState[DoorFacts]] = Always(
        "quiet", "it never creaks", lambda place: "it creaks" if place.facts.creaks else None
    )
    proofs = prove(of_proof(Proof(door(), pushes_and_a_fire, [quiet], abstraction=lambda _, facts: facts)), ["quiet"])
    assert broken_path(proofs, "quiet")[1] == ("DOOR-01 Pushed → shut",)
    assert list(witness(found(proofs, "quiet").violation or pytest.fail("no witness"))) == [
        "it creaks, in: shut · creaks=1",
        "from: open",
        "1. DOOR-01 Pushed → shut",
    ]


def test_a_monitor_remembers_what_facts_forget() -> None:
    def count(place: ModelState[DoorFacts], event: Event, taken: object) -> int:
        assert isinstance(place.seen, int)
        return min(place.seen + isinstance(event, Pulled), 2)

    once: Always[ModelState[DoorFacts]] = Always(
        "once", "it is pulled once", lambda place: "twice" if place.seen == 2 else None
    )
    proofs = prove(of_proof(proof_of(properties=[once], monitor=Monitor(0, count))), ["once"])
    what, path, _ = broken_path(proofs, "once")
    assert (what, len(path)) == ("twice", 4)
    assert "seen: 2" in markdown_of([proofs])


def test_a_table_alone_is_proven_with_its_questions_answered_freely() -> None:
    proofs = prove(of_table(door()))
    assert proofs.holds
    assert proofs.model == "the table door, its questions answered freely"
    assert "whatever the facts" in proofs.bounds
    assert [finding.name for finding in proofs.findings] == ["ends-once", "end-possible", "every-row", "every-cell"]


def test_claims_need_an_alphabet() -> None:
    with pytest.raises(DeclarationError, match="claims-need-an-alphabet"):
        Proof(door(), properties=[Always("a", "", lambda place: None)])
    assert of_proof(Proof(door())).model.name.endswith("answered freely")


def test_a_property_that_nobody_claims_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigurationError, match="no property is called 'end-posible'") as refused:
        prove(of_proof(proof_of()), ["end-posible"])
    assert refused.value.cure == "did you mean 'end-possible'?"


def test_an_alphabet_that_raises_is_told_with_its_place() -> None:
    def raises(state: object, facts: DoorFacts) -> Offered:
        raise ZeroDivisionError("no events")

    with pytest.raises(ConfigurationError, match="exploring it raised ZeroDivisionError: no events") as refused:
        prove(of_proof(proof_of(alphabet=raises)))
    assert "test_proof.py" in refused.value.where


def test_the_same_table_gives_the_same_text() -> None:
    first, second = (prove(of_proof(proof_of())) for _ in range(2))
    assert markdown_of([first]) == markdown_of([second])
    assert json_of(first) == json_of(second)
    assert "### end-needs-no-timer is broken" in markdown_of([first])


def test_the_section_has_the_figures_for_people_and_the_data_for_programs() -> None:
    made = section({"door": lambda: of_proof(proof_of()), "free": lambda: of_table(door())})
    assert (made.name, made.outcome) == ("proofs", Outcome.BROKEN)
    assert list(made.files) == ["proofs.md", "proofs.json"]
    assert [proofs["target"] for proofs in json.loads(made.files["proofs.json"])] == ["door", "door"]
    assert made.summary.startswith("11 of 12 claims hold")
    again = section({"door": lambda: of_proof(proof_of()), "free": lambda: of_table(door())})
    assert (again.files, again.summary) == (made.files, made.summary)
    assert section({"free": lambda: of_table(door())}).outcome is Outcome.HOLDS
