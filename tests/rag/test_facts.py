import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.facts import missing_facts, names, numbers


def missing(claim: str, text: str, **options: object) -> list[str]:
    return [fact.text for fact in missing_facts(claim, text, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("It took 12 hours.", "tasks that are twelve hours long"),
        ("It costs $5 million.", "about five million dollars"),
        ("It costs 2,000,000 dollars.", "two million bucks"),
        ("It reads 128k tokens.", "128,000 tokens"),
        ("It reads 1.5 billion tokens.", "one point five billion tokens"),
        ("It began in 1995.", "back in nineteen ninety five"),
        ("It came out in 2024.", "in twenty twenty four"),
        ("It grew by 50%.", "it grew by fifty percent"),
        ("One of them is it.", "that is it"),
        ("The KV cache grows.", "deal with the KB cache"),
        ("They use Kimi.", "we use Kimmy"),
        ("They use GLM.", "and JLM too"),
        ("OSWorld is a benchmark.", "the OS world benchmark"),
        ("They run KernelBench.", "kernel bench is run"),
        ("It writes OP_RETURN.", "an OP_RETURN output"),
        ("GPUs are used.", "on a GPU"),
        ("Dan's team does it.", "Dan does it"),
    ],
)
def test_facts_that_are_said(claim: str, text: str) -> None:
    assert missing(claim, text) == []


@pytest.mark.parametrize(
    ("claim", "text", "expected"),
    [
        ("It took 14 hours.", "tasks that are 12 hours long", ["14 hours"]),
        ("It took 12 minutes.", "tasks that are 12 hours long", ["12 minutes"]),
        ("It costs $5.", "it costs 5 euros", ["$5"]),
        ("It took 12 or 12 days.", "12 or 13 days", ["12 days"]),
        ("It costs 6 million dollars.", "five million dollars", ["6 1000000 dollars"]),
        ("It took five days.", "it took six days", ["5 days"]),
        ("They said Alice left.", "They said Dan left", ["Alice"]),
        ("Alice left.", "Dan left", ["Alice"]),
        ("They use M4.", "they use M3", ["M4"]),
        ("They use GPT-5 now.", "they use GPT-4 now", ["GPT-5"]),
        ("It came in March.", "it came in May", ["March"]),
    ],
)
def test_facts_that_are_not_said(claim: str, text: str, expected: list[str]) -> None:
    assert missing(claim, text) == expected


def test_a_name_may_stand_in_the_title_or_among_the_speakers() -> None:
    assert missing("They said Olive Song left.", "she left", known=["Agents - Dan Fu and Olive Song"]) == []


def test_a_word_at_the_start_is_no_name_where_the_talk_writes_it_small() -> None:
    assert names("Profits doubled.") == ["Profits"]
    assert names("Profits doubled. Costs did not.", small_words={"profits", "costs"}) == []
    assert names("We asked Profits.", small_words={"profits"}) == ["Profits"]
    assert names("However, scaling OSWorld in NYC (Dan says) works.") == ["OSWorld", "NYC", "Dan"]


def test_units_of_a_text() -> None:
    assert numbers("It's 32s and 5 GB, 20 %")[1] == {"s", "gb", "%"}


@settings(deadline=None)
@given(st.text(max_size=60))
def test_a_text_never_misses_its_own_facts(text: str) -> None:
    assert missing_facts(text, text) == []
