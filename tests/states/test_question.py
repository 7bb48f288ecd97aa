"""Questions: finite answers, asked by name, with a text for people."""

from __future__ import annotations

from enum import StrEnum

import pytest

from statewright_states.errors import DeclarationError
from statewright_states.form.question import one_of, show_answer, yes_no


class Weather(StrEnum):
    SUN = "sun"
    RAIN = "rain"
    SNOW = "snow"


@yes_no
def cold(facts: int, event: object) -> bool:
    """Is it
    cold?"""
    return facts < 0


@one_of(Weather)
def weather(facts: int, event: object) -> Weather:
    """What falls from the sky?"""
    return Weather.SNOW if facts < 0 else Weather.RAIN


def test_a_question_takes_its_name_and_its_text_from_the_function() -> None:
    assert (cold.name, cold.text) == ("cold", "Is it cold?")
    assert (weather.name, weather.text) == ("weather", "What falls from the sky?")


def test_a_yes_no_question_has_two_answers_and_a_choice_has_its_members() -> None:
    assert cold.answers == (True, False)
    assert weather.answers == (Weather.SUN, Weather.RAIN, Weather.SNOW)


def test_a_question_is_answered_by_its_function() -> None:
    assert cold.ask(-1, None) is True
    assert weather.ask(3, None) is Weather.RAIN


def test_a_condition_keeps_the_declared_order_of_the_answers() -> None:
    assert weather.is_(Weather.SNOW, Weather.SUN).allowed == (Weather.SUN, Weather.SNOW)
    assert weather.is_not(Weather.SUN).allowed == (Weather.RAIN, Weather.SNOW)
    assert cold.yes.allowed == (True,)
    assert cold.no.allowed == (False,)


def test_a_condition_reads_as_a_person_would_say_it() -> None:
    assert str(weather.is_not(Weather.SUN)) == "weather: rain or snow"
    assert str(cold.no) == "cold: no"
    assert [show_answer(answer) for answer in (True, False, Weather.SUN)] == ["yes", "no", "sun"]


def test_an_answer_that_is_not_declared_is_refused() -> None:
    with pytest.raises(DeclarationError) as refused:
        weather.is_(Weather.SUN, True)
    assert refused.value.rule == "answers-are-declared"
    assert "'weather' has no answer True" in refused.value.what
    assert refused.value.where == "question weather"
    assert refused.value.cure == "use one or more of: sun, rain, snow"


def test_a_condition_that_allows_no_answer_is_refused() -> None:
    with pytest.raises(DeclarationError) as refused:
        weather.is_()
    assert refused.value.rule == "answers-are-declared"
    assert "asked for nothing" in refused.value.what
    with pytest.raises(DeclarationError, match="asked for nothing"):
        weather.is_not(*Weather)


def test_a_question_without_a_text_is_refused() -> None:
    def silent(facts: object, event: object) -> bool:
        return True

    with pytest.raises(DeclarationError) as refused:
        yes_no(silent)
    assert refused.value.rule == "questions-have-a-text"
    assert "'silent'" in refused.value.what
    assert "question silent in test_question" in refused.value.where
    assert "docstring" in refused.value.cure
