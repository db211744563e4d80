"""What is odd about a talk that was read without losing a word. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from ingest.sentences import has_punctuation, is_own_cutting
from ingest.types import Caption, Problem, Reading
from rag.types import Talk

_OVERLAP_MS = 500
_LONG_CUE = 2000  # characters
_ENOUGH_WORDS = 50
_NAMED = 5  # backward steps that get a line each


def order_problems(captions: Sequence[Caption]) -> list[Problem]:
    """Where times run backwards, in file order."""
    steps = [
        Problem(after.line, f"time runs backwards, from {before.start_ms} ms to {after.start_ms} ms")
        for before, after in pairwise(captions)
        if after.start_ms < before.start_ms
    ]
    if len(steps) > _NAMED:
        steps[_NAMED:] = [Problem(0, f"time runs backwards at {len(steps) - _NAMED} more places")]
    return steps


def warnings_for(reading: Reading, talk: Talk, duration_ms: int, model_languages: Collection[str]) -> list[Problem]:
    """Warnings about the talk as a whole. `duration_ms` is the recording's length, 0 when not known."""
    found: list[Problem] = []
    captions = sorted(reading.captions, key=lambda caption: caption.start_ms)
    overlaps = sum(
        before.start_ms < after.start_ms < before.end_ms - _OVERLAP_MS for before, after in pairwise(captions)
    )
    if overlaps:
        found.append(Problem(0, f"{overlaps:,} captions overlap the next one"))
    late = sum(caption.start_ms > duration_ms for caption in captions) if duration_ms else 0
    if late:
        found.append(Problem(0, f"{late:,} captions start past the end of the recording ({duration_ms // 1000} s)"))
    if sum(len(caption.text.split()) for caption in captions) >= _ENOUGH_WORDS and not has_punctuation(captions):
        how = "kept as they are" if is_own_cutting(reading) else "cut at pauses and by length"
        found.append(Problem(0, f"no punctuation; cues were {how}"))
    long = [cue.id for cue in talk.cues if len(cue.text) > _LONG_CUE]
    if long:
        found.append(Problem(0, f"{len(long):,} cues of more than {_LONG_CUE:,} characters, the first is {long[0]}"))
    if model_languages and talk.language and talk.language not in model_languages:
        spoken = ", ".join(sorted(model_languages))
        what = f"language {talk.language}: the embedding model speaks {spoken} only"
        found.append(Problem(0, f"{what}; set RAG_EMBED_MODEL to a multilingual model"))
    return found
