import pytest

from eval.measures.cost import percentiles
from eval.measures.facts import nugget_recall, nuggets
from eval.measures.grounding import ungrounded
from eval.measures.words import content_words, names, numbers


def test_numbers_in_digits_and_words() -> None:
    assert numbers("1,000 GPUs, 2.7 times, three nodes and one idea") == {"1000", "2.7", "3"}
    assert numbers("version v2 of M3") == frozenset()
    assert numbers("in 2024, then") == {"2024"}


def test_names_are_capitals_inside_a_sentence_and_acronyms_anywhere() -> None:
    assert names("Caching helps. Then Dan met vLLM's team. KV wins.") == {"Dan", "vLLM", "KV"}
    assert names("I think I'm right.") == frozenset()


def test_content_words_are_stemmed_and_free_of_function_words() -> None:
    assert content_words("The caches are growing") == content_words("a cache grows")


def test_nuggets_are_clauses() -> None:
    assert nuggets("Paging cut cost by 2.5 times; it works, and they evict pages.") == [
        "Paging cut cost by 2.5 times",
        "it works",
        "they evict pages",
    ]


def test_a_nugget_needs_its_numbers() -> None:
    assert nugget_recall("The cache grows to 12 gigabytes.", "Caches grow to gigabytes.") == 0
    assert nugget_recall("The cache grows to 12 gigabytes.", "Their cache grew: it grows to twelve gigabytes") == 1


def test_half_of_the_facts() -> None:
    assert nugget_recall("They evict pages; cost fell by half.", "Old pages are evicted.") == 0.5


def test_no_reference_no_measure() -> None:
    assert nugget_recall("", "anything") is None
    assert nugget_recall("Yes.", "anything") is None


def test_refusal_states_no_fact() -> None:
    assert nugget_recall("They evict pages.", "") == 0


def test_ungrounded_finds_changed_numbers_and_new_names() -> None:
    evidence = ["We serve 40 models at Example Labs.", "Ada"]
    assert ungrounded("They serve 40 models at Example Labs, says Ada.", evidence) == []
    assert ungrounded("They serve 400 models at Acme Labs.", evidence) == ["400", "Acme"]


def test_a_name_inside_another_word_is_not_held() -> None:
    assert ungrounded("It was Dan.", ["We dance."]) == ["Dan"]


def test_spelt_and_written_numbers_are_the_same() -> None:
    assert ungrounded("They serve 40 models.", ["We serve forty models."]) == []


def test_percentiles_by_step() -> None:
    rows = [{"search": 10.0}, {"search": 20.0, "model": 5.0}, {"search": 30.0}]
    found = percentiles(rows)
    assert found["search"] == {"p50": 20.0, "p95": 29.0, "n": 3.0}
    assert found["model"] == {"p50": 5.0, "p95": 5.0, "n": 1.0}
    assert percentiles([]) == {}


@pytest.mark.parametrize("text", ["", " ", "…", "\u0000\u202e", "((("])
def test_awkward_texts_have_nothing(text: str) -> None:
    assert (content_words(text), numbers(text), names(text), nuggets(text)) == (
        frozenset(),
        frozenset(),
        frozenset(),
        [],
    )
