"""The router: from one machine's command to another machine's event, as ``links`` declares it.

Theory of operation. A turn begins with an event from outside. The commands of the receiving machine are carried out first in,
first out, each by the route of its link:

* ``machine``: the router makes the event, and it is applied at once, in the same turn;
* ``messages`` and ``end``: nothing comes of it for a machine;
* ``effect``: it is kept until the turn is on record, and performed then, or answered at once where its link allows that.

An event is determined by the command, the run's facts and the ``Surroundings`` at the moment when the command is carried out,
and by nothing else. A replay checks this, and a proof explores it. The router stores nothing, changes no machine, and does no
input or output. Whether an event is taken is decided by the rows of the receiving table alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from statewright.core.links import LINKS, Link, Route
from statewright.core.surroundings import Surroundings
from statewright_states.errors import InternalError
from statewright_states.form.row import Command, Event
from statewright_states.run.facts import RunFacts


class Router:
    """Knows how each command is carried out. Tests and proofs give it other links to plant faults in them."""

    def __init__(self, links: Iterable[Link] = LINKS) -> None:
        self.links: Mapping[type[Command], Link] = {link.command: link for link in links if link.command is not None}

    def link(self, command: Command) -> Link:
        """The link of a command. Raises InternalError where none is declared."""
        try:
            return self.links[type(command)]
        except KeyError:
            name = type(command).__name__
            raise InternalError(f"no link says where {name} goes", where="core.links", cure=f"add a link for {name}") from None

    def route(self, command: Command) -> Route:
        """How a command is carried out."""
        return self.link(command).route

    def event(self, command: Command, facts: RunFacts, surroundings: Surroundings) -> tuple[str, str, Event]:
        """The machine, the instance and the event that a command of the route ``machine`` becomes."""
        link = self.link(command)
        if link.event is None:
            raise InternalError(f"{type(command).__name__} is no event at once", where="core.links")
        return link.machine, *link.event(command, facts, surroundings)


ROUTER = Router()
"""The router of the declared links. Any number of runs share it."""
