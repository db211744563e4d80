import pytest

from rag.asked import gives_what_was_asked, only_repeats


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("How many parameters does it have?", "It has 7 billion.", True),
        ("How many parameters does it have?", "It has several parts.", True),
        ("How many parameters does it have?", "M3 is multimodal.", False),
        ("How many parameters does it have?", "Some of those choices were different in M3.", False),
        ("How many parameters does it have?", "One of the reasons is the first one, that one.", False),
        ("How many of them are left?", "Only one.", True),
        ("How many layers does it have?", "We were serving MiniMax 2.5 and I think 2.7 for a while.", False),
        ("How many images were there?", "So, from step zero, we trained image data.", False),
        ("How long does it take?", "We do that on the second day.", False),
        ("How often does it run?", "It runs weekly.", True),
        ("How often does it run?", "It runs on Fridays.", True),
        ("How long does it take?", "It takes an hour.", True),
        ("How old is it?", "It is from the nineties.", True),
        ("How many runs are there?", "It runs on Fridays.", False),
        ("What does a token cost?", "Qwen 3 costs 40 cents.", True),
        ("What score did M3 reach?", "M3 was listed there.", False),
        ("How does it work?", "It is multimodal.", True),
    ],
)
def test_a_question_for_a_number_wants_one(question: str, sentence: str, expected: bool) -> None:
    assert gives_what_was_asked(question, [sentence]) is expected


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("What long-term aim drives the company?", "The long-term aim drives the company.", True),
        ("What long-term aim drives the company?", "Abundant intelligence drives the company.", False),
        ("Where does Ann stress data?", "Ann stresses data.", True),
        ("Why is it slow?", "Have we been improving it?", True),
        ("为什么慢？", "我们改进了吗？", True),
        ("为什么慢？", "因为网络很慢。" * 10, False),
        ("What is a cache?", "Yes.", False),
        ("Does Ann like caches?", "Ann likes caches.", False),
        ("And is it a cache?", "It is a cache.", False),
        ("Who likes caches: Ann or Bob?", "Ann likes caches.", False),
        ("Who says he likes caches?", "Bob says that he likes caches.", False),
    ],
)
def test_a_question_is_not_answered_by_asking_it_again(question: str, sentence: str, expected: bool) -> None:
    assert only_repeats(question, sentence) is expected
