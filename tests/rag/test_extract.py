from rag.extract import quotes
from rag.types import Claim, CueRef
from tests.fakes import WordEmbedder
from tests.rag.scripted import hit, talk

T1 = talk("t1")


def texts(claims: list[Claim]) -> list[str]:
    return [claim.text for claim in claims]


def test_the_sentence_that_answers_is_quoted_word_for_word() -> None:
    (quote,) = quotes("gigabytes per server", [hit(T1, 3, 4)], WordEmbedder())
    assert quote == Claim("It holds 40 gigabytes per server.", (CueRef("t1", 4),))


def test_a_question_on_stage_is_followed_by_its_answer() -> None:
    (quote,) = quotes("How do you deal with a cache that keeps on growing?", [hit(T1, 1, 1)], WordEmbedder())
    assert quote.cues == (CueRef("t1", 1), CueRef("t1", 2), CueRef("t1", 3))


def test_quotes_are_cut_at_sentence_ends() -> None:
    broken = talk("t1", ("Hello there.", "We keep the big", "cache in memory", "and on disk.", "Lunch is at noon."))
    (quote,) = quotes("cache in memory", [hit(broken, 2, 2)], WordEmbedder())
    assert quote.text == "We keep the big cache in memory and on disk."


def test_time_order_within_a_talk_the_best_talk_first() -> None:
    other = talk("t2", ("The cache holds much.", "Nothing else.", "The cache holds."))
    hits = [hit(T1, 2, 2), hit(other, 2, 2), hit(other, 0, 0)]
    found = quotes("the cache holds", hits, WordEmbedder())
    assert found[0].cues[0].talk_id == "t2"
    positions = [claim.cues[0].position for claim in found if claim.cues[0].talk_id == "t2"]
    assert positions == sorted(positions)


def test_the_same_words_are_quoted_once() -> None:
    repeated = talk("t1", ("The cache is big.", "Nothing else.", "The cache is big."))
    assert texts(quotes("cache is big", [hit(repeated, 0, 0), hit(repeated, 2, 2)], WordEmbedder())) == [
        "The cache is big."
    ]


def test_at_most_five_quotes_and_none_without_hits() -> None:
    many = talk(
        "t1", tuple(f"The cache has part {word}." for word in "one two three four five six seven eight".split())
    )
    assert 1 <= len(quotes("cache part", [hit(many, n, n) for n in range(8)], WordEmbedder())) <= 5
    assert quotes("cache", [], WordEmbedder()) == []


def test_sound_labels_are_left_out() -> None:
    noisy = talk("t1", ("We store the cache", "[applause]", "in host memory."))
    (quote,) = quotes("store the cache", [hit(noisy, 0, 0)], WordEmbedder())
    assert quote == Claim("We store the cache in host memory.", (CueRef("t1", 0), CueRef("t1", 2)))
