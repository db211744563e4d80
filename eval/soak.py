"""The long trial: kill ingests at random moments while others search, and look each time for what is lost.

`python -m eval bench --soak [--minutes N] [--seed N]`. Talks, vectors and folder are made up (see `eval.killing`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from eval.killing import BETWEEN, STAGES, Call, State, ingest, made_up, searching, some_moment, start_again
from rag.library import content_digest
from rag.types import Talk

_TALKS = 30
_ADDED = 2


@dataclass(frozen=True, slots=True)
class Kill:
    """One killed ingest: the stage it was in, what was lost, and what else was not as without a kill."""

    stage: str
    lost: tuple[str, ...]
    unlike: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """A fault, how often it was tried, how many talks it cost, and what was seen of it."""

    fault: str
    times: int = 0
    lost: int = 0
    saw: list[str] = field(default_factory=list)


class Trial:
    """A library whose ingests are killed: those that replace every talk, and those that add some."""

    def __init__(self, home: Path, seed: int) -> None:
        self._home = home
        self._chance = random.Random(seed)
        self._version = 0
        self._stored = [made_up(number, 0) for number in range(_TALKS)]
        self._ingest(self._stored)
        # How long the calls of both kinds take undisturbed. Only one that adds copies the index of a small library.
        self._calls = {}
        for is_adding in (False, True):
            self._stored = self._next(is_adding)
            self._calls[is_adding] = self._ingest(self._stored)

    def kill(self, stage: str) -> Kill:
        """Kill an ingest in a call of `stage`, or right after it; start again; ingest the same to the end."""
        is_adding = stage == "generation copy" or self._chance.random() < 0.5
        old = {talk.id: talk for talk in self._stored}
        new = self._next(is_adding)
        call, fraction = some_moment(self._calls[is_adding], stage, self._chance)
        killed = ingest(self._home, new, call, fraction)
        state = start_again(self._home)
        lost = []
        for after in new:
            # What was not reported may be stored all the same: the kill can come between the two.
            before = old.get(after.id)
            is_old = _holds(state, before) if before else after.id not in state.library
            if not _holds(state, after) and (after.id in killed.committed or not is_old):
                lost.append(f"{after.id}: {_kept(state, after.id)}, killed in {killed.stage} ({call}, {fraction:.3f})")
        unlike = [f"left behind: {path}" for path in state.leftovers]
        self._ingest(new)
        self._stored = new
        state = start_again(self._home)
        unlike += [
            f"{talk.id}: {_kept(state, talk.id)} after a whole ingest" for talk in new if not _holds(state, talk)
        ]
        unlike += [f"left behind: {path}" for path in state.leftovers]
        if not len(state.library) == len(state.published) == len(new):
            unlike.append(f"{len(state.library)} talks stored, {len(state.published)} published, of {len(new)}")
        return Kill(killed.stage, tuple(lost), tuple(unlike))

    def _next(self, is_adding: bool) -> list[Talk]:
        """The talks of the next ingest: the stored ones and some more, or the next version of all."""
        self._version += 1
        count = len(self._stored)
        if is_adding:
            return [*self._stored, *(made_up(number, self._version) for number in range(count, count + _ADDED))]
        return [made_up(number, self._version) for number in range(count)]

    def _ingest(self, talks: list[Talk]) -> list[Call]:
        run = ingest(self._home, talks)
        if not run.done:
            raise RuntimeError(f"an ingest that nobody disturbed failed: {run.error}")
        return run.calls


def run(minutes: float, seed: int, say: Callable[[str], None]) -> list[Tally]:
    """Kill, start again and ingest for `minutes`, with a searcher at work; a tally for each stage and the searcher."""
    tallies = {stage: Tally(f"kill -9: {stage}") for stage in (*STAGES, BETWEEN)}
    chance = random.Random(seed)
    with TemporaryDirectory(prefix="talkcite-soak-") as folder:
        trial = Trial(Path(folder), seed)
        end = time.monotonic() + 60 * minutes
        with searching(Path(folder)) as seen:
            while time.monotonic() < end:
                killed = trial.kill(chance.choice(list(STAGES)))
                tally = tallies[killed.stage]
                tally.times += 1
                tally.lost += len(killed.lost)
                tally.saw += [*killed.lost, *killed.unlike]
                for line in (*killed.lost, *killed.unlike):
                    say(line)
    return [*tallies.values(), Tally("searches meanwhile", seen.searches, 0, seen.wrong)]


def _holds(state: State, talk: Talk) -> bool:
    """True when exactly this version of a talk is stored, published, and found."""
    digest = content_digest(talk)
    word = talk.cues[0].text.split()[0]
    return (state.library.get(talk.id), state.published.get(talk.id), state.found.get(talk.id)) == (
        digest,
        digest,
        word,
    )


def _kept(state: State, talk_id: str) -> str:
    stored, published = state.library.get(talk_id), state.published.get(talk_id)
    return f"stored {stored}, published {published}, found {state.found.get(talk_id)!r}"
