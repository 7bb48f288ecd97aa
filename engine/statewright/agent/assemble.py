"""Assembling: the one place that names providers, reads the environment, and builds time, chance and names."""

from __future__ import annotations

from collections.abc import Sequence

from statewright.clock import SystemChance, SystemClock, SystemNames
from statewright.config.settings import AgentConfig
from statewright_providers import connect
from statewright_providers.shown_address import shown_address
from statewright_states.words.ports import Chance, Clock, Names, Provider

__all__ = ["chance", "clock", "connect", "names", "shown_address", "with_fallbacks"]


def clock() -> Clock:
    """The machine's own time."""
    return SystemClock()


def chance() -> Chance:
    """Randomness for jitter."""
    return SystemChance()


def names(clock: Clock) -> Names:
    """Fresh run ids."""
    return SystemNames(clock)


def with_fallbacks(provider: Provider, config: AgentConfig) -> Sequence[Provider]:
    """The model first, then the fallbacks that the configuration names, connected."""
    return (provider, *(connect(model) for model in config.retry.fallback_models))
