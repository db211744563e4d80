"""`Name:` in front of captions -> speakers. Pure.

Meeting exports put the speaker before the first colon of every caption. A lone "One rule: be kind." must not become a
speaker, so a file counts as written that way only when most of its captions start with a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ingest.types import Caption
from ingest.word_times import timed_words

_PREFIX = re.compile(r"([^\W\d_][^:\n]{0,59}?):\s+(?=\S)")
_SHARE = 0.5  # of all captions
_MAX_WORDS = 6
_PARTICLES = frozenset("al bin d' da de del della den der di dos du el la le van von y zu".split())
_SENTENCE_END = re.compile(r"[.!?;,]\s")


def with_prefixed_speakers(captions: Sequence[Caption], *, keeps_cutting: bool = False) -> tuple[Caption, ...]:
    """The captions with `Name:` taken out of the text as speaker, or unchanged where the file is not written so.

    A caption in which a speaker of the file takes over after a sentence becomes two, unless `keeps_cutting` is set.
    """
    if any(caption.speaker for caption in captions):
        return tuple(captions)
    names = [_name(caption.text) for caption in captions]
    named = [name for name in names if name]
    if not named or len(named) < _SHARE * len(captions):
        return tuple(captions)
    # One-word labels such as "Note:" count as names only where they come back.
    if max(Counter(named).values()) < 2 and not all(" " in name and name.istitle() for name in named):
        return tuple(captions)
    speakers = {name for name, count in Counter(named).items() if count > 1 or _reads_like_name(name)}
    named_captions = [
        _without_prefix(caption, name) if name in speakers else caption
        for caption, name in zip(captions, names, strict=True)
    ]
    if keeps_cutting or not speakers:
        return tuple(named_captions)
    takes_over = _take_over(speakers)
    return tuple(turn for caption in named_captions for turn in _turns(caption, takes_over))


def _take_over(speakers: Iterable[str]) -> re.Pattern[str]:
    """Finds one of these speakers' `Name:` behind the end of a sentence or a dash."""
    names = "|".join(re.escape(name) for name in sorted(speakers, key=len, reverse=True))
    return re.compile(rf"(?<=[.!?…\"'”’)\]–-])\s({names}):\s+(?=\S)")


def _turns(caption: Caption, takes_over: re.Pattern[str]) -> Iterator[Caption]:
    """What each speaker says in a caption, from the time of their first word on."""
    matches = list(takes_over.finditer(caption.text))
    if not matches:
        yield caption
        return
    words = timed_words(caption, 0, None)
    speaker, begin = caption.speaker, 0
    for match in (*matches, None):
        before = len(caption.text[: match.start() if match else None].split())
        after = len(caption.text[: match.end()].split()) if match else len(words)
        said = words[begin:before]
        yield replace(
            caption,
            id=caption.id if begin == 0 else None,
            start_ms=caption.start_ms if begin == 0 else said[0].start_ms,
            end_ms=words[before].start_ms if match else caption.end_ms,
            text=" ".join(word.text for word in said),
            speaker=speaker,
            words=caption.words[begin:before],
        )
        speaker, begin = (match[1], after) if match else (speaker, begin)


def _name(text: str) -> str:
    """The name in front of the first colon, "" when what stands there can't be one."""
    match = _PREFIX.match(text)
    if match is None:
        return ""
    name = match[1].strip()
    abbreviated = re.sub(r"\b[^\W\d_]{1,3}\.(?=\s)", "", name)  # "Raj P. (Contoso)", "Dr. Lee"
    is_name = len(name.split()) <= _MAX_WORDS and not _SENTENCE_END.search(abbreviated)
    return name if is_name else ""


def _reads_like_name(name: str) -> bool:
    """False for several words that are not all written as names are, such as "Okay so"."""
    words = name.split()
    return len(words) == 1 or "(" in name or all(not word[0].islower() or word in _PARTICLES for word in words)


def _without_prefix(caption: Caption, name: str) -> Caption:
    match = _PREFIX.match(caption.text)
    assert match is not None
    taken = len(match[0].split())
    return replace(caption, text=caption.text[match.end() :], speaker=name, words=caption.words[taken:])
