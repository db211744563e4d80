from ingest.speakers import with_prefixed_speakers
from ingest.types import Caption, WordTime


def spoken(*texts: str) -> list[tuple[str, str]]:
    captions = [Caption(None, n, n + 1, text) for n, text in enumerate(texts)]
    return [(caption.speaker, caption.text) for caption in with_prefixed_speakers(captions)]


def test_names_in_front_of_most_captions() -> None:
    assert spoken("Ada Q: Hi: there.", "kwame (he/him): Yes.", "Ada Q: One rule: be kind.", "See https://x.org/a") == [
        ("Ada Q", "Hi: there."),
        ("kwame (he/him)", "Yes."),
        ("Ada Q", "One rule: be kind."),
        ("", "See https://x.org/a"),
    ]


def test_names_with_abbreviations_and_other_scripts() -> None:
    assert spoken("Raj P. (Contoso): a", "Łukasz: b", "Łukasz: c") == [
        ("Raj P. (Contoso)", "a"),
        ("Łukasz", "b"),
        ("Łukasz", "c"),
    ]


def test_what_is_no_name_stays_in_the_text() -> None:
    for texts in (
        ("One rule: be kind.", "Be here.", "Assistant: cite it."),  # too few
        ("Note: a", "Warning: b"),  # labels that never come back
        ("I said. Then: no", "I said. Then: no"),  # a sentence
        ("a b c d e f g: x", "a b c d e f g: x"),  # too many words
        ("10: x", "10: x"),
    ):
        assert spoken(*texts) == [("", text) for text in texts]


def test_what_is_said_once_before_a_colon_is_no_speaker_in_a_file_with_names() -> None:
    assert spoken("Ada Q: Hi.", "Okay so: one thing.", "Ada Q: Yes.", "Vincent van Gogh: No.", "kwame: Ok.") == [
        ("Ada Q", "Hi."),
        ("", "Okay so: one thing."),
        ("Ada Q", "Yes."),
        ("Vincent van Gogh", "No."),
        ("kwame", "Ok."),
    ]


def test_voice_tags_rule_out_prefixes() -> None:
    captions = [Caption(None, 0, 1, "Bo: a", "Ada"), Caption(None, 1, 2, "Bo: b")]
    assert with_prefixed_speakers(captions) == tuple(captions)


def test_word_times_follow_the_words() -> None:
    times = (WordTime(0, 1), WordTime(1, 2), WordTime(2, 3))
    [first, _] = with_prefixed_speakers(
        [Caption(None, 0, 3, "Ada Q: hi", words=times), Caption(None, 3, 4, "Ada Q: yo")]
    )
    assert (first.text, first.words) == ("hi", (WordTime(2, 3),))


def test_a_speaker_who_takes_over_inside_a_caption_starts_a_new_one() -> None:
    first = Caption("1", 0, 6000, "Ada Q: Is it on? Bo: It is. Ada Q: Good.")
    second = Caption("2", 6000, 9000, "Bo: I told Ada Q: one thing: wait.")
    others = [Caption("3", 9000, 9500, "Ada Q: Oh."), Caption("4", 9500, 9900, "Bo: Yes.")]
    turns = with_prefixed_speakers([first, second, *others])[:-2]
    assert [(turn.speaker, turn.text) for turn in turns] == [
        ("Ada Q", "Is it on?"),
        ("Bo", "It is."),
        ("Ada Q", "Good."),
        ("Bo", "I told Ada Q: one thing: wait."),
    ]
    assert [turn.start_ms for turn in turns] == [0, 2471, 4941, 6000]
    assert [turn.end_ms for turn in turns] == [1765, 3706, 6000, 9000]
    assert (
        with_prefixed_speakers([first, second, *others], keeps_cutting=True)[0].text
        == "Is it on? Bo: It is. Ada Q: Good."
    )


def test_word_times_go_with_their_speaker() -> None:
    times = tuple(WordTime(n * 1000, n * 1000 + 900) for n in range(5))
    caption = Caption(None, 0, 5000, "Ada: Yes. Bo: No. Ada:", words=times)
    turns = with_prefixed_speakers(
        [caption, *(Caption(None, 5000, 6000, f"{name}: So.") for name in ("Ada", "Bo", "Bo"))]
    )
    assert [(turn.speaker, turn.text, turn.start_ms, turn.words) for turn in turns[:2]] == [
        ("Ada", "Yes.", 0, times[1:2]),
        ("Bo", "No. Ada:", 3000, times[3:5]),
    ]
