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


@pytest.mark.parametrize(
    "question",
    [
        "How does a pager wake somebody when it is silent?",
        "How big is the draft model Dormouse, and what was it trained on?",
        "How long did it take to train Dormouse?",
        "Why is it important to label every question twice?",
        "What did 1,000 answers cost before the work, and what do they cost now?",
        "How many GPUs does Oatwhistle run its model on?",
        "Did Ada change her mind about caches?",
        "What did Ada say when she was asked about money?",
        "Who on the panel says that a wrong answer can be fluent?",
        "How did Devraj know that the agent was running away?",
        "How many points were there in the release checklist?",
        "Is there a limit on the number of tokens?",
        "Why does one overheating device slow others in the rack?",
        "What happens if two blocks are found at the same height?",
        "What happened before the outage of the cluster?",
        "Why does Bitcoin converge on one chain?",
        "What is FROST?",
        "Do formats such as WebVTT keep the words?",
    ],
)
def test_a_question_that_names_what_it_asks_about_stands_alone(question: str) -> None:
    assert rewrite(question, HISTORY) == question


@pytest.mark.parametrize(
    "question",
    [
        "What did the assistant make up for them in the town hall?",
        "When did the team in Berlin first measure that in production?",
        "Is that how they went about it themselves?",
        "Did they agree with each other in the beginning?",
        "Does it cost the customers of Together more money?",
        "How did the other guest's judge rate long answers?",
        "Which one did the panel like best and recommend?",
        "How many customers of the company were there then?",
        "What happened when it broke?",
        "What did the guest say when it crashed?",
        "What else did Devraj Pellini learn about agents?",
        "Why couldn't such a developer simply push something through?",
        "Why Berlin?",
        "And why Bitcoin converges on one chain?",
    ],
)
def test_a_question_about_something_said_before_does_not(question: str) -> None:
    assert rewrite(question, HISTORY).endswith(f": {question}")


def test_nothing_changes_without_an_earlier_question() -> None:
    assert rewrite("And why?", ()) == "And why?"
    assert rewrite("And why?", [Turn("assistant", "Ask me.")]) == "And why?"
    assert rewrite("And why?", [Turn("user", "What is it?")]) == "And why?"


def test_a_long_earlier_question_lends_few_words() -> None:
    history = [Turn("user", " ".join(f"word{n}" for n in range(500)))]
    assert len(rewrite("And why?", history).split()) == 14
