"""What model calls cost: exact arithmetic on the configured prices. There is no list of prices here, because prices change.

A price in US dollars per million tokens is a price in millionths of a dollar per token, so cost is reckoned in whole
numbers: with at most six decimals a price is a whole number of millionths of that. The cost of one attempt is rounded up
to the next millionth of a dollar; a sum of them is never below the bill for these tokens, and less than a millionth of a
dollar per attempt above it. A reply whose usage the provider does not tell costs what its estimate costs; an attempt that
failed costs nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from statewright.config.settings import AgentConfig, ModelPrice
from statewright_states.errors import ConfigurationError
from statewright_states.words.messages import Usage

MAX_MICROUSD = 10**15
"""A sum of thousands of them is still a number that every reader of JSON knows exactly."""
PARTS = 1_000_000
"""A price per token is counted in millionths of a millionth of a dollar."""


def cost_microusd(price: ModelPrice | None, usage: Usage) -> int:
    """The cost of one attempt in millionths of a US dollar, rounded up, a billion dollars at most; 0 without a price.

    ``input_tokens`` include the cached ones; should a provider count more cached ones than input, all of them are paid.
    """
    if price is None:
        return 0
    cached_usd = price.input_usd if price.cached_input_usd is None else price.cached_input_usd
    fresh_tokens = max(usage.input_tokens - usage.cached_input_tokens, 0)
    parts = (
        fresh_tokens * _parts(price.input_usd)
        + usage.cached_input_tokens * _parts(cached_usd)
        + usage.output_tokens * _parts(price.output_usd)
    )
    return min(-(-parts // PARTS), MAX_MICROUSD)


def _parts(usd_per_million: Decimal | float | str) -> int:
    return int(Decimal(usd_per_million) * PARTS)


def require_prices(config: AgentConfig, models: Iterable[str]) -> None:
    """Raise ConfigurationError where cost is bounded and one of these models has no price: the bound would not hold."""
    budget = config.budget
    missing = [model for model in models if model not in budget.prices]
    if budget.max_cost_usd is None or not missing:
        return
    known = ", ".join(budget.prices) or "none"
    raise ConfigurationError(
        f"the cost is bounded, and there is no price for the model {missing[0]!r}",
        where="budget.prices",
        cure=f"give its price in US dollars per million tokens (there is one for: {known}), or leave out budget.max_cost_usd",
    )
