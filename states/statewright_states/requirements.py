"""What the loop promises, point by point. Rows name these in ``req=``; ``docs/requirements.md`` is made from both.

An id is stable for ever and never reused. ``source`` names the point of the loop's contract that a requirement comes
from, or the subject of the document that the contract took it over from. A requirement without a row says in
``elsewhere`` who serves it; a test holds rows and requirements together, both ways.

``python -m statewright_states.requirements_document > docs/requirements.md`` writes the document anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from statewright_states.call.table import CALL
from statewright_states.form.row import Ignore, Row
from statewright_states.form.table import Table
from statewright_states.frozen import dataclass
from statewright_states.plan_build.table import PLAN_BUILD
from statewright_states.run.table import RUN
from statewright_states.tool.table import TOOL


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise: its text, where it comes from, and, when no row serves it, who does."""

    text: str
    source: str
    elsewhere: str = ""


REQUIREMENTS: Mapping[str, Requirement] = {
    # -- a run's beginning, its steps and its limits ------------------------------------------------------------------
    "R-ADMIT-1": Requirement(
        "A run is on record before anything is done for it, and waits for its turn: one run of a session at a time.",
        "contract 16, sessions; agent loop life cycle: queueing",
    ),
    "R-STEP-1": Requirement(
        "Steps count model calls for generation, from 1. At max_steps the run ends partial; 0 allows no call.",
        "contract 1, steps; core loop: reaching the step limit",
    ),
    "R-STEP-2": Requirement(
        "Where on_limit is close, one last call without tools asks for a summary of what is done; the limit stays the reason.",
        "contract 1, on_limit",
    ),
    "R-BUDG-1": Requirement(
        "Budgets of model calls, tool calls, tokens and cost are asked for before they are used; a spent one ends the run.",
        "contract 15, budgets",
    ),
    "R-BUDG-2": Requirement(
        "Cost is reckoned per attempt from the provider's counts and the configured prices, rounded up to a millionth of a "
        "dollar; a bound on cost without a price for every model in use is a configuration error.",
        "contract 15, budgets: cost",
        elsewhere="prices: the cost of an attempt, and the check before a run",
    ),
    "R-FAULT-1": Requirement(
        "A defect of the engine, or a context that cannot be built, ends the run visibly as failed; it never hangs.",
        "contract 17, failures before the first call; agent loop life cycle: an error ends a run too",
    ),
    # -- what a reply is ----------------------------------------------------------------------------------------------
    "R-REPLY-1": Requirement(
        "The machines see complete replies only, so a streamed and an unstreamed run take the same path.",
        "contract 2, reply kinds; core loop: streaming",
    ),
    "R-REPLY-2": Requirement(
        "A reply with text, without tool calls, that ends by itself is the final answer: success.",
        "contract 2, no calls and stop; core loop: has the agent finished",
    ),
    "R-REPLY-3": Requirement(
        "Tool calls of a reply that was cut off by length are never run: each is told so, and the model is asked again, "
        "within the bound of continuations.",
        "contract 2, calls and length",
    ),
    "R-REPLY-4": Requirement(
        "A filtered or refused reply ends the run partial, with its text kept; calls beside it are not run.",
        "contract 2, content filter and refusal",
    ),
    "R-REPLY-5": Requirement(
        "An empty reply gets one reminder; a second one ends the run partial.",
        "contract 2, empty text; agent loop chapter: an empty reply is an error",
    ),
    "R-REPLY-6": Requirement(
        "A model that asks for the same calls more than max_identical_calls times in a row is given the earlier results "
        "with a note, and nothing runs; if it asks once more, the run ends partial.",
        "the configuration's max_identical_calls; stop reason repeating",
    ),
    "R-REPLY-7": Requirement(
        "A reply with an ending that is not known ends the run partial, with its text kept.",
        "contract 2, anything else; core loop: neither tool calls nor stop",
    ),
    "R-REPLY-8": Requirement(
        "A reply that is exactly NO_REPLY is a silent end; inside other text it is text.",
        "contract 18, silent end; agent loop life cycle: suppressed replies",
    ),
    "R-REPLY-9": Requirement(
        "A reply is cut off by length also where its server hides it: its output tokens reached max_output_tokens, or the "
        "arguments of its last call end in the middle.",
        "contract 2 and 3, length",
        elsewhere="the reading of a reply, which gives the run cut_off and the reason; then R-REPLY-3 and R-CONT-1",
    ),
    "R-CONT-1": Requirement(
        "A reply that was cut off by length is kept, and the model is asked to continue it; the output is the concatenation.",
        "contract 3, continuation; core loop: length",
    ),
    "R-CONT-2": Requirement(
        "A reply is continued max_continuations times at most; then the run ends partial.",
        "contract 3, bound and truncated",
    ),
    "R-CONT-3": Requirement(
        "An empty reply ends no continuation: its reminder asks for the rest, and what comes is joined to what was cut off.",
        "contract 3, the output is the concatenation; contract 2, one reminder",
    ),
    # -- the transcript -----------------------------------------------------------------------------------------------
    "R-TRANS-1": Requirement(
        "Every tool call has one tool message, in the order of the request; the final assistant message is always kept.",
        "contract 4, transcript; core loop: order and ids are critical",
        elsewhere="the transcript, which is assembled in request order",
    ),
    "R-TRANS-2": Requirement(
        "A call that will not run is settled too: skipped or cancelled, with a message that says so.",
        "contract 4, exactly one tool message; contract 5, stop",
    ),
    "R-TRANS-3": Requirement(
        "A history that arrives with orphaned calls or results is repaired, the same way each time and on record.",
        "contract 4, histories",
        elsewhere="the context, before the first call of a run",
    ),
    # -- runs that a tool begins --------------------------------------------------------------------------------------
    "R-CHILD-1": Requirement(
        "A run that a tool begins is named after its call and its place among the runs of this call, names the command that "
        "began the tool as its parent, and is begun once, however often the tool runs again.",
        "runs inside tools: the context of a tool",
        elsewhere="the runs of tools, which begin or find them",
    ),
    "R-CHILD-2": Requirement(
        "While only persons can carry on the runs that a tool has begun, its call waits with them, lists what they are asked, "
        "and holds nothing; it goes on when the run is taken up.",
        "runs inside tools: approvals surface in the parent",
    ),
    "R-CHILD-3": Requirement(
        "What a run that a tool has begun used counts for the run of the tool, for its sums and its budgets, and once, "
        "whatever dies in between.",
        "runs inside tools: cost surfaces in the parent",
    ),
    "R-CHILD-4": Requirement(
        "A stop of a run reaches the runs that its tools have begun; its end, and that of the tool's call, end them at once.",
        "runs inside tools: stop and cancel reach the child",
    ),
    # -- stop, cancellation, time -------------------------------------------------------------------------------------
    "R-STOP-1": Requirement(
        "After a stop what runs is finished, the rest is skipped, the model is not asked again; a final answer still counts.",
        "contract 5, stop; core loop: shutdown",
    ),
    "R-STOP-2": Requirement(
        "A cancellation ends the run at once: what is in flight is given up, every open call is settled as cancelled.",
        "section on the pump: cancellation is an event; agent loop life cycle: where a run may end early",
    ),
    "R-STOP-3": Requirement(
        "The second interrupt ends the process at once with 130; handlers are restored, and set in the main thread alone.",
        "contract 5, signals; core loop: shutdown",
        elsewhere="the signal handler of the command line",
    ),
    "R-TIME-1": Requirement(
        "One timer runs over the whole run, wins over every other, and ends it partial.",
        "contract 6, run deadline; agent loop life cycle: timeouts",
    ),
    "R-TIME-2": Requirement(
        "One timer runs over a model call with all its retries; it ends the run partial. 0 turns it off.",
        "contract 6, step; core loop: step timeout",
    ),
    "R-TIME-3": Requirement(
        "A tool that overruns is abandoned and reported to the model as timed out; its late result is ignored.",
        "contract 6, tool; agent loop chapter: a tool that times out",
    ),
    "R-TIME-4": Requirement(
        "A stream that stands still too long fails its attempt.",
        "contract 6, idle stream",
        elsewhere="providers; the failed attempt is retried by the call table like any other",
    ),
    "R-TIME-5": Requirement(
        "That timer stands still while only persons are waited for, in whichever process, and goes on with what is left.",
        "contract 6, the run deadline stands still while a person is asked",
    ),
    "R-LATE-1": Requirement(
        "A result that comes late or belongs to an earlier attempt is ignored by declaration: on record, without effect.",
        "section on the pump: stale results; section on declared machines: total",
    ),
    # -- the model's service ------------------------------------------------------------------------------------------
    "R-RETRY-1": Requirement(
        "Retries live in the call table alone: transient failures are tried again after a wait, max_attempts times at most.",
        "contract 7, attempts and waits",
    ),
    "R-RETRY-2": Requirement(
        "What a failure allows follows from its typed fault: no retry for authentication, quota, bad requests and overflow.",
        "contract 7, typed errors",
    ),
    "R-RETRY-3": Requirement("Fallback models are a list, and each switch is a row.", "contract 7, fallback models"),
    "R-RETRY-4": Requirement(
        "A model call that failed for good ends the run failed, with the error as its reason.",
        "contract 7; core loop: an exception of the model",
    ),
    "R-RETRY-5": Requirement(
        "Waits are 1, 2 and 4 s with jitter; the service's own Retry-After is obeyed up to a cap.",
        "contract 7, waits",
        elsewhere="whoever carries out the wait that the call table commands",
    ),
    "R-RETRY-6": Requirement(
        "A request that met a closed connection is sent once more, within its attempt: on record, and counted by no budget.",
        "contract 7, one place for retries; providers: a connection closed although keep-alive was promised",
        elsewhere="the provider's transport, which tells the observer of the attempt",
    ),
    "R-STREAM-1": Requirement(
        "Streaming only observes: pieces are shown as they come, and the path is that of an unstreamed reply.",
        "section on the pump: streaming; core loop: streaming",
    ),
    # -- tools --------------------------------------------------------------------------------------------------------
    "R-TOOL-1": Requirement(
        "Every call the model asks for has a machine of its own: resolved, parsed, authorised, run, and settled exactly once.",
        "contract 8, tools; core loop: executing tool calls",
    ),
    "R-TOOL-2": Requirement(
        "A call acts when its turn comes and not before: order and parallelism belong to the run.",
        "contract 9, in order",
    ),
    "R-TOOL-3": Requirement(
        "An unknown tool, arguments that do not parse, or an exception is a result that the model sees, and the run goes on.",
        "contract 8, errors are results; agent loop chapter: failures of tools",
    ),
    "R-TOOL-4": Requirement(
        "Authorisation is enforced at execution and fails closed: whatever is not a clear yes is a no.",
        "contract 8, authorisation; loop skeleton: the tool check",
    ),
    "R-TOOL-5": Requirement(
        "What the model sees of a result is at most max_tool_result_chars, marker included; the full result is on record.",
        "contract 11, results for the model; context levels: truncation",
        elsewhere="tools: truncation",
    ),
    "R-PAR-1": Requirement(
        "Calls run side by side only if the settings allow it, none needs a person and all are declared safe for it; at most "
        "max_parallel_tools at a time, otherwise one after another.",
        "contract 9, parallel; core loop: parallel tool calls",
    ),
    "R-APPR-1": Requirement(
        "A call that policy wants allowed by a person does not run before one has allowed it; until then the run waits.",
        "contract 10, approvals",
    ),
    "R-APPR-2": Requirement(
        "A rejected call does not run, and the model is told; where the rejection is meant for the run, the run ends.",
        "contract 10, rejected; stop reason approval_denied",
    ),
    "R-APPR-3": Requirement(
        "An approval counts for exactly the call that was shown, and once: a changed call needs a new one, a decision stands.",
        "contract 10, digest of the exact call",
    ),
    "R-APPR-4": Requirement(
        "A question to a person survives the process: it is asked again when the run is taken up.",
        "contract 10, waiting is durable",
    ),
    "R-APPR-5": Requirement(
        "A call runs when as many different persons have approved it as are required; one rejection rejects it.",
        "contract 10, n-of-m",
    ),
    "R-APPR-6": Requirement(
        "Only those who may decide are counted, each of them once, and with four eyes not whoever asked for the run; what is "
        "not counted is on record with its reason.",
        "contract 10, four eyes, the same actor cannot be two",
    ),
    "R-APPR-7": Requirement(
        "A review is recorded and allows nothing; where one is required, it comes first, from somebody who does not approve.",
        "contract 10, reviewed and approved",
    ),
    "R-APPR-8": Requirement(
        "Where nobody can be asked, the run waits; where it is told not to, the call is denied, and the model is told.",
        "contract 10, no way to ask a person",
    ),
    "R-APPR-9": Requirement(
        "A decision left by another process is taken once, also while the run waits; a message that says nothing is kept and "
        "stops nothing.",
        "contract 10, decided from another process",
    ),
    # -- context ------------------------------------------------------------------------------------------------------
    "R-CTX-1": Requirement(
        "Where there are more exchanges than are kept whole, or more tokens than the window holds, old ones are summarised.",
        "contract 12, summarise; context levels: compression",
    ),
    "R-CTX-2": Requirement(
        "An empty or failed summary loses nothing: the messages stay, and only what the window cannot hold is dropped.",
        "contract 12, failed summary; context levels: sliding window",
    ),
    "R-CTX-3": Requirement(
        "A request that is too long for the model is cured by compaction, once per step, and asked again.",
        "section on declared machines: context overflow; agent loop chapter: context overflow",
    ),
    "R-CTX-4": Requirement(
        "What is still too long when nothing more may be dropped ends the run failed, as context_full.",
        "contract 12, still over",
    ),
    "R-CTX-5": Requirement(
        "A history longer than the window is summarised before the first step, or else its oldest exchanges are dropped; "
        "system messages, the first user message, the task and the last exchange always stay.",
        "contract 12, last resort; context levels: sliding window",
    ),
    "R-CTX-6": Requirement(
        "Sizes are the provider's own count where there is one, and an estimate of what came since; a broken estimator is "
        "replaced, on record.",
        "contract 12, the estimate; context levels: about four characters per token",
    ),
    # -- evaluation ---------------------------------------------------------------------------------------------------
    "R-EVAL-1": Requirement(
        "A final answer is judged where evaluation is on; in basic mode one failed judgement ends the run partial.",
        "contract 13, basic; self-evaluation: basic",
    ),
    "R-EVAL-2": Requirement(
        "In full mode a failed judgement leads to a fresh attempt, max_retries times; the last attempt is judged too.",
        "contract 13, full; self-evaluation: full",
    ),
    "R-EVAL-3": Requirement(
        "A judge that cannot be reached leaves the answer as it is, unverified.",
        "contract 13, a judge that cannot be reached",
    ),
    "R-EVAL-4": Requirement(
        "A judgement is read strictly. One that cannot be read is asked for once more; then the answer stands, unverified.",
        "contract 13, parsing; self-evaluation: reading the verdict",
    ),
    # -- hooks --------------------------------------------------------------------------------------------------------
    "R-HOOK-1": Requirement(
        "What a guard of the caller blocks does not happen; a guard that fails blocks, unless it is declared optional.",
        "contract 19, a block is final, guards that fail",
    ),
    "R-HOOK-2": Requirement(
        "Every decision of a guard is on record with what it led to, and a replay uses the record and calls no hook.",
        "contract 19, every decision is journalled",
        elsewhere="perform, which puts the decisions into the events; a replay applies recorded events alone",
    ),
    "R-HOOK-3": Requirement(
        "Guards are asked by priority, each with what the one before made of it; observers cannot change a run.",
        "contract 19, in order, changes chain, observers",
        elsewhere="the hooks of the loop; observers are told of entries that are on record",
    ),
    # -- plan, then build ---------------------------------------------------------------------------------------------
    "R-PLAN-1": Requirement(
        "A task may be planned by one run and built by another, each with a record, limits and a policy of its own.",
        "contract 14, plan and build; core loop: both phases of the mixed mode share a model",
    ),
    "R-PLAN-2": Requirement("A plan that failed leads to no build.", "contract 14, failed plan"),
    "R-PLAN-3": Requirement(
        "A plan that is not success is built on only where that is configured, if the model said anything and nobody ended it.",
        "contract 14, a plan that is not success",
    ),
    "R-PLAN-4": Requirement(
        "There is one status at the end, the build's or else the plan's; steps, calls, tokens and cost of both add up.",
        "contract 14, one status, sums",
    ),
    "R-PLAN-5": Requirement(
        "A task whose run waits or cannot be recorded does not end: taken up, it goes on with that run, from its record's end.",
        "contract 14 with the section on the journal: recovery",
    ),
    "R-PLAN-6": Requirement(
        "The run that plans has read-only tools and is never streamed.",
        "contract 14, read-only tools, no streaming; core loop: no streaming in the plan phase",
        elsewhere="MixedModeRunner, which refuses a planner that may do more",
    ),
    # -- taken up again -----------------------------------------------------------------------------------------------
    "R-REC-1": Requirement(
        "A run whose process died is taken up from its journal, at the same counts, and goes on where it was.",
        "section on the journal: recovery",
    ),
    "R-REC-2": Requirement(
        "A tool that was running and is declared read or idempotent runs again.",
        "section on the journal: recovery of tools",
    ),
    "R-REC-3": Requirement(
        "Any other tool that was running has an unknown outcome, and a person says how to go on: never twice, never lost.",
        "section on the journal: outcome_unknown",
    ),
    "R-REC-4": Requirement(
        "A run goes on under other deciding code only if whoever takes it up says so; that is on record with what changed.",
        "section on the journal: the header also pins a digest of the code that decides",
    ),
}

TABLES: tuple[Table[Any], ...] = (RUN, CALL, TOOL, PLAN_BUILD)


def rows_by_requirement(tables: Sequence[Table[Any]] = TABLES) -> dict[str, tuple[str, ...]]:
    """The ids of the rows and ignores that name each requirement, in table order."""
    served: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for stated in stated_in(table):
            for identity in stated.req:
                served[identity] = (*served.get(identity, ()), stated.id)
    return served


def stated_in(table: Table[Any]) -> tuple[Row | Ignore, ...]:
    """Everything of a table that serves a requirement: its rows, then its ignores."""
    return (*table.rows, *table.ignores)
