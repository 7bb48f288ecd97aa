"""Who holds a lease: a process, named so that people can find it and so that its death can be detected.

An owner reads ``host:pid 1234 (started 8231.55 s after boot 9d2c7f1e)``. A pid is used again after a while, and means
something only within one boot and one PID namespace (a container has its own), so the name carries both: the start
tells two processes of one pid apart, and the last word stands for the boot and the namespace. Where the system does
not tell these (no ``/proc``), the name ends after the pid.
"""

from __future__ import annotations

import os
import re
import socket
from hashlib import sha256
from pathlib import Path

from statewright_states.frozen import dataclass

_PROC = Path("/proc")
_OWNER = re.compile(r"(?P<host>.+):pid (?P<pid>\d{1,9})(?: \(started (?P<started>[\d.]+) s after boot (?P<boot>\w+)\))?")


@dataclass(frozen=True, slots=True)
class LeaseHolder:
    """Who took the lease of a run and has not given it back. ``live``: the lease holds, so that process drives the run now.

    Else the process died, or has not been heard of for as long as a lease holds.
    """

    owner: str
    live: bool


def this_process() -> str:
    """The owner string of the process that asks."""
    pid = os.getpid()
    started, boot = _started(pid), _boot()
    born = f" (started {started} s after boot {boot})" if started and boot else ""
    return f"{socket.gethostname()}:pid {pid}{born}"


def is_dead(owner: str) -> bool:
    """Whether the owner is certainly gone: a process of this host, boot and namespace that runs no more.

    Of a process elsewhere nothing is known, so it counts as alive until its lease ends.
    """
    named = _OWNER.fullmatch(owner)
    if named is None or named["host"] != socket.gethostname() or named["boot"] not in (None, _boot()):
        return False
    pid, started = int(named["pid"]), named["started"]
    return _has_vanished(pid) or (started is not None and started != _started(pid))


def _started(pid: int) -> str | None:
    """Seconds from boot to the start of a process, or None when it does not run (a zombie runs no more).

    Fields 3 (state) and 22 (starttime, in clock ticks) of ``/proc/PID/stat``: proc_pid_stat(5).
    """
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[0] in ("Z", "X"):
        return None
    return f"{int(fields[19]) / os.sysconf('SC_CLK_TCK'):.2f}"


def _boot() -> str | None:
    """Eight digits that stand for this boot of the machine and this PID namespace; None where there is no ``/proc``."""
    try:
        boot_id = (_PROC / "sys/kernel/random/boot_id").read_bytes()
        namespace = os.readlink(_PROC / "self/ns/pid").encode()
    except OSError:
        return None
    return sha256(boot_id + namespace).hexdigest()[:8]


def _has_vanished(pid: int) -> bool:
    """Whether no process has this pid. Unknown on Windows, where signal 0 would end the process instead of asking."""
    if os.name == "posix":
        try:
            os.kill(pid, 0)
        except OSError as error:
            return isinstance(error, ProcessLookupError)
    return False
