"""The map of the machines: every link on one page, nothing on top of anything, reachable by the keyboard."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest

from statewright.core.links import LINKS, MACHINES, Participant
from statewright_evidence.drawing.formats import MAP_FORMATS, map_drawing
from statewright_evidence.drawing.map_layout import MapLine, map_layout
from statewright_evidence.drawing.places import Box
from statewright_evidence.drawing.svg_parts import MARGIN
from statewright_states.errors import ConfigurationError

SVG = "{http://www.w3.org/2000/svg}"
FOUND = map_layout(LINKS)


def apart(one: Box, other: Box) -> bool:
    return one.right <= other.x or other.right <= one.x or one.bottom <= other.y or other.bottom <= one.y


def crosses(line: MapLine, box: Box) -> bool:
    left, right = sorted((line.start[0], line.end[0]))
    top, bottom = sorted((line.start[1], line.end[1]))
    return left < box.right and right > box.x and top < box.bottom and bottom > box.y


@pytest.mark.parametrize("format_name", MAP_FORMATS)
def test_every_participant_every_command_and_every_event_stands_in_every_format(format_name: str) -> None:
    text = map_drawing(format_name)
    assert [participant for participant in Participant if participant not in text] == []
    kinds = [kind.__name__ for link in LINKS for kind in (link.command, *link.becomes, *link.answers) if kind]
    assert [name for name in kinds if name not in text] == []


@pytest.mark.parametrize("format_name", MAP_FORMATS)
def test_the_map_has_the_same_bytes_each_time(format_name: str) -> None:
    assert map_drawing(format_name) == map_drawing(format_name)


def test_nothing_on_the_map_overlaps_and_no_line_crosses_a_label() -> None:
    boxes = [node.box for node in FOUND.nodes] + [line.box for line in FOUND.lines]
    assert all(apart(one, other) for one, other in combinations(boxes, 2))
    for line in FOUND.lines:
        others = [other.box for other in FOUND.lines if other is not line] + [node.box for node in FOUND.nodes]
        assert not [box for box in others if crosses(line, box)], line.participants


def test_every_line_leads_from_one_participant_to_the_other() -> None:
    boxes = {node.participant: node.box for node in FOUND.nodes}
    for line in FOUND.lines:
        for (x, y), participant in zip((line.start, line.end), line.participants, strict=True):
            box = boxes[participant]
            assert box.x <= x <= box.right, line.participants
            assert box.y <= y <= box.bottom, line.participants
            assert x in (box.x, box.right) or y in (box.y, box.bottom), line.participants


def test_what_is_said_in_a_machine_fits_its_box() -> None:
    for node in FOUND.nodes:
        if node.inside:
            assert node.inside.width < node.box.width
            assert node.inside.height < node.box.height - 30


def test_the_map_fits_one_page() -> None:
    assert FOUND.width + 2 * MARGIN <= 1280
    assert FOUND.height <= 1100
    assert all(line.box.x >= 0 and line.box.right <= FOUND.width and line.box.bottom <= FOUND.height for line in FOUND.lines)


def test_the_keyboard_goes_from_machine_to_machine_then_from_line_to_line() -> None:
    tree = ElementTree.fromstring(map_drawing("svg").encode())
    reached = [each for each in tree.iter() if each.get("tabindex") == "0"]
    assert [each.get("href") for each in reached[:4]] == [f"{machine}.svg" for machine in MACHINES]
    assert all("edge" in each.attrib["class"] for each in reached[4:])
    assert all(each.get("id") and each.get("aria-label") and each.findtext(f"{SVG}title") for each in reached)
    ids = [each.attrib["id"] for each in tree.iter() if "id" in each.attrib]
    assert len(ids) == len(set(ids))
    assert not [each for each in tree.iter() if each.tag in (f"{SVG}script", f"{SVG}image")]
    assert map_drawing("svg").count("http") == 1


def test_the_description_says_every_link_as_a_sentence() -> None:
    description = ElementTree.fromstring(map_drawing("svg").encode()).findtext(f"{SVG}desc") or ""
    assert "run gives CallModel to call, which becomes CallRequested." in description
    assert "call gives SendRequest to model; back comes ReplyBegan, AttemptReplied, AttemptFailed." in description
    assert "caller gives run: RunAdmitted, StopRequested, CancelRequested" in description


def test_an_unknown_format_of_the_map_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError) as refused:
        map_drawing("png")
    assert refused.value.cure == "use one of: mermaid, dot, svg, markdown"
