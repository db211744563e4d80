from hypothesis import given
from hypothesis import strategies as st

from ingest.markup import parse_cue_text
from ingest.rolling import Shown, to_captions
from ingest.types import WordTime


def shown(*captions: tuple[int, int, str]) -> list[Shown]:
    return [Shown(None, start, end, parse_cue_text(text)) for start, end, text in captions]


def texts(captions: list[Shown]) -> list[str]:
    return [caption.text for caption in to_captions(captions)[0]]


def test_two_scrolling_lines_with_settling_captions() -> None:
    captions, repeats = to_captions(
        shown(
            (0, 1000, "one<00:00:00.500><c> two</c>"),
            (1000, 1010, "one two"),
            (1010, 2000, "one two\nthree<00:00:01.500><c> four</c>"),
            (2000, 2010, "three four"),
        )
    )
    assert [(c.text, c.start_ms, c.end_ms) for c in captions] == [("one two", 0, 1000), ("three four", 1010, 2000)]
    assert captions[1].words == (WordTime(1010, 1500), WordTime(1500, 2000))
    assert repeats == 3


def test_three_lines_of_broadcast_roll_up() -> None:
    assert texts(
        shown(
            (0, 1000, "GOOD EVENING."),
            (1000, 2000, "GOOD EVENING.\nHERE IS THE NEWS."),
            (2000, 3000, "GOOD EVENING.\nHERE IS THE NEWS.\nRAIN TODAY."),
            (3000, 4000, "HERE IS THE NEWS.\nRAIN TODAY.\nSUN TOMORROW."),
        )
    ) == ["GOOD EVENING.", "HERE IS THE NEWS.", "RAIN TODAY.", "SUN TOMORROW."]


def test_a_line_that_grows_word_by_word() -> None:
    captions, _ = to_captions(
        shown((0, 300, "so"), (300, 700, "so today"), (700, 1500, "so today we"), (1500, 2500, "so today we\ntalk"))
    )
    assert [(c.text, c.start_ms, c.end_ms) for c in captions] == [("so today we", 0, 1500), ("talk", 1500, 2500)]
    assert [time.start_ms for time in captions[0].words if time] == [0, 300, 700]


def test_a_speakers_own_repetition_stays() -> None:
    assert texts(
        shown(
            (0, 1000, "no<00:00:00.500><c> no</c>"),
            (1000, 1010, "no no"),
            (1010, 2000, "no no\nno<00:00:01.500><c> no</c>"),
            (2000, 2010, "no no"),
            (2010, 3000, "no no\nyes<00:00:02.500><c> well</c>"),
            (3000, 3010, "yes well"),
            (3010, 3900, "yes well\nyes<00:00:03.500><c> well</c>"),
        )
    ) == ["no no", "no no", "yes well", "yes well"]


def test_the_same_line_again_without_settling_captions() -> None:
    lines = shown((0, 1000, "a b"), (1000, 2000, "a b\nc d"), (2000, 3000, "c d\nc d"), (3000, 4000, "c d\nc d"))
    assert texts(lines) == ["a b", "c d", "c d", "c d"]


def test_what_comes_back_after_a_cleared_display_was_said_again() -> None:
    lines = shown((0, 1000, "a"), (1000, 2000, "a\nb"), (2000, 3000, "b\nc"), (9000, 10_000, "b\nc"))
    assert texts(lines) == ["a", "b", "c", "b c"]


def test_hand_made_captions_are_left_alone() -> None:
    for lines in (
        [(0, 1000, "Yeah."), (1000, 2000, "Yeah."), (2000, 3000, "Yeah, we are.")],
        [(0, 1000, "- Hey!\n- Hey!"), (1000, 2000, "- Hey!\n- What?"), (2000, 3000, "- Go."), (3000, 4000, "- Now.")],
        [(n, n + 1000, "Hey!") for n in range(0, 9000, 1000)],
    ):
        assert texts(shown(*lines)) == [text.replace("\n", " ") for _, _, text in lines]


WORDS = st.lists(st.sampled_from("a b c no yes".split()), min_size=2, max_size=5)


@given(st.lists(WORDS, min_size=3, max_size=12))
def test_every_spoken_word_comes_out_once(lines: list[list[str]]) -> None:
    """The layout of YouTube's automatic captions, whatever is said in it."""
    captions = []
    for number, words in enumerate(lines):
        start = 2000 * number
        timed = words[0] + "".join(
            f"<00:00:{(start + 100 * n) // 1000:02}.{(start + 100 * n) % 1000:03}><c> {word}</c>"
            for n, word in enumerate(words[1:], start=1)
        )
        above = " ".join(lines[number - 1]) if number else " "
        captions.append((start, start + 1990, f"{above}\n{timed}"))
        captions.append((start + 1990, start + 2000, f"{' '.join(words)}\n "))
    assert texts(shown(*captions)) == [" ".join(words) for words in lines]
