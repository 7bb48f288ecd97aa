"""What model calls cost: exact, rounded up per attempt, and never without a price where cost is bounded."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright import AgentConfig, BudgetConfig, ConfigurationError, ModelPrice, Usage
from statewright.config.prices import cost_microusd, require_prices
from statewright.core.inputs import RunInputs
from statewright.journal.entry import decode
from statewright.journal.recorder import Payloads

USD = st.decimals(min_value=0, max_value=10_000, places=6)
TOKENS = st.integers(0, 10**9)
MILLION = 1_000_000


def price(input_usd: Any = "0.25", output_usd: Any = 2, cached_input_usd: Any = None) -> ModelPrice:
    return ModelPrice(input_usd=input_usd, output_usd=output_usd, cached_input_usd=cached_input_usd)


@settings(max_examples=200, deadline=None)
@given(USD, USD, st.none() | USD, TOKENS, TOKENS, TOKENS)
def test_cost_is_the_exact_bill_rounded_up_to_a_millionth_of_a_dollar(
    input_usd: Decimal, output_usd: Decimal, cached_usd: Decimal | None, fresh: int, cached: int, output: int
) -> None:
    cost = cost_microusd(price(input_usd, output_usd, cached_usd), Usage(fresh + cached, output, cached))
    rate = Fraction(input_usd if cached_usd is None else cached_usd)
    bill_usd = (fresh * Fraction(input_usd) + cached * rate + output * Fraction(output_usd)) / MILLION
    assert bill_usd <= Fraction(cost, MILLION) < bill_usd + Fraction(1, MILLION)


@pytest.mark.parametrize(
    ("usage", "microusd"),
    [
        (Usage(0, 0), 0),
        (Usage(1, 0), 1),
        (Usage(4, 0), 1),
        (Usage(5, 0), 2),
        (Usage(1_000_000, 1_000_000), 2_250_000),
        (Usage(1_000, 0, cached_input_tokens=400), 250),
        (Usage(0, 10, reasoning_tokens=8), 20),
    ],
)
def test_tokens_are_paid_by_the_million(usage: Usage, microusd: int) -> None:
    assert cost_microusd(price(), usage) == microusd


def test_cached_input_has_a_price_of_its_own_where_one_is_given() -> None:
    assert cost_microusd(price(cached_input_usd="0.025"), Usage(1_000, 0, cached_input_tokens=400)) == 160
    assert cost_microusd(price(cached_input_usd=0), Usage(1_000, 0, cached_input_tokens=1_000)) == 0


def test_cached_tokens_that_a_provider_does_not_count_as_input_are_paid_too() -> None:
    assert cost_microusd(price(cached_input_usd=1), Usage(10, 0, cached_input_tokens=100)) == 100


def test_a_model_without_a_price_costs_nothing() -> None:
    assert cost_microusd(None, Usage(10**9, 10**9)) == 0


@pytest.mark.parametrize("usd", [-1, "-0.1", "much", "0.0000001", float("inf"), "NaN", 0.1 + 0.2])
def test_what_is_no_exact_price_is_rejected_by_name(usd: Any) -> None:
    with pytest.raises(ConfigurationError, match="input_usd"):
        price(input_usd=usd)
    with pytest.raises(ConfigurationError, match="max_cost_usd"):
        BudgetConfig(max_cost_usd=usd)


@pytest.mark.parametrize("usd", [0.1, "0.1", Decimal("0.1"), "0.100000"])
def test_a_price_is_what_is_written(usd: Any) -> None:
    assert price(input_usd=usd).input_usd == Decimal("0.1")
    assert AgentConfig(budget=BudgetConfig(max_cost_usd=usd)).run_settings().max_cost_microusd == 100_000


def test_an_unknown_key_of_a_price_is_named_with_those_that_are_known() -> None:
    values: dict[str, Any] = {"prices": {"openai:some-model": {"input_usd": 1, "output_usd": 2, "cache_usd": 3}}}
    with pytest.raises(ConfigurationError) as caught:
        BudgetConfig(**values)
    assert "'cache_usd'" in str(caught.value)
    assert caught.value.where == "ModelPrice"
    assert "cached_input_usd, input_usd, output_usd" in str(caught.value)


def test_a_bound_on_cost_needs_a_price_for_every_model() -> None:
    bounded = AgentConfig(budget=BudgetConfig(max_cost_usd=1, prices={"openai:one": price()}))
    require_prices(bounded, ["openai:one"])
    with pytest.raises(ConfigurationError, match="openai:two") as caught:
        require_prices(bounded, ["openai:one", "openai:two"])
    assert "there is one for: openai:one" in str(caught.value)
    require_prices(AgentConfig(budget=BudgetConfig(prices={"openai:one": price()})), ["openai:two"])
    require_prices(AgentConfig(), ["openai:two"])


def test_prices_are_part_of_the_configuration_that_the_header_pins_exactly() -> None:
    def pinned(usd: str) -> tuple[str, AgentConfig]:
        config = AgentConfig(budget=BudgetConfig(prices={"openai:one": price(input_usd=usd)}))
        payloads = Payloads()
        header = RunInputs("run-1", "openai:one", config, "task", (), {}).header(0, "engine", payloads)
        return header.config, AgentConfig(**decode(payloads.take_new()[header.config]))

    (digest, config), (other, _) = pinned("0.3"), pinned("0.300001")
    assert digest != other
    assert config.budget.prices["openai:one"].input_usd == Decimal("0.3")
