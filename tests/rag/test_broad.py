"""Broad questions in many phrasings, and ordinary ones that only look like them."""

import json
from dataclasses import replace

import pytest

from rag.broad import Mentions, WholeTalk, broad, named
from rag.manifest import TalkInfo
from tests.conftest import ROOT

QUEUE = TalkInfo(
    id="queue", title="Eight Cards and a Stubborn Queue: Serving a Language Model", speakers=("Marit Oselund",),
    event="", date="", language="", cues=1, windows=1, duration_ms=1, media="", source="", chapters=(), digest="",
    text_digest="",
)  # fmt: skip
RETRIEVAL = replace(
    QUEUE, id="retrieval", title="Grading the Librarian - Does Retrieval Work?", speakers=("Ines", "Bo")
)
PAGER = replace(QUEUE, id="pager", title="The Pager", speakers=("Devraj Pellini",))
TALKS = (QUEUE, RETRIEVAL, PAGER)


@pytest.mark.parametrize(
    "question",
    [
        "Summarise this talk", "summarize this talk.", "Please summarise the talk for me!",
        "Can you sum up this video?",
        "Could you give me a short summary of this talk in five bullet points?", "Summary", "summary please", "tl;dr",
        "TLDR of this talk", "Give me the gist.", "Give me an overview", "an overview of the talks",
        "Recap the episode",
        "What are the main points?", "what are the key takeaways from this talk?", "main points", "Key takeaways?",
        "List the most important ideas of the talk.", "What are the three main messages of this panel?", "sum it up",
        "What is this talk about?", "what's this about", "What was the discussion about?", "What do they talk about?",
        "What topics are covered?", "Which topics does this talk cover?", "What is discussed in this talk?",
        "What happens in this video?", "Walk me through this talk", "Summarise everything", "Outline the whole talk",
        "What does this talk cover?", "I'd like a summary of this talk", "Tell me about this talk",
        "Summarize all talks",
    ],
)  # fmt: skip
def test_questions_about_a_whole_talk(question: str) -> None:
    assert broad(question) == WholeTalk()
    assert named(WholeTalk(), TALKS) == list(TALKS)


@pytest.mark.parametrize(
    ("question", "talk"),
    [
        ("Summarise Grading the Librarian", RETRIEVAL),
        ('What is "Grading the Librarian" about?', RETRIEVAL),
        ("Summarise Marit Oselund's talk", QUEUE),
        ("Give me a summary of the talk by Marit", QUEUE),
        ("What are the key points of the pager talk?", PAGER),
        ("main points of The Pager", PAGER),
        ("What is the talk about serving a language model about?", QUEUE),
    ],
)
def test_a_talk_named_in_the_question(question: str, talk: TalkInfo) -> None:
    asked = broad(question)
    assert isinstance(asked, WholeTalk)
    assert named(asked, TALKS) == [talk]


@pytest.mark.parametrize(
    ("question", "topic", "by_date"),
    [
        ("Which talks mention speculative decoding?", "speculative decoding", False),
        ("What talks discuss caching", "caching", False),
        ("Who spoke about rerankers?", "rerankers", False),
        ("who else mentions the KV cache", "the KV cache", False),
        ("In which talks is the KV cache mentioned?", "the KV cache", False),
        ("In which episodes do they talk about fees?", "fees", False),
        ("Which speakers talked about refusals in their talks?", "refusals in their talks", False),
        ("Does anyone talk about privacy?", "privacy", False),
        ("Do any of the talks mention ecash at all?", "ecash", False),
        ("Are there any talks about ecash?", "ecash", False),
        ("Show me all talks about splicing", "splicing", False),
        ("What did the speakers say about refusals?", "refusals", False),
        ("What do the two talks say about retries?", "retries", False),
        ("Compare what the talks say about caching", "caching", False),
        ("How do the speakers differ on rerankers?", "rerankers", False),
        ("Where is FROST discussed?", "FROST", False),
        ("How did opinions on speculative decoding change over time?", "speculative decoding", True),
        ("How have views on covenants changed?", "covenants", True),
        ("How has Bitcoin Core changed over the years?", "Bitcoin Core", True),
        ("What changed over time about silent payments?", "silent payments", True),
        ("store KV cache: which talks mention it?", "store KV cache", False),
    ],
)
def test_questions_for_the_talks_that_mention_something(question: str, topic: str, by_date: bool) -> None:
    assert broad(question) == Mentions(topic, by_date)


@pytest.mark.parametrize(
    "question",
    [
        "", "?", "Summarize the discussion about the price of the remote control",
        "What are the main points about caching?",
        "Summarise what Marit said about caches", "Give me an overview of retrieval", "What was said about the queue?",
        "What are the key lessons from the stampede?", "What is the KV cache about?", "Outline the plan for Monday",
        "What is the talk about giraffes about?", "Which talks mention it?", "Who else talked about that?",
        "Who talks?", "How did the time to first token change?", "What did Tobias change after that?",
        "What is retrieval?", "What is this talk saying about caching?", "How many talks mention caching?",
        "Summarise Ines",
    ],
)  # fmt: skip
def test_other_questions_are_searched_like_any_other(question: str) -> None:
    asked = broad(question)
    assert asked is None or (isinstance(asked, WholeTalk) and named(asked, TALKS) == [])


def test_no_question_of_the_sample_set_is_taken_for_a_broad_one() -> None:
    lines = (ROOT / "eval" / "data" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [question for line in lines if broad(question := json.loads(line)["question"])] == []


@pytest.mark.parametrize("question", ["summarise " * 300, "which talks mention " + "a b " * 2000, "the main " * 1000])
def test_long_questions_take_no_time(question: str) -> None:
    broad(question)  # a pattern that tries every way to split them would not come back
