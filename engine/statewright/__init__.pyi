from statewright.agent.agent_files import Agent, Agents
from statewright.agent.assemble import ScriptedProvider, connect
from statewright.agent.handle import RunEvents, RunHandle
from statewright.agent.loop import AgentLoop
from statewright.agent.plan_build import MixedModeRunner
from statewright.agent.profiles import PROFILES, Profile
from statewright.agent.stepper import HeldEvent, Stepper
from statewright.config.settings import (
    AgentConfig,
    ApprovalConfig,
    BudgetConfig,
    ContextConfig,
    EvaluationConfig,
    ModelPrice,
    PromptConfig,
    RetryConfig,
)
from statewright.context.builder import ContextBuilder, ContextManager
from statewright.context.judge import EvalResult, SelfEvaluator
from statewright.core.edits import EditedDecision, EditedReply, EditedResult
from statewright.core.explanation import AnsweredQuestion, Explanation, OtherRow, UnmetCondition
from statewright.core.fork import fork
from statewright.core.moment import CommandUnderWay, FactChange, InstanceNow, Moment, MomentChange, StateChange
from statewright.core.replay import Replayed, replay
from statewright.core.run_timeline import RunTimeline
from statewright.hooks import (
    AgentStart,
    Block,
    Compaction,
    Hook,
    HookPoint,
    ModelCall,
    ModelReply,
    ReplaceArguments,
    ReplaceContext,
    ReplaceText,
    RunEnd,
    SessionPoint,
    ToolOutcome,
    ToolText,
    ToolUse,
    hook,
)
from statewright.journal import Durability, MemoryJournal, SQLiteJournal
from statewright.journal.entry import Interference, Tampering
from statewright.journal.verify import Problem, Verification, verify
from statewright.runtime.injection import Injection
from statewright.runtime.observers import EventPayload, RunEvent
from statewright.runtime.shutdown import GracefulShutdown
from statewright.runtime.under_way import UnderWay
from statewright.tools import ExecutionEngine, Tool, ToolContext, ToolRegistry, load_tools, tool
from statewright.version import __version__
from statewright.views.approvals import ApprovalDecision, ApprovalRequest, Approver
from statewright.views.plan_build_state import MixedState
from statewright.views.state import AgentState, ChildRun, LoopPhase, PendingApproval, StepResult, ToolCallResult, TurnResult
from statewright.views.tool_progress import ToolProgress
from statewright_evidence.proofs.proof import Proof
from statewright_states.errors import (
    CallerError,
    ConfigurationError,
    DeclarationError,
    JournalError,
    ProviderError,
    RunExists,
    RunNotFound,
    StatewrightError,
)
from statewright_states.form.table import Table
from statewright_states.run.facts import CutOff, EvaluationMode, OnLimit
from statewright_states.words.approval import ApprovalRule, SignOff, Standing, Statement
from statewright_states.words.messages import LLMResponse, Message, StreamChunk, ToolSchema, Usage
from statewright_states.words.parts import (
    Citation,
    FilePart,
    ImagePart,
    OpaquePart,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCall,
)
from statewright_states.words.ports import Journal, ModelRequest, Provider, ReplyObserver, TokenEstimator
from statewright_states.words.tool_effects import ConfirmMode, ToolEffect
from statewright_states.words.vocabulary import Status, StopReason

__all__ = [
    "PROFILES",
    "Agent",
    "AgentConfig",
    "AgentLoop",
    "AgentStart",
    "AgentState",
    "Agents",
    "AnsweredQuestion",
    "ApprovalConfig",
    "ApprovalDecision",
    "ApprovalRequest",
    "ApprovalRule",
    "Approver",
    "Block",
    "BudgetConfig",
    "CallerError",
    "ChildRun",
    "Citation",
    "CommandUnderWay",
    "Compaction",
    "ConfigurationError",
    "ConfirmMode",
    "ContextBuilder",
    "ContextConfig",
    "ContextManager",
    "CutOff",
    "DeclarationError",
    "Durability",
    "EditedDecision",
    "EditedReply",
    "EditedResult",
    "EvalResult",
    "EvaluationConfig",
    "EvaluationMode",
    "EventPayload",
    "ExecutionEngine",
    "Explanation",
    "FactChange",
    "FilePart",
    "GracefulShutdown",
    "HeldEvent",
    "Hook",
    "HookPoint",
    "ImagePart",
    "Injection",
    "InstanceNow",
    "Interference",
    "Journal",
    "JournalError",
    "LLMResponse",
    "LoopPhase",
    "MemoryJournal",
    "Message",
    "MixedModeRunner",
    "MixedState",
    "ModelCall",
    "ModelPrice",
    "ModelReply",
    "ModelRequest",
    "Moment",
    "MomentChange",
    "OnLimit",
    "OpaquePart",
    "OtherRow",
    "PendingApproval",
    "Problem",
    "Profile",
    "PromptConfig",
    "Proof",
    "Provider",
    "ProviderError",
    "ProviderState",
    "ReasoningPart",
    "ReplaceArguments",
    "ReplaceContext",
    "ReplaceText",
    "Replayed",
    "ReplyObserver",
    "RetryConfig",
    "RunEnd",
    "RunEvent",
    "RunEvents",
    "RunExists",
    "RunHandle",
    "RunNotFound",
    "RunTimeline",
    "SQLiteJournal",
    "ScriptedProvider",
    "SelfEvaluator",
    "SessionPoint",
    "SignOff",
    "Standing",
    "StateChange",
    "Statement",
    "StatewrightError",
    "Status",
    "StepResult",
    "Stepper",
    "StopReason",
    "StreamChunk",
    "Table",
    "Tampering",
    "TextPart",
    "TokenEstimator",
    "Tool",
    "ToolCall",
    "ToolCallResult",
    "ToolContext",
    "ToolEffect",
    "ToolOutcome",
    "ToolProgress",
    "ToolRegistry",
    "ToolSchema",
    "ToolText",
    "ToolUse",
    "TurnResult",
    "UnderWay",
    "UnmetCondition",
    "Usage",
    "Verification",
    "__version__",
    "connect",
    "fork",
    "hook",
    "load_tools",
    "replay",
    "tool",
    "verify",
]
