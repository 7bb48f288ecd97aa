"""The request of one purpose: which of the configured parameters go with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statewright.config.settings import AgentConfig
from statewright_states.words.messages import Message, ToolSchema
from statewright_states.words.ports import ModelRequest
from statewright_states.words.vocabulary import Purpose

TALKING = (Purpose.GENERATION, Purpose.CLOSING)
"""The purposes whose reply is the agent's own words."""
FORMS_OF_ANSWERS = frozenset(
    ("response_format", "prediction", "modalities", "audio", "grammar", "json_schema", "structured_outputs")
) | {"guided_json", "guided_regex", "guided_choice", "guided_grammar"}
"""Keys of a request that give an answer its form, of OpenAI, vLLM and llama.cpp: a summary or a verdict has another one."""
ABOUT_TOOLS = frozenset(("parallel_tool_calls",))
"""Keys that services refuse in a request without tools."""


def model_request(
    config: AgentConfig,
    purpose: Purpose,
    messages: tuple[Message, ...],
    tools: tuple[ToolSchema, ...],
    *,
    stream: bool,
    first_step: bool,
) -> ModelRequest:
    """A request with the parameters that are right for its purpose; ``tools`` are those of a generation.

    A call is demanded by ``tool_choice`` in the first step of an attempt alone, so that the model can answer afterwards.
    """
    talking, tools = purpose in TALKING, tools if purpose is Purpose.GENERATION else ()
    chosen = bool(tools) and (first_step or not config.demands_a_call)
    return ModelRequest(
        messages=messages,
        tools=tools,
        stream=stream and talking,
        temperature=config.temperature,
        max_output_tokens=config.max_output_tokens if talking else None,
        top_p=config.top_p,
        seed=config.seed,
        stop=config.stop if talking else (),
        reasoning_effort=config.reasoning_effort,
        tool_choice=config.tool_choice if chosen else None,
        extra_body=_fitting(config.extra_body, talking=talking, tools=bool(tools)) if config.extra_body else {},
        extra_headers=config.extra_headers,
        idle_timeout_s=config.idle_stream_timeout_s,
        max_reply_bytes=config.max_reply_bytes,
        max_calls_per_reply=config.max_calls_per_reply,
    )


def _fitting(extra: Mapping[str, Any], *, talking: bool, tools: bool) -> Mapping[str, Any]:
    unfit = frozenset[str]() if talking else FORMS_OF_ANSWERS
    unfit |= frozenset[str]() if tools else ABOUT_TOOLS
    return {key: value for key, value in extra.items() if key not in unfit}
