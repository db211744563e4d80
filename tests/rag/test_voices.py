from __future__ import annotations

import pytest

from rag.voices import Voice, voice_in

SPEAKERS = ("Ada Byron", "Ben", "Ben Ali", "Marit Oselund", "Marit Lund", "")


@pytest.mark.parametrize(
    ("question", "speaker", "topic"),
    [
        ("What does Ada Byron say about caches?", "Ada Byron", "caches"),
        ("what did ada think of the key value cache", "Ada Byron", "the key value cache"),
        ("What is Ada's opinion on agents?", "Ada Byron", "agents"),
        ("What does Ben say about money?", "Ben", "money"),
        ("What did Oselund recommend?", "", ""),
        ("What does Marit Oselund recommend against waste?", "Marit Oselund", "against waste"),
        ("key value cache: What does Ada Byron say about size?", "Ada Byron", "key value cache: size"),
        ("What has Marit Lund told us about trains!", "Marit Lund", "trains"),
    ],
)
def test_whose_words_are_asked_for(question: str, speaker: str, topic: str) -> None:
    assert voice_in(question, SPEAKERS) == (Voice(speaker, topic) if speaker else None)


@pytest.mark.parametrize(
    "question",
    [
        "What does Marit say about trains?",  # which of the two?
        "What does Cy say about trains?",
        "What do the speakers say about trains?",
        "What does Ada Byron say about it?",
        "Who is Ada Byron?",
        "How does Ada Byron keep the cache small?",
        "What does ?!? say about trains?",
        "",
    ],
)
def test_other_questions(question: str) -> None:
    assert voice_in(question, SPEAKERS) is None


def test_a_long_question_takes_no_time() -> None:
    assert voice_in("what does " + "a: " * 600 + "say about x", SPEAKERS) is None
