import json
from typing import Any

import pytest

from rag.answer import ask
from rag.errors import LLMError
from rag.llm import ContextTooLong, Delta, SchemaNotTaken
from rag.types import Answer, Evidence, Turn
from tests.fakes import WordEmbedder
from tests.rag.scripted import ScriptedLLM, evidence, hit, talk

T1 = talk("t1")
T2 = talk("t2", ("Our cache is a big database.", "It holds 80 gigabytes per server."), title="Databases")
QUESTION = "Where do you store the cache?"


def reply(*claims: tuple[list[str], str], covered: bool = True, missing: str = "") -> str:
    listed = [{"cues": cues, "text": text} for cues, text in claims]
    return json.dumps({"covered": covered, "claims": listed, "missing": missing})


def snapshots(llm: ScriptedLLM | None, found: Evidence, question: str = QUESTION, **options: Any) -> list[Answer]:
    return list(ask(question, retrieve=lambda _: found, embedder=WordEmbedder(), llm=llm, **options))


def last(llm: ScriptedLLM | None, found: Evidence, question: str = QUESTION, **options: Any) -> Answer:
    return snapshots(llm, found, question, **options)[-1]


FOUND = evidence(hit(T1, 2, 5))
STORED = "They store the cache in host memory and on disk."


def test_claims_appear_as_they_complete_first_unchecked_then_checked() -> None:
    text = reply((["s4"], STORED), (["s5"], "It holds 40 gigabytes per server."))
    seen = snapshots(ScriptedLLM([list(text)]), FOUND)
    growth = list(dict.fromkeys(tuple((claim.text, claim.support) for claim in answer.claims) for answer in seen))
    assert growth == [
        (),
        ((STORED, None),),
        ((STORED, "supported"),),
        ((STORED, "supported"), ("It holds 40 gigabytes per server.", None)),
        ((STORED, "supported"), ("It holds 40 gigabytes per server.", "supported")),
    ]
    assert [answer.done for answer in seen] == [False] * (len(seen) - 1) + [True]
    assert all(answer.hits == FOUND.hits for answer in seen)
    assert [(c.n, c.talk.id, c.first, c.last) for c in seen[-1].citations] == [(1, "t1", 3, 3), (2, "t1", 4, 4)]
    assert seen[-1].answered_by == "scripted"
    assert not seen[-1].abstained
    assert {"search", "first_claim", "total"} <= seen[-1].timings_ms.keys()


def test_marks_are_read_where_the_server_takes_no_schema() -> None:
    llm = ScriptedLLM(
        [[SchemaNotTaken("no")], [f"{STORED[:-1]} [s4][s99]. It holds 40 giga", "bytes per server [s5]."]]
    )
    answer = last(llm, FOUND)
    assert [claim.text for claim in answer.claims] == [STORED, "It holds 40 gigabytes per server."]
    assert [claim.citations for claim in answer.claims] == [(1,), (2,)]
    assert (llm.asked[0][1] is not None, llm.asked[1][1]) == (True, None)


def test_ids_of_talks_that_share_all_ids_never_get_mixed_up() -> None:
    found = evidence(hit(T2, 0, 1), hit(T1, 3, 4))
    text = reply(
        (["s2"], "It holds 80 gigabytes per server."), (["s7"], "It holds 40 gigabytes per server."),
        (["s7", "s2", "s1"], "Our big database holds 40 and 80 gigabytes per server."),
    )  # fmt: skip
    answer = last(ScriptedLLM([[text]]), found)
    where = {c.n: (c.talk.id, c.first, c.last) for c in answer.citations}
    assert where == {1: ("t2", 1, 1), 2: ("t1", 4, 4), 3: ("t2", 0, 1)}
    assert [claim.citations for claim in answer.claims] == [(1,), (2,), (2, 3)]


ALL_OF_IT = (
    "Welcome everyone to the stage: the cache, like a file system in host memory, holds 40 gigabytes per server."
)


def test_distinct_moments_of_one_talk_stay_several() -> None:
    answer = last(ScriptedLLM([[reply((["s5", "s3", "s4", "s1"], ALL_OF_IT))]]), FOUND)
    assert [(c.first, c.last) for c in answer.citations] == [(0, 0), (2, 4)]


def test_invented_ids_reach_nobody() -> None:
    answer = last(ScriptedLLM([[reply((["s99", "s0"], STORED))]]), FOUND)
    assert [(claim.support, claim.citations) for claim in answer.claims] == [("weak", (1,))]  # the best cue there is
    assert [(c.first, c.last) for c in answer.citations] == [(3, 3)]


def test_only_what_the_checked_claims_cite_is_a_source() -> None:
    llm = ScriptedLLM([[reply((["s4"], STORED), (["s3"], "It holds 40 gigabytes per server."))]])
    answer = last(llm, evidence(hit(T1, 2, 5)))
    assert [(claim.citations, claim.support) for claim in answer.claims] == [((1,), "supported"), ((2,), "supported")]
    assert [(citation.n, citation.first, citation.last) for citation in answer.citations] == [(1, 3, 3), (2, 4, 4)]


def test_a_claim_that_nothing_supports_is_marked_beside_those_that_hold() -> None:
    text = reply((["s4"], STORED), ([], "Paris is a town in France."), (["s5"], "It holds 90 gigabytes per server."))
    answer = last(ScriptedLLM([[text]]), FOUND)
    assert [claim.support for claim in answer.claims] == ["supported", "unsupported", "unsupported"]
    assert answer.claims[1].citations == ()


def test_a_claim_that_asks_the_question_again_is_none() -> None:
    again = (["s4"], "You store the cache where?")
    assert [c.text for c in last(ScriptedLLM([[reply(again, (["s4"], STORED))]]), FOUND).claims] == [STORED]
    seen = snapshots(ScriptedLLM([[reply((["s4"], "You store the cache."))]]), FOUND)
    assert seen[-1].notice == "Quotes instead of a written answer: scripted only repeated the question."
    assert {claim.text for answer in seen[:-1] for claim in answer.claims} <= {c.text for c in seen[-1].claims}


def test_a_refusal_shows_the_nearest_moments_and_no_citation() -> None:
    answer = last(ScriptedLLM([[reply(covered=False, missing="The price.")]]), evidence(hit(T1, 2, 5), confidence=0.4))
    assert (answer.abstained, answer.claims, answer.citations, answer.missing) == (True, (), (), "The price.")
    assert answer.nearest == (hit(T1, 2, 5),)
    assert answer.answered_by == "scripted"


@pytest.mark.parametrize(
    "text",
    ["NOT COVERED", "I could not find that in the talks.", reply((["s1"], "The talk does not mention the price."))],
)
def test_refusals_in_other_words(text: str) -> None:
    answer = last(ScriptedLLM([[text]]), evidence(hit(T1, 2, 5), confidence=0.4))
    assert (answer.abstained, answer.claims, answer.citations) == (True, (), ())


def test_quotes_are_shown_when_the_model_declines_against_strong_evidence() -> None:
    answer = last(ScriptedLLM([[reply(covered=False)]]), evidence(hit(T1, 2, 5), confidence=0.95))
    assert (answer.abstained, answer.answered_by) == (False, "quotes")
    assert answer.notice == "scripted found no answer; these quotes come closest."


def test_a_number_that_the_model_does_not_find_is_not_sought_in_quotes() -> None:
    llm = ScriptedLLM([[reply(covered=False, missing="The number.")]])
    answer = last(llm, evidence(hit(T1, 2, 5), confidence=0.95), question="How many servers are there?")
    assert (answer.abstained, answer.missing, answer.citations) == (True, "The number.", ())


def test_a_partial_answer_says_what_is_missing() -> None:
    text = reply((["s4"], STORED), (["s4"], "The price is not mentioned."))
    assert last(ScriptedLLM([[text]]), FOUND).missing == "The price is not mentioned."
    text = reply((["s4"], STORED), missing="The price.")
    assert last(ScriptedLLM([[text]]), FOUND).missing == "The price."


@pytest.mark.parametrize(
    ("script", "notice"),
    [
        ([LLMError("the server is down")], "Quotes instead of a written answer: the server is down."),
        (["{broken", LLMError("it broke off")], "Quotes instead of a written answer: it broke off."),
        (["{broken"], "Quotes instead of a written answer: scripted sent no readable answer."),
        (["<html>Hi</html>"], "Quotes instead of a written answer: scripted sent no readable answer."),
        ([""], "Quotes instead of a written answer: scripted sent no readable answer."),
        ([], "Quotes instead of a written answer: scripted sent an empty answer."),
        (
            ["Bananas are yellow [s1]."],
            "Quotes instead of a written answer: scripted answered with something that the talks do not say.",
        ),
        (
            ["They store the", Delta(cut=True)],
            "Quotes instead of a written answer: scripted was cut off before it said anything.",
        ),
    ],
)
def test_a_failing_model_gives_quotes_and_one_notice(script: list[Any], notice: str) -> None:
    answer = last(ScriptedLLM([script]), FOUND)
    assert (answer.answered_by, answer.notice, answer.abstained) == ("quotes", notice, False)
    assert all(claim.support == "supported" and claim.citations for claim in answer.claims)
    assert answer.claims[0].text == "The cache is like a distributed file system."


def test_claims_that_hold_are_kept_when_the_stream_breaks() -> None:
    answer = last(ScriptedLLM([[f"{STORED[:-1]} [s4]. It ho", LLMError("it broke off")]]), FOUND)
    assert [claim.text for claim in answer.claims] == [STORED]
    assert answer.notice == "The answer may be incomplete: it broke off."
    answer = last(ScriptedLLM([[f"{STORED[:-1]} [s4]. It ho", Delta(cut=True)]]), FOUND)
    assert [claim.text for claim in answer.claims] == [STORED]
    assert answer.notice == "The answer may be incomplete: it reached the length limit."


def test_passages_are_halved_once_when_they_are_too_long() -> None:
    llm = ScriptedLLM([[ContextTooLong("too long")], [reply((["s1"], "The cache is like a distributed file system."))]])
    answer = last(llm, evidence(hit(T1, 2, 5)), budget=100)
    assert answer.answered_by == "scripted"
    assert [len(schema["properties"]["claims"]["items"]["properties"]["cues"]["items"]["enum"])
            for _, schema in llm.asked if schema] == [6, 3]  # fmt: skip
    llm = ScriptedLLM([[ContextTooLong("too long")], [ContextTooLong("still too long")]])
    assert last(llm, FOUND).notice == "Quotes instead of a written answer: still too long."


def test_closing_the_answer_closes_the_models_stream() -> None:
    llm = ScriptedLLM([[""] * 100])
    answers = ask(QUESTION, retrieve=lambda _: FOUND, embedder=WordEmbedder(), llm=llm)
    for _ in range(5):
        next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert llm.closed == 1


def test_no_model_gives_quotes_or_the_refusal() -> None:
    answer = last(None, FOUND, talks_searched=7)
    assert (answer.answered_by, answer.notice, answer.talks_searched, answer.done) == ("quotes", "", 7, True)
    assert answer.claims[0].citations == (1,)
    refused = last(None, evidence(hit(T1, 2, 5), confidence=0.1))
    assert (refused.abstained, refused.claims, refused.nearest) == (True, (), (hit(T1, 2, 5),))
    nothing = last(ScriptedLLM([]), evidence(confidence=0.0))
    assert (nothing.abstained, nothing.nearest) == (True, ())


def test_a_follow_up_is_searched_with_the_words_of_the_question_before() -> None:
    history = [Turn("user", "What is Olive's role?"), Turn("assistant", "She leads research.")]
    searched: list[str] = []

    def retrieve(query: str) -> Evidence:
        searched.append(query)
        return FOUND

    answers = list(ask("And the other guest?", retrieve=retrieve, embedder=WordEmbedder(), history=history))
    assert searched == ["Olive's role: And the other guest?"]
    assert (answers[-1].searched, answers[-1].question) == (searched[0], "And the other guest?")


def test_moments_in_order_are_all_quoted_and_all_read() -> None:
    found = Evidence((hit(T1, 4, 5), hit(T2, 0, 1)), 1.0, in_order=True)
    assert [claim.text for claim in last(None, found).claims] == [
        "It holds 40 gigabytes per server.",
        "Our cache is a big database.",
    ]
    llm = ScriptedLLM([[reply((["s6"], "Our cache is a big database."))]])
    assert [claim.support for claim in last(llm, found, question="Summarise the talks").claims] == ["supported"]
    schema = llm.asked[0][1]
    assert schema is not None
    assert (schema["properties"]["claims"]["minItems"], schema["properties"]["claims"]["maxItems"]) == (1, 2)


LONG = talk("long", [f"Now comes topic{n} with detail{n}." for n in range(60)])
WALK = Evidence(tuple(hit(LONG, at, at + 2) for at in range(0, 60, 10)), 1.0, in_order=True)


def test_a_broad_question_is_read_in_parts_each_of_which_is_told() -> None:
    llm = ScriptedLLM(
        [
            [reply((["s1"], "They tell of topic0 with detail0.")), Delta(usage={"prompt_tokens": 50})],
            [reply((["s1"], "They tell of topic30 with detail30.")), Delta(usage={"prompt_tokens": 70})],
        ]
    )
    answers = list(ask("Summarise this talk", retrieve=lambda _: WALK, embedder=WordEmbedder(), llm=llm))
    assert [(claim.text, claim.citations) for claim in answers[-1].claims] == [
        ("They tell of topic0 with detail0.", (1,)),
        ("They tell of topic30 with detail30.", (2,)),
    ]
    assert [citation.first for citation in answers[-1].citations] == [0, 30]
    assert answers[-1].usage == {"prompt_tokens": 120}
    read = [messages[1]["content"] for messages, _ in llm.asked]
    assert ["topic20 " in text for text in read] == [True, False]
    assert ["topic50 " in text for text in read] == [False, True]
    assert [text.count("part 1 of 2") + 10 * text.count("part 2 of 2") for text in read] == [1, 10]
    # The first part shows before the second is read.
    assert any(len(answer.claims) == 1 and answer.claims[0].support for answer in answers)


@pytest.mark.parametrize("second", [LLMError("the line is dead"), reply(covered=False)])
def test_what_was_told_stays_when_a_later_part_fails(second: LLMError | str) -> None:
    llm = ScriptedLLM([[reply((["s1"], "They tell of topic0 with detail0."))], [second]])
    answer = last(llm, WALK, question="Summarise this talk")
    assert [claim.text for claim in answer.claims] == ["They tell of topic0 with detail0."]
    said = "The answer may be incomplete: the line is dead." if isinstance(second, LLMError) else ""
    assert (answer.notice, answer.missing) == (said, "")


def test_what_declining_cost_is_told() -> None:
    llm = ScriptedLLM([[reply(covered=False), Delta(usage={"prompt_tokens": 50, "completion_tokens": 9})]])
    answer = last(llm, evidence(hit(T1, 0, 1), confidence=0.6))
    assert answer.abstained
    assert answer.usage == {"prompt_tokens": 50, "completion_tokens": 9}
