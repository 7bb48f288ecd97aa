"""Random hooks: guards that let pass, change, block, fail and talk nonsense, and observers that raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from statewright.hooks import OBSERVED, Block, Hook, HookPoint, ReplaceArguments, ReplaceContext, ReplaceText, ToolText, ToolUse


@dataclass(frozen=True)
class Guard:
    """What a hook does, told by a name so that a failing example can be read."""

    kind: str

    def __call__(self, subject: Any) -> Any:
        match self.kind:
            case "blocks":
                return Block("not now")
            case "blocks saving":
                return Block("nothing is saved") if isinstance(subject, ToolUse) and subject.name == "save" else None
            case "raises":
                raise OSError("gone")
            case "talks nonsense":
                return 5
            case "changes":
                return _change(subject)
            case _:
                return None


def _change(subject: Any) -> Any:
    if isinstance(subject, ToolUse):
        return ReplaceArguments(dict(subject.arguments))
    if isinstance(subject, ToolText):
        return ReplaceText(f"[{subject.text}]")
    return ReplaceContext("be brief") if hasattr(subject, "system_prompt") else None


def _hooks(point: HookPoint) -> list[Hook]:
    kinds = ["raises"] if point in OBSERVED else ["allows", "changes", "blocks saving", "blocks", "raises", "talks nonsense"]
    made = [Hook(f"{kind} at {point}", point, Guard(kind)) for kind in kinds]
    if "raises" in kinds and point not in OBSERVED:
        made.append(Hook(f"raises and is optional at {point}", point, Guard("raises"), optional=True))
    return made


HOOKS: st.SearchStrategy[tuple[Hook, ...]] = st.one_of(
    st.just(()),
    st.lists(
        st.sampled_from([hook for point in HookPoint for hook in _hooks(point)]), max_size=3, unique_by=lambda hook: hook.name
    ).map(tuple),
)
