"""Cited cues -> numbered citations: the one table behind chips, cards and JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag.types import Citation, CueRef, Talk


class Numbering:
    """Numbers the moments of one answer in the order in which they appear, starting at 1."""

    def __init__(self, talks: Iterable[Talk]) -> None:
        self._talks = {talk.id: talk for talk in talks}
        self._citations: dict[tuple[str, int, int], Citation] = {}

    def cite(self, refs: Sequence[CueRef]) -> tuple[int, ...]:
        """Numbers of the moments that these cues make up.

        Neighbouring cues of a talk are one moment, apart from each other they are several; talks keep their order.
        """
        numbers: list[int] = []
        for talk_id in dict.fromkeys(ref.talk_id for ref in refs):
            for first, last in _runs(sorted({ref.position for ref in refs if ref.talk_id == talk_id})):
                key = (talk_id, first, last)
                if key not in self._citations:
                    self._citations[key] = Citation(len(self._citations) + 1, self._talks[talk_id], first, last)
                numbers.append(self._citations[key].n)
        return tuple(numbers)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """All citations so far, by number."""
        return tuple(self._citations.values())


def _runs(positions: Sequence[int]) -> list[tuple[int, int]]:
    """Sorted positions as runs of neighbours: [1, 2, 5] -> [(1, 2), (5, 5)]."""
    runs: list[tuple[int, int]] = []
    for position in positions:
        if runs and position == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], position)
        else:
            runs.append((position, position))
    return runs
