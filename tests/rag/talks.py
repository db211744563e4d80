"""Small talks for tests."""

from rag.types import Cue, Talk


def talk_of(*texts: str, talk_id: str = "talk-a", title: str = "A talk", speaker: str = "", **known: object) -> Talk:
    """A talk with one cue of two seconds per text, ids s1, s2, …"""
    cues = tuple(Cue(f"s{n}", (n - 1) * 2000, n * 2000, text, speaker) for n, text in enumerate(texts, 1))
    return Talk(talk_id, title, cues, **known)  # type: ignore[arg-type]


def numbered_talk(count: int, talk_id: str = "talk-a", topic: str = "caching") -> Talk:
    """A talk of `count` cues, each of which holds a word of its own: `word1`, `word2`, …"""
    texts = [f"Sentence word{n} about {topic} {talk_id}." for n in range(1, count + 1)]
    return talk_of(*texts, talk_id=talk_id)
