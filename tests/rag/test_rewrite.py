import pytest

from rag.rewrite import rewrite
from rag.types import Turn

HISTORY = [
    Turn("user", "Hello"), Turn("assistant", "Hi."),
    Turn("user", "How does Together store the KV cache?"), Turn("assistant", "Like a file system."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("And how large is it?", "Together store KV cache: And how large is it?"),
        ("Why?", "Together store KV cache: Why?"),
        ("What about the other guest?", "Together store KV cache: What about the other guest?"),
        ("Does the KV cache of Together move?", "Does the KV cache of Together move?"),
        ("Who leads research at MiniMax?", "Who leads research at MiniMax?"),
    ],
)
def test_only_questions_that_lean_on_the_conversation_change(question: str, searched: str) -> None:
    assert rewrite(question, HISTORY) == searched


def test_nothing_changes_without_an_earlier_question() -> None:
    assert rewrite("And why?", ()) == "And why?"
    assert rewrite("And why?", [Turn("assistant", "Ask me.")]) == "And why?"
    assert rewrite("And why?", [Turn("user", "What is it?")]) == "And why?"


def test_a_long_earlier_question_lends_few_words() -> None:
    history = [Turn("user", " ".join(f"word{n}" for n in range(500)))]
    assert len(rewrite("And why?", history).split()) == 14
