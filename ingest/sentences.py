"""Captions -> cues, one sentence each, with exact times. Pure.

Sentences are found by sentencex in the joined text of captions that belong together, and take their times from word
times where the file has them, else from the characters' share of the caption they stand in. Text without punctuation is
cut at pauses and at a length that can be taken in at a glance. Captions whose ids say that they are sentences already
(s1, s2, … in order) are never cut again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sentencex import segment

from ingest.types import Caption, Reading
from ingest.word_times import Word, timed_words
from rag.types import Cue

MAX_WORDS = 40
MAX_MS = 20_000
_LONG_SENTENCE = 2  # a sentence with a full stop may be so many times longer before it is cut
_PAUSE_MS = 1000
_LONG_PAUSE_MS = 3000
_SILENCE_MS = 8000
_ENOUGH_WORDS = 5  # a pause cuts only behind so many words, so that hesitation leaves no fragments
_COMMA_BONUS_MS = 400
_LINE_BONUS_MS = 200
_MS_PER_CHARACTER = 80
_MAX_RUN = 20_000  # words held at a time
_WORDS_PER_END = 50  # fewer sentence ends than one in so many words: the text has no punctuation

_STOPS = (".", "!", "?", "…", "。", "！", "？", "｡", "।", "؟")
_CLOSING = "'\"’”)]»」』）"
_STOPS_WITHOUT_BLANK = ("。", "！", "？", "｡")
# A thousand characters or more, ending behind a stop without blank that no closing mark or further stop follows.
_STRETCH = re.compile(r".{1000,}?[。！？｡](?![」』）】》〉”’\"')\]。！？｡])|.+\Z", re.DOTALL)
_LABEL = re.compile(r"\[(?!inaudible|unclear|indistinct|unintelligible)[^\W\d_][^\[\]]{0,38}\]", re.IGNORECASE)
_KEPT_ID = re.compile(r"[A-Za-z0-9._-]{1,40}")


def is_own_cutting(reading: Reading) -> bool:
    """True when the captions are the user's own sentences: ids s1, s2, … in order, or the file says so.

    An entry that was lost on reading leaves its number out without undoing the cutting of the others.
    """
    if reading.keeps_cutting:
        return True
    dropped = set(reading.dropped_ids)
    number = 0
    for caption in reading.captions:
        number += 1
        while f"s{number}" in dropped:
            number += 1
        if caption.id != f"s{number}":
            return False
    return bool(reading.captions)


def has_punctuation(captions: Sequence[Caption]) -> bool:
    """True when sentence ends occur as often as in written text."""
    words = ends = 0
    for caption in captions:
        for word in caption.text.split():
            words += 1
            ends += word.rstrip(_CLOSING).endswith(_STOPS)
    return ends * _WORDS_PER_END >= words


def to_cues(reading: Reading, language: str) -> list[Cue]:
    """The cues of a talk in time order: the user's own sentences, or rebuilt ones with the ids s1, s2, …"""
    captions = sorted(reading.captions, key=lambda caption: caption.start_ms)
    if is_own_cutting(reading):
        return _kept(captions)
    punctuated = has_punctuation(captions)
    cues: list[Cue] = []
    for run in _runs(captions):
        speaker = captions[run[0].caption].speaker
        for words in _sentences(run, language, punctuated):
            start_ms = max(words[0].start_ms, cues[-1].start_ms if cues else 0)
            text = " ".join(word.text for word in words)
            cues.append(Cue(f"s{len(cues) + 1}", start_ms, max(start_ms, words[-1].end_ms), text, speaker))
    return cues


def _kept(captions: Sequence[Caption]) -> list[Cue]:
    ids = [caption.id or "" for caption in captions]
    if len(set(ids)) < len(ids) or not all(_KEPT_ID.fullmatch(identifier) for identifier in ids):
        ids = [f"s{number}" for number in range(1, len(captions) + 1)]
    return [
        Cue(identifier, caption.start_ms, caption.end_ms, caption.text, caption.speaker)
        for identifier, caption in zip(ids, captions, strict=True)
    ]


def _runs(captions: Sequence[Caption]) -> Iterator[list[Word]]:
    """Words that one voice says on end: nothing in a run ends a sentence but its punctuation, pauses and length."""
    run: list[Word] = []
    for position, caption in enumerate(captions):
        following = captions[position + 1] if position + 1 < len(captions) else None
        words = timed_words(caption, position, following)
        if run and (_parted(captions[position - 1], caption) or _is_long(run)):
            yield run
            run = []
        for part in _parts(words):
            if run and (_is_label(part) or part[0].text.startswith(">>")):
                yield run
                run = []
            run.extend(part)
            if _is_label(part):
                yield run
                run = []
    if run:
        yield run


def _is_long(run: Sequence[Word]) -> bool:
    """True when a run has grown so long that it is better to go on with a new one, after a sentence if possible."""
    return len(run) >= _MAX_RUN or (len(run) >= _MAX_RUN // 10 and _ends_sentence(run[-1]))


def _ends_sentence(word: Word) -> bool:
    return word.text.rstrip(_CLOSING).endswith(_STOPS)


def _parted(before: Caption, caption: Caption) -> bool:
    """True when a caption can't go on with the sentence of the one before."""
    if before.speaker != caption.speaker or caption.start_ms - before.end_ms > _SILENCE_MS:
        return True
    overlap = min(before.end_ms, caption.end_ms) - caption.start_ms
    return 2 * overlap > min(before.end_ms - before.start_ms, caption.end_ms - caption.start_ms) > 0


def _parts(words: list[Word]) -> list[list[Word]]:
    """The words with sound labels at either end, and `>>` marks of a new speaker, as parts of their own."""
    if not words or not any(word.text.startswith((">>", "[")) for word in words):
        return [words] if words else []
    parts: list[list[Word]] = []
    rest = words
    while rest and (count := _label_at_start(rest)):
        parts.append(rest[:count])
        rest = rest[count:]
    tail: list[list[Word]] = []
    while rest and (count := _label_at_end(rest)):
        tail.insert(0, rest[-count:])
        rest = rest[:-count]
    first = 0
    for n, word in enumerate(rest):
        if n > first and word.text.startswith(">>"):
            parts.append(rest[first:n])
            first = n
    return [*parts, *([rest[first:]] if rest else []), *tail]


def _label_at_start(words: Sequence[Word]) -> int:
    """How many words the sound label at the start takes, 0 when there is none."""
    return next((n for n in range(1, min(len(words), 6) + 1) if _is_label(words[:n])), 0)


def _label_at_end(words: Sequence[Word]) -> int:
    return next((n for n in range(1, min(len(words), 6) + 1) if _is_label(words[-n:])), 0)


def _is_label(words: Sequence[Word]) -> bool:
    if not words[0].text.startswith(("[", "(", "♪")):
        return False
    text = " ".join(word.text for word in words)
    if text.startswith("["):
        return bool(_LABEL.fullmatch(text))
    return len(text) <= 60 and Cue("", 0, 0, text).is_sound_label


def _sentences(run: list[Word], language: str, punctuated: bool) -> Iterator[list[Word]]:
    for sentence in _at_sentence_ends(run, language):
        for part in _parts(sentence):
            if punctuated and _ends_sentence(part[-1]):
                yield from _cut(part, MAX_WORDS * _LONG_SENTENCE, MAX_MS * _LONG_SENTENCE)
            else:
                for piece in [part] if punctuated else _at_pauses(part):
                    yield from _cut(piece, MAX_WORDS, MAX_MS)


def _at_sentence_ends(run: list[Word], language: str) -> Iterator[list[Word]]:
    """The run divided where sentencex sees a sentence end; inside a word for scripts without blanks."""
    text = " ".join(word.text for word in run)
    words = iter(run)
    word: Word | None = next(words)
    taken = 0  # letters of `word` that stand in sentences already
    sentence: list[Word] = []
    letters = 0
    for found in _segmented(text, language or "en"):
        letters += len(found) - found.count(" ")
        if not found.endswith(" ") and not found.rstrip(_CLOSING).endswith(_STOPS_WITHOUT_BLANK):
            continue  # not a sentence end but punctuation inside a word, as in "![p](link)"
        while word is not None and letters > 0:
            until = min(len(word.text), taken + letters)
            sentence.append(word.part(taken, until))
            letters -= until - taken
            taken = until
            if taken == len(word.text):
                word, taken = next(words, None), 0
        if sentence:
            yield sentence
            sentence = []
    if word is not None:
        yield [word.part(taken, len(word.text)), *words]


def _segmented(text: str, language: str) -> Iterator[str]:
    """sentencex's sentences. It is shown a stretch at a time, as it takes the square of the time without blanks."""
    for stretch in _STRETCH.findall(text):
        yield from segment(language, stretch)


def _at_pauses(words: list[Word]) -> Iterator[list[Word]]:
    first = 0
    for n in range(1, len(words)):
        pause_ms = _pause_ms(words[n - 1], words[n])
        if pause_ms >= _LONG_PAUSE_MS or (pause_ms >= _PAUSE_MS and n - first >= _ENOUGH_WORDS):
            yield words[first:n]
            first = n
    yield words[first:]


def _cut(words: list[Word], max_words: int, max_ms: int) -> Iterator[list[Word]]:
    """Pieces within both limits, cut where the speaker pauses, at a comma, or at the end of a line."""
    first = 0
    while len(words) - first > max_words or words[-1].end_ms - words[first].start_ms > max_ms:
        last = first + 1
        while last < len(words) and last - first < max_words and words[last].end_ms - words[first].start_ms <= max_ms:
            last += 1
        if last == len(words):
            break
        earliest = first + max(1, (last - first) // 2)
        best = max(range(earliest, last + 1), key=lambda n: (_break_value(words[n - 1], words[n]), n))
        yield words[first:best]
        first = best
    yield words[first:]


def _break_value(before: Word, after: Word) -> int:
    """How well a cut between two words suits a reader, in milliseconds of pause."""
    value = _pause_ms(before, after)
    value += _COMMA_BONUS_MS if before.text.endswith((",", ";", ":", "、", "，")) else 0
    return value + (_LINE_BONUS_MS if before.caption != after.caption else 0)


def _pause_ms(before: Word, after: Word) -> int:
    """Silence between two words. Files often stretch a word to the next one's start, so no word counts as slow."""
    spoken = min(before.end_ms - before.start_ms, 200 + _MS_PER_CHARACTER * len(before.text))
    return max(0, after.start_ms - before.start_ms - spoken)
