"""The scopes that are explored: small configurations that together meet every row of the three tables."""

from __future__ import annotations

from dataclasses import replace

from statewright_evidence.proofs.composition.scope import FINAL, SMALL, Plan, Reply, Said, Scope, ToolKind
from statewright_states.errors import Fault
from statewright_states.run.facts import CutOff, EvaluationMode, Finish, OnLimit
from statewright_states.tool.facts import Assessment
from statewright_states.words.approval import ApprovalRule, WithoutAPerson
from statewright_states.words.tool_effects import ToolEffect

READ = ToolKind("read")
CHECKED = replace(READ, assessments=(Assessment.CLEAR, Assessment.PERSON, Assessment.FAULTY, Assessment.DENIED))
"""A tool about which policy may come to say anything."""
ALONE = ToolKind("read alone", parallel=False)
UNDECLARED = ToolKind("undeclared", ToolEffect.UNDECLARED)
POST = ToolKind("post", ToolEffect.IRREVERSIBLE, person=True)
CHECKED_POST = replace(POST, assessments=(Assessment.PERSON, Assessment.FAULTY, Assessment.DENIED))

ANN = (Said("Ann", "approved"), Said("Ann", "rejected"))
EVERY_FAULT = tuple(Fault)


def calls(*kinds: ToolKind) -> Reply:
    """A reply that asks for these tools."""
    return Reply(f"calls {', '.join(kind.name for kind in kinds)}", kinds, Finish.TOOL_CALLS)


CUT = Reply("calls that were cut off", (READ, READ), Finish.LENGTH)
HIDDEN_CUT = Reply("a call whose arguments end in the middle", (READ,), Finish.STOP, CutOff.IN_ARGUMENTS)
LENGTH = Reply("half an answer", finish=Finish.LENGTH)
EMPTY = Reply("nothing", text=False)
BLOCKED = Reply("a refusal beside a call", (READ,), Finish.BLOCKED)
OTHER = Reply("an ending that nobody knows", finish=Finish.OTHER)
SILENT = Reply("that there is nothing to say", silent=True)

SCOPES = (
    Scope(
        "parallel-tools",
        "Two and three tool calls of a reply, at most two at once, some that may not run beside others, and a death anywhere.",
        replace(SMALL, max_parallel_tools=2),
        replies=(FINAL, calls(READ), calls(READ, READ, READ), calls(READ, ALONE), calls(UNDECLARED, READ)),
        said=ANN,
        deaths=1,
    ),
    Scope(
        "child-runs",
        "Tools that may run again begin runs of their own, which end or wait for persons; two at once, and a death anywhere.",
        replace(SMALL, max_parallel_tools=2, max_total_tokens=4),
        replies=(FINAL, calls(READ), calls(READ, READ), calls(UNDECLARED, READ)),
        said=ANN,
        children=True,
        deaths=1,
    ),
    Scope(
        "approval",
        "An irreversible tool that a person has to allow beside one that only reads; policy is asked outside and may say "
        "anything; one person, who may also end the run, or nobody, and then the run waits.",
        replies=(FINAL, calls(READ, POST), calls(CHECKED, CHECKED_POST), calls(POST, POST)),
        said=(*ANN, Said("Ann", "rejected", ends_run=True), Said("Ann", "reviewed")),
        nobody=WithoutAPerson.WAIT,
        at_once=False,
        start_fails=True,
        deaths=1,
    ),
    Scope(
        "policy",
        "Policy is asked outside about calls that need no person by their declaration, and may say anything about them.",
        replace(SMALL, max_steps=3),
        replies=(FINAL, calls(CHECKED), calls(CHECKED, CHECKED)),
        said=ANN,
        nobody=WithoutAPerson.DENY,
        at_once=False,
        deaths=1,
    ),
    Scope(
        "nobody-to-ask",
        "As in approval, but the run is told to deny what nobody can be asked about; somebody may decide from elsewhere.",
        replies=(FINAL, calls(READ, POST), calls(CHECKED, CHECKED_POST), calls(POST, POST)),
        said=ANN,
        nobody=WithoutAPerson.DENY,
        at_once=False,
        deaths=1,
    ),
    Scope(
        "sign-off",
        "Two of three have to approve after a review; whoever asked for the run may only reject; outsiders, other spellings.",
        replace(SMALL, max_steps=1, approval=ApprovalRule(2, ("Ann", "Bob", "Carl", "Dora"), "Dora", review_required=True)),
        replies=(calls(POST), calls(POST, READ)),
        said=(
            *(Said(actor, meaning) for actor in ("Ann", "Bob", "Carl", "Dora") for meaning in ("approved", "reviewed")),
            *(Said(actor, "approved") for actor in (" ANN", "Eve", "")),
            *(Said(actor, "rejected") for actor in ("Bob", "Dora", "Eve")),
        ),
        deaths=1,
    ),
    Scope(
        "replies",
        "Every kind of reply: cut off, empty, blocked, silent, of an unknown ending; continuations, a reminder, closing words.",
        replace(SMALL, max_steps=4, max_continuations=2, on_limit=OnLimit.CLOSE),
        replies=(FINAL, LENGTH, EMPTY, CUT, HIDDEN_CUT, BLOCKED, OTHER, SILENT, calls(READ)),
        closing=(FINAL, BLOCKED),
        deaths=1,
    ),
    Scope(
        "step-limit",
        "Every kind of reply, and at the limit of steps the run is cut off.",
        replace(SMALL, max_continuations=2),
        replies=(FINAL, LENGTH, EMPTY, CUT, calls(READ)),
        deaths=1,
    ),
    Scope("no-steps", "A limit of no steps at all.", replace(SMALL, max_steps=0), deaths=1),
    Scope(
        "repeats",
        "The same calls again and again: answered with the earlier result once, then the run ends.",
        replace(SMALL, max_steps=5, max_identical_calls=2),
        replies=(FINAL, calls(READ), calls(READ, READ)),
        deaths=1,
    ),
    Scope(
        "evaluation",
        "Full evaluation with two corrections, each a fresh attempt; the judge may be out of reach.",
        replace(SMALL, evaluation=EvaluationMode.FULL, max_evaluation_retries=2),
        replies=(FINAL, calls(READ), LENGTH),
        max_attempts=2,
        faults=(Fault.TRANSIENT, Fault.REJECTED),
        deaths=1,
    ),
    Scope(
        "basic-evaluation",
        "One judgement, and closing words at the limit.",
        replace(SMALL, evaluation=EvaluationMode.BASIC, on_limit=OnLimit.CLOSE),
        replies=(FINAL, calls(READ)),
        max_attempts=2,
        faults=(Fault.TRANSIENT,),
        deaths=1,
    ),
    Scope(
        "compaction",
        "A window that overflows before a step and at the model: summaries, dropping, and what fits into no window.",
        replace(SMALL, max_steps=3, window_tokens=5, summarize_after_exchanges=1),
        replies=(FINAL, calls(READ)),
        max_attempts=2,
        faults=(Fault.TRANSIENT, Fault.OVERFLOW),
        sizes=(1, 9),
        plans=(Plan(3, 0), Plan(0, 0), Plan(0, 2)),
        dropped=(0, 2),
        deaths=1,
    ),
    Scope(
        "retries",
        "Three attempts on each of three models, every fault, replies that begin before they end, a step deadline.",
        replace(SMALL, max_steps=2),
        replies=(FINAL, calls(READ)),
        max_attempts=3,
        fallbacks=2,
        faults=EVERY_FAULT,
        streamed=True,
        deaths=2,
    ),
    Scope(
        "budgets",
        "Budgets of model calls, tool calls, tokens and money, each of which may be the one that ends the run.",
        replace(
            SMALL,
            max_steps=4,
            on_limit=OnLimit.CLOSE,
            max_continuations=1,
            evaluation=EvaluationMode.FULL,
            max_evaluation_retries=1,
            summarize_after_exchanges=1,
            max_model_calls=5,
            max_tool_calls=3,
            max_total_tokens=4,
            max_cost_microusd=4,
        ),
        replies=(FINAL, calls(READ), calls(READ, READ), LENGTH, EMPTY, CUT),
        max_attempts=2,
        fallbacks=1,
        faults=(Fault.TRANSIENT, Fault.UNAVAILABLE, Fault.OVERFLOW, Fault.BLOCKED),
        deaths=1,
    ),
    Scope(
        "deaths",
        "The process dies twice, anywhere, over tools that may run twice, tools that may not, and questions to persons.",
        replace(SMALL, max_parallel_tools=2),
        replies=(FINAL, calls(UNDECLARED, UNDECLARED), calls(UNDECLARED, READ), calls(POST, READ)),
        said=ANN,
        at_once=False,
        deaths=2,
    ),
    Scope(
        "everything",
        "Parallel tools, approval, cut-off replies, compaction, retries on two models and one correction, all at once.",
        replace(
            SMALL,
            max_continuations=1,
            max_parallel_tools=2,
            on_limit=OnLimit.CLOSE,
            evaluation=EvaluationMode.FULL,
            max_evaluation_retries=1,
            summarize_after_exchanges=1,
            window_tokens=5,
        ),
        replies=(FINAL, LENGTH, CUT, EMPTY, calls(READ, READ), calls(UNDECLARED, READ), calls(READ, POST)),
        max_attempts=2,
        fallbacks=1,
        faults=(Fault.TRANSIENT, Fault.UNAVAILABLE, Fault.OVERFLOW),
        sizes=(1, 9),
        said=ANN,
        deaths=1,
    ),
)
