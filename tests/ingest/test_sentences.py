from hypothesis import given
from hypothesis import strategies as st

from ingest.sentences import MAX_MS, MAX_WORDS, is_own_cutting, to_cues
from ingest.types import Caption, Reading, WordTime
from rag.types import Cue


def cues(*captions: Caption, language: str = "en") -> list[Cue]:
    return to_cues(Reading(captions), language)


def plain(found: list[Cue]) -> list[tuple[str, int, int, str]]:
    return [(cue.id, cue.start_ms, cue.end_ms, cue.text) for cue in found]


def test_lines_are_joined_and_cut_at_sentence_ends() -> None:
    found = cues(
        Caption("1", 0, 1000, "Hello there. We"),
        Caption("2", 1000, 2000, "meet Mr. Smith at"),
        Caption("3", 2000, 3000, "3.5 p.m. today."),
    )
    assert plain(found) == [("s1", 0, 812, "Hello there."), ("s2", 812, 3000, "We meet Mr. Smith at 3.5 p.m. today.")]


def test_word_times_win_over_interpolation() -> None:
    words = (WordTime(100, 300), WordTime(700, 800), None)
    assert plain(cues(Caption(None, 0, 1000, "Yes. No way.", words=words))) == [
        ("s1", 100, 300, "Yes."),
        ("s2", 700, 1000, "No way."),
    ]


def test_one_wrong_word_time_shifts_nothing_else() -> None:
    words = (WordTime(5000, 5300), WordTime(1300, 1500), WordTime(2000, 9000))
    found = cues(Caption(None, 1000, 3000, "One. Two. Three.", words=words), Caption(None, 3000, 4000, "Four."))
    assert [(cue.text, cue.start_ms, cue.end_ms) for cue in found] == [
        ("One.", 1000, 1300),
        ("Two.", 1300, 1500),
        ("Three.", 2000, 3000),
        ("Four.", 3000, 4000),
    ]
    backwards = (WordTime(1100, 1200), WordTime(2500, 2600), WordTime(1500, 1600), WordTime(2000, 2100))
    found = cues(Caption(None, 1000, 3000, "One. Two. Yes. Go.", words=backwards))
    assert [cue.start_ms for cue in found] == [1100, 1300, 1500, 2000]


def test_own_cutting_is_kept() -> None:
    captions = (Caption("s1", 0, 1000, "One. Two"), Caption("s2", 1000, 2000, "and three"))
    assert plain(cues(*captions)) == [("s1", 0, 1000, "One. Two"), ("s2", 1000, 2000, "and three")]


def test_what_counts_as_own_cutting() -> None:
    def reading(*ids: str | None, dropped: tuple[str, ...] = ()) -> Reading:
        captions = [Caption(identifier, n, n, "x") for n, identifier in enumerate(ids)]
        return Reading(tuple(captions), dropped_ids=dropped)

    assert is_own_cutting(reading("s1", "s2", "s3"))
    assert is_own_cutting(reading("s1", "s3", "s6", dropped=("s2", "s4", "s5")))
    for ids in (["s2", "s3"], ["s1", "s3"], ["s1", "s1"], ["s2", "s1"], ["1", "2"], ["s1", None], ["S1"], ["s01"], []):
        assert not is_own_cutting(reading(*ids))


def test_speakers_labels_marks_and_silence_end_a_sentence() -> None:
    found = cues(
        Caption("1", 0, 1000, "and so we", "Ada"),
        Caption("2", 1000, 2000, "go on", "Bo"),
        Caption("3", 2000, 3000, "[Music] again >> no >> yes [applause]", "Bo"),
        Caption("4", 30_000, 31_000, "later.", "Bo"),
        Caption("5", 31_000, 32_000, "(door closes)", "Bo"),
    )
    assert [(cue.text, cue.speaker) for cue in found] == [
        ("and so we", "Ada"),
        ("go on", "Bo"),
        ("[Music]", "Bo"),
        ("again", "Bo"),
        (">> no", "Bo"),
        (">> yes", "Bo"),
        ("[applause]", "Bo"),
        ("later.", "Bo"),
        ("(door closes)", "Bo"),
    ]
    assert [cue.is_sound_label for cue in found] == [False] * 2 + [True] + [False] * 3 + [True, False, True]


def test_brackets_that_stand_for_words_stay_in_their_sentence() -> None:
    found = cues(Caption(None, 0, 1000, "He said [inaudible]"), Caption(None, 1000, 2000, "[ __ ] and left."))
    assert [cue.text for cue in found] == ["He said [inaudible] [ __ ] and left."]


def test_text_without_punctuation_is_cut_at_pauses() -> None:
    found = cues(
        Caption(None, 0, 2000, "we start with the cache"),
        Caption(None, 3500, 5000, "then we look at"),
        Caption(None, 5010, 6000, "the disk"),
    )
    assert plain(found) == [("s1", 0, 2000, "we start with the cache"), ("s2", 3500, 6000, "then we look at the disk")]


def test_scripts_without_blanks_are_cut_inside_a_caption() -> None:
    found = cues(Caption(None, 0, 1000, "今日は晴れ。明日は雨。"), language="ja")
    assert plain(found) == [("s1", 0, 545, "今日は晴れ。"), ("s2", 545, 1000, "明日は雨。")]


def test_a_long_text_without_blanks_is_cut_alike_throughout() -> None:
    found = cues(Caption(None, 0, 100_000, "「はい。」そう。" * 2000))
    assert len(found) == 4000
    assert {cue.text for cue in found} == {"「はい。」", "そう。"}
    assert [cue.start_ms for cue in found[-2:]] == [99_950, 99_981]


def test_links_and_markup_are_no_sentence_ends() -> None:
    found = cues(Caption(None, 0, 1000, "See ![x](http://a.b/c?d=e) now. Done."))
    assert [cue.text for cue in found] == ["See ![x](http://a.b/c?d=e) now.", "Done."]


def test_interpolation_stops_where_the_next_caption_starts() -> None:
    found = cues(Caption(None, 0, 4000, "One two. Three"), Caption(None, 3600, 8000, "four. Five."))
    assert [(cue.text, cue.start_ms) for cue in found] == [("One two.", 0), ("Three four.", 2160), ("Five.", 5800)]


WORDS = st.text("ab.!?>[]… あ。", min_size=1, max_size=8).map(lambda text: "".join(text.split())).filter(bool)


@st.composite
def captions(draw: st.DrawFn) -> list[Caption]:
    found = []
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, 60_000))
        words = draw(st.lists(WORDS, min_size=1, max_size=60))
        end = start + draw(st.integers(0, 30_000))
        timed = draw(st.booleans())
        times = [draw(st.none() | st.integers(start, end + 10)) for _ in words] if timed else []
        found.append(
            Caption(
                draw(st.none() | st.sampled_from(["s1", "s2", "1"])),
                start,
                end,
                " ".join(words),
                draw(st.sampled_from(["", "", "Ada"])),
                words=tuple(None if time is None else WordTime(time, time + 5) for time in times),
            )
        )
    return found


@given(captions())
def test_no_word_is_lost_and_time_never_runs_back(found: list[Caption]) -> None:
    made = to_cues(Reading(tuple(found)), "en")
    ordered = sorted(found, key=lambda caption: caption.start_ms)
    assert "".join("".join(cue.text.split()) for cue in made) == "".join("".join(c.text.split()) for c in ordered)
    starts = [cue.start_ms for cue in made]
    assert starts == sorted(starts)
    assert len({cue.id for cue in made}) == len(made)
    assert to_cues(Reading(tuple(found)), "en") == made


@given(captions())
def test_no_cue_is_too_long_to_take_in(found: list[Caption]) -> None:
    for cue in to_cues(Reading(tuple(found)), "en"):
        words = len(cue.text.split())
        assert words <= 2 * MAX_WORDS
        assert words == 1 or cue.end_ms - cue.start_ms <= max(2 * MAX_MS, 30_000)
