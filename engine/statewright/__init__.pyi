from statewright.agents import Agent, Agents
from statewright.approvals import ApprovalDecision, ApprovalRequest, Approver
from statewright.assemble import connect
from statewright.config import (
    AgentConfig,
    ApprovalConfig,
    BudgetConfig,
    ContextConfig,
    EvaluationConfig,
    ModelPrice,
    PromptConfig,
    RetryConfig,
)
from statewright.context import ContextBuilder, ContextManager
from statewright.evaluate import EvalResult, SelfEvaluator
from statewright.evidence.proof import Proof
from statewright.forking import fork
from statewright.journal import Durability, MemoryJournal, SQLiteJournal
from statewright.journal.verify import Problem, Verification, verify
from statewright.loop import AgentLoop
from statewright.mixed import MixedModeRunner
from statewright.mixed_state import MixedState
from statewright.observers import RunEvent
from statewright.profiles import PROFILES, Profile
from statewright.replaying import Replayed, replay
from statewright.shutdown import GracefulShutdown
from statewright.state import AgentState, LoopPhase, PendingApproval, StepResult, ToolCallResult, TurnResult
from statewright.tools import ExecutionEngine, Tool, ToolRegistry, load_tools, tool
from statewright_states.approval import ApprovalRule, SignOff, Standing, Statement
from statewright_states.effects import ConfirmMode, ToolEffect
from statewright_states.errors import (
    CallerError,
    ConfigurationError,
    DeclarationError,
    JournalError,
    ProviderError,
    StatewrightError,
)
from statewright_states.messages import LLMResponse, Message, StreamChunk, ToolCall, ToolSchema, Usage
from statewright_states.ports import TokenEstimator
from statewright_states.run.facts import CutOff, EvaluationMode, OnLimit
from statewright_states.vocabulary import Status, StopReason

__all__ = [
    "PROFILES",
    "Agent",
    "AgentConfig",
    "AgentLoop",
    "AgentState",
    "Agents",
    "ApprovalConfig",
    "ApprovalDecision",
    "ApprovalRequest",
    "ApprovalRule",
    "Approver",
    "BudgetConfig",
    "CallerError",
    "ConfigurationError",
    "ConfirmMode",
    "ContextBuilder",
    "ContextConfig",
    "ContextManager",
    "CutOff",
    "DeclarationError",
    "Durability",
    "EvalResult",
    "EvaluationConfig",
    "EvaluationMode",
    "ExecutionEngine",
    "GracefulShutdown",
    "JournalError",
    "LLMResponse",
    "LoopPhase",
    "MemoryJournal",
    "Message",
    "MixedModeRunner",
    "MixedState",
    "ModelPrice",
    "OnLimit",
    "PendingApproval",
    "Problem",
    "Profile",
    "PromptConfig",
    "Proof",
    "ProviderError",
    "Replayed",
    "RetryConfig",
    "RunEvent",
    "SQLiteJournal",
    "SelfEvaluator",
    "SignOff",
    "Standing",
    "Statement",
    "StatewrightError",
    "Status",
    "StepResult",
    "StopReason",
    "StreamChunk",
    "TokenEstimator",
    "Tool",
    "ToolCall",
    "ToolCallResult",
    "ToolEffect",
    "ToolRegistry",
    "ToolSchema",
    "TurnResult",
    "Usage",
    "Verification",
    "connect",
    "fork",
    "load_tools",
    "replay",
    "tool",
    "verify",
]
