"""The command line. stdout is the answer or JSON, everything else goes to stderr; ``exits.py`` says what exit codes mean."""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from cyclopts import App, CycloptsError, Parameter
from cyclopts.completion.detect import ShellDetectionError
from cyclopts.help import format_usage
from rich.text import Text

from statewright.cli.abandoned import leave_at_once_if_anything_is_given_up
from statewright.cli.exits import Exit, exit_for
from statewright.cli.task import with_stdin_named
from statewright.presentation.layout import print_folded, program
from statewright.presentation.output import one_line, printable, remarks
from statewright.presentation.streams import OutputLost, give_up_stdout, settle_streams
from statewright.version import ENGINE
from statewright_states.errors import ConfigurationError, InternalError, StatewrightError

TRACEBACK = "STATEWRIGHT_TRACEBACK"
EPILOGUE = (
    "Exit codes: 0 success, 1 failed, 2 usage or configuration, 3 partial, 4 waiting for approval, 5 verification failed, "
    "6 replay diverged, 130 interrupted."
)

COMMAND_IN_TEXT = re.compile(r"(?<![\w./-])statewright ([a-z]+)")
"""A command in a cure: it is told as this program is called here."""

app = App(
    name="statewright",
    help="An agent loop in which nothing changes status except by a declared transition.",
    help_epilogue=EPILOGUE,
    version=ENGINE,
    default_parameter=Parameter(negative=(), show_default=False),
    exit_on_error=False,
    print_error=False,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)
COMMANDS: Mapping[str, str] = {
    "demo": "statewright.demo.command:demo",
    "run": "statewright.cli.run:run",
    "resume": "statewright.cli.run:resume",
    "approve": "statewright.cli.decide:approve",
    "reject": "statewright.cli.decide:reject",
    "runs": "statewright.cli.runs:runs",
    "show": "statewright.cli.show:show",
    "why": "statewright.cli.why:why",
    "report": "statewright.cli.report:report",
    "debug": "statewright.cli.debug:debug",
    "replay": "statewright.cli.check:replay_run",
    "verify": "statewright.cli.check:verify_runs",
    "diagram": "statewright.cli.diagram:diagram",
    "prove": "statewright.cli.prove:prove_tables",
    "diff": "statewright.cli.diff:diff",
    "impact": "statewright.cli.impact:impact",
    "doctor": "statewright.cli.doctor:doctor",
}
"""In the order in which somebody meets them, each with where it stands: only the one that is given is imported."""
for place, (name, command) in enumerate(COMMANDS.items()):
    app.command(command, name=name, sort_key=place)
COMPLETION = "--install-completion"


def install_completion(shell: Literal["bash", "zsh", "fish"] | None = None, /) -> Exit:
    """Have the shell complete this program's commands and options: writes a file for it, and says where.

    Parameters
    ----------
    shell
        bash, zsh or fish (default: the one that runs this).
    """
    try:
        path = app.install_completion(shell=shell)
    except ShellDetectionError as error:
        cure = f"name it: {program()} --install-completion bash"
        raise ConfigurationError("the shell is not known", where="--install-completion", cure=cure) from error
    except OSError as error:
        where = str(error.filename or "--install-completion")
        raise ConfigurationError(
            f"the completions cannot be written: {error.strerror}", where=where, cure="write to a home folder of yours"
        ) from error
    print_folded(remarks(), Text(f"written: {path}; a new shell reads it"), 9)
    return Exit.SUCCESS


app.command(install_completion, name=COMPLETION, sort_key=len(COMMANDS))


def main(arguments: Sequence[str] | None = None) -> int:
    """The console script: carry out a command line, and give its exit code. Bad input never leads to a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _answer_ctrl_c_with(signal.default_int_handler)
        settle_streams()
        code = _carry_out(given)
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        give_up_stdout()
        code = Exit.BROKEN_PIPE
    finally:
        # From here on there is nothing to clean up, so that Ctrl-C may simply end the process.
        _answer_ctrl_c_with(signal.SIG_DFL)
    leave_at_once_if_anything_is_given_up(int(code))
    return int(code)


def _answer_ctrl_c_with(handler: Any) -> None:
    """Set what Ctrl-C does, unless whoever started the process wants it ignored (``nohup``, a job in the background)."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)


def _carry_out(given: list[str]) -> Exit:
    try:
        if not given or given[0] not in (*COMMANDS, *app.version_flags, COMPLETION):
            _import_all()
        if not given:
            app.help_print([], console=app.error_console)
            return Exit.USAGE
        result: Exit | None = app(with_stdin_named(given))
        sys.stdout.flush()
        return Exit.SUCCESS if result is None else result
    except CycloptsError as error:
        return _complain(_usage_error(error), Exit.USAGE)
    except StatewrightError as error:
        if isinstance(error, OutputLost):
            give_up_stdout()
        _show_traceback()
        return _complain(_in_lines(error), exit_for(error))
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:  # ours: what a caller did wrong has a class of its own
        _show_traceback()
        cure = f"this is a defect of Statewright; {TRACEBACK}=1 shows where: please report it"
        internal = InternalError(f"{type(error).__name__}: {error}", where="the command line", cure=cure)
        return _complain(_in_lines(internal), Exit.FAILED)


def _import_all() -> None:
    """Import every command: the help of them all says what each one is for."""
    for name in COMMANDS:
        app[name]


def _usage_error(error: CycloptsError) -> str:
    chain = error.command_chain or ()
    usage = format_usage(app, chain).plain.strip()
    return f"{str(error).strip()}\n  usage: {usage}\n  cure:  see {program()} {' '.join([*chain, '--help'])}"


def _in_lines(error: StatewrightError) -> str:
    """The error as ``str`` gives it; what is foreign in it, such as a run's id, starts no line of its own."""
    what = "\n  ".join(error.what.split("\n"))
    cure = COMMAND_IN_TEXT.sub(lambda found: f"{program()} {found[1]}", one_line(error.cure))
    return str(StatewrightError(what, where=one_line(error.where), cure=cure))


def _complain(text: str, code: Exit) -> Exit:
    print_folded(remarks(), Text(f"statewright: {printable(text)}"), 9)
    return code


def _show_traceback() -> None:
    if os.environ.get(TRACEBACK):
        traceback.print_exc()
