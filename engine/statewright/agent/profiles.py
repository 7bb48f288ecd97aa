"""Built-in profiles: what ``plan``, ``build``, ``review`` and ``resume`` are told, how far they may go, and with which tools.

A profile is data: settings that lie above the defaults of ``AgentConfig`` and below whatever a file or a command line says.
Its tool policy is a set of effects. It binds execution and not only what the model is shown, because it becomes the
``allowed_tools`` of the configuration, which every run enforces and its journal pins.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from statewright.tools import ToolRegistry
from statewright_states.frozen import dataclass
from statewright_states.run.facts import OnLimit
from statewright_states.words.tool_effects import ConfirmMode, ToolEffect


@dataclass(frozen=True, slots=True)
class Profile:
    """A kind of agent. ``settings`` are keys of an agent's table in a file: fields of AgentConfig, ``effects``, ``stream``."""

    name: str
    purpose: str
    settings: Mapping[str, Any]


PLAN_PROMPT = """\
You plan; you change nothing. Look at what there is with your tools, which only read. Then write a plan that somebody else can \
carry out without asking back: numbered steps, each with what is to be changed, where, and how to see that it worked. Say what \
could go wrong and what you could not find out. Do not carry anything out, and do not claim to have done so."""

BUILD_PROMPT = """\
You carry out the task with your tools. Look before you change something, make the smallest change that does the task, and \
check that it worked. When a call fails, read its error and mend the cause instead of repeating the call. Where a plan is \
given, follow it, and say where you had to leave it. At the end say what you changed, what you checked, and what is left."""

REVIEW_PROMPT = """\
You review; you change nothing. Read what the task names, and what that depends on. Report what is wrong, the gravest first: \
where it is, what follows from it, and how to mend it. Keep what you have seen apart from what you suspect. If nothing is \
wrong, say so, and say what you looked at."""

RESUME_PROMPT = """\
Work was begun here and not finished. First find out by reading what is done and what is missing, and trust what you find more \
than what you are told. Then finish what is missing, and do nothing over again that is done. At the end say what was done \
already, what you did, and what is left for a person."""

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            "plan",
            "looks and writes a plan; reads only, is not streamed",
            {
                "system_prompt": PLAN_PROMPT,
                "max_steps": 20,
                "on_limit": OnLimit.CLOSE,
                "run_timeout_s": 300.0,
                "confirm_mode": ConfirmMode.CONFIRM_SENSITIVE,
                "effects": (ToolEffect.READ,),
                "stream": False,
            },
        ),
        Profile(
            "build",
            "carries the task out with every tool",
            {"system_prompt": BUILD_PROMPT, "max_steps": 40, "confirm_mode": ConfirmMode.CONFIRM_SENSITIVE},
        ),
        Profile(
            "review",
            "looks and reports what is wrong; reads only",
            {
                "system_prompt": REVIEW_PROMPT,
                "max_steps": 30,
                "on_limit": OnLimit.CLOSE,
                "confirm_mode": ConfirmMode.CONFIRM_SENSITIVE,
                "effects": (ToolEffect.READ,),
            },
        ),
        # It cannot know what was done already: a person is asked before what cannot be taken back is done, perhaps again, and
        # of a tool that declares nothing that person could not say whether doing it again is harmless.
        Profile(
            "resume",
            "goes on with work that was begun, within short limits, with tools that declare what they do",
            {
                "system_prompt": RESUME_PROMPT,
                "max_steps": 15,
                "on_limit": OnLimit.CLOSE,
                "run_timeout_s": 300.0,
                "confirm_mode": ConfirmMode.CONFIRM_SENSITIVE,
                "effects": (ToolEffect.READ, ToolEffect.IDEMPOTENT, ToolEffect.IRREVERSIBLE),
            },
        ),
    )
}
"""The built-in profiles, by name."""


def tools_within(
    registry: ToolRegistry, effects: Collection[ToolEffect] | None, named: Collection[str] | None = None
) -> tuple[str, ...] | None:
    """The ``allowed_tools`` of an agent: the tools among ``named`` that declare one of ``effects``; None is without a bound.

    Both bounds hold: a name does not let a tool in that the effects keep out.
    """
    if effects is None:
        return None if named is None else tuple(named)
    return tuple(tool.name for tool in registry if tool.effect in effects and (named is None or tool.name in named))
