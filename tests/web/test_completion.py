"""The text of a chat completion: exact text and link places, growth, withdrawal, hostile captions, and its way back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rag.settings import Settings
from rag.types import Answer, CheckedClaim, Citation
from rag.web.completion import CompletionText, plain
from rag.wire import Wire
from tests.web.fake_engine import growing, quoting, refusing, talk_of

TALK = talk_of("Zero.", "One.", "Two.", "Three.", talk_id="a", title="T\n*1*", speakers=["Ada"], media="/x/y.mp3")
AT_1, AT_3 = "http://h/?talk=a&t=2#s2", "http://h/?talk=a&t=6#s4"
SOURCE_1 = f"[T \\*1\\*, 0:02]({AT_1}) (Ada): “One.”"


def text_of(*snapshots: Answer) -> tuple[CompletionText, list[str]]:
    """The text after these snapshots, and what each of them added."""
    text = CompletionText(Wire(Settings(public_url="http://h")))
    return text, [text.grow(snapshot) for snapshot in snapshots]


def test_claims_then_sources() -> None:
    written = replace(
        quoting(TALK, 1, 3),
        claims=(
            CheckedClaim("It is _one_.", (1, 2), "weak"),
            CheckedClaim("No one knows.", (), "unsupported"),
            CheckedClaim("Three.", (2,), "supported"),
        ),
        missing="the price",
        notice="The answer may be incomplete: it reached the length limit.",
    )
    text, (added,) = text_of(written)
    assert (
        added
        == text.text
        == (
            f"It is \\_one\\_. [1]({AT_1}) [2]({AT_3}) *(weak support)*\n\n"
            "No one knows. *(not backed by the talks)*\n\n"
            f"Three. [2]({AT_3})\n\n"
            "Not covered: the price\n\n"
            "Note: The answer may be incomplete: it reached the length limit.\n\n"
            "Sources:\n\n"
            f"1. {SOURCE_1}\n"
            f"2. [T \\*1\\*, 0:06]({AT_3}) (Ada): “Three.”"
        )
    )
    assert text.annotations == [
        {"type": "url_citation", "url_citation": {"start_index": start, "end_index": end, "url": url, "title": title}}
        for start, end, url, title in (
            (15, 43, AT_1, "T *1*, 0:02"), (44, 72, AT_3, "T *1*, 0:06"), (141, 169, AT_3, "T *1*, 0:06"),
        )
    ]  # fmt: skip


def test_a_refusal_names_the_nearest_moments_and_cites_nothing() -> None:
    text, _ = text_of(replace(refusing((TALK, 1)), missing="football"))
    assert text.text == (
        "The talks don't cover this (3 searched).\n\nNot covered: football\n\nNearest moments:\n\n- " + SOURCE_1
    )
    assert text.annotations == []


def test_a_claim_is_told_when_it_is_checked() -> None:
    whole = quoting(TALK, 1, 3)
    unchecked = replace(whole, claims=(whole.claims[0], CheckedClaim("Three.", (2,), None)), done=False)
    first, second, *_ = growing(whole)
    text, added = text_of(first, second, unchecked, unchecked, whole)
    assert added[:4] == ["", f"One. [1]({AT_1})", "", ""]
    assert added[4].startswith(f"\n\nThree. [2]({AT_3})\n\nSources:\n\n1. ")
    assert "".join(added) == text.text == text_of(whole)[0].text


def test_what_is_not_backed_waits_for_a_claim_that_holds() -> None:
    doubtful = CheckedClaim("No one knows.", (), "unsupported")
    alone = Answer("", "", claims=(doubtful,))
    after = replace(quoting(TALK, 1), claims=(doubtful, CheckedClaim("One.", (1,), "supported")), done=False)
    text, added = text_of(alone, after)
    assert added == ["", f"No one knows. *(not backed by the talks)*\n\nOne. [1]({AT_1})"]
    # Quotes that take the place of a claim that nobody saw are told as if there had been none.
    text, added = text_of(alone, quoting(TALK, 1))
    assert text.text == text_of(quoting(TALK, 1))[0].text


@pytest.mark.parametrize("instead", [quoting(TALK, 3), refusing((TALK, 3))], ids=["quotes", "refusal"])
def test_an_answer_that_turns_out_otherwise_withdraws_what_was_said(instead: Answer) -> None:
    told = replace(quoting(TALK, 1), done=False)
    text, added = text_of(told, replace(instead, done=False), instead)
    assert added[:2] == [f"One. [1]({AT_1})", ""]
    alone = text_of(instead)[0]
    begun = f"One. [1]({AT_1})\n\n*The sentences above are withdrawn. What the talks answer is this:*\n\n"
    assert text.text == "".join(added) == begun + alone.text
    assert [text.text[found["start_index"] : found["end_index"]] for found in links(text)] == [
        alone.text[found["start_index"] : found["end_index"]] for found in links(alone)
    ]


def links(text: CompletionText) -> list[dict[str, int]]:
    return [dict(annotation["url_citation"]) for annotation in text.annotations]  # type: ignore[arg-type]


HOSTILE = st.text(alphabet=st.sampled_from("ab1 .)(#+-=>*_`~[]<>!|&\\$\n\t:/;@é😀"), min_size=1, max_size=30).filter(
    str.strip
)


@given(said=HOSTILE, title=HOSTILE, media=HOSTILE, mark=st.sampled_from(["supported", "weak", "unsupported"]))
def test_captions_add_no_links_and_places_are_exact(said: str, title: str, media: str, mark: str) -> None:
    """Whatever talks and addresses hold, the links are ours, and each annotation is the place of one."""
    address = f"https://www.youtube.com/{media}?v=VIDEOID11ch"
    talk = talk_of("Zero.", said, talk_id=title, title=title, speakers=[said], event=title, media=address)
    cited = Citation(1, talk, 1, 1)
    claims = (CheckedClaim(said, (1,), mark), CheckedClaim("Two.", (1,), "supported"))  # type: ignore[arg-type]
    text, _ = text_of(Answer("", "", claims=claims, citations=(cited,), missing=said, notice=title, done=True))
    tokens = [token for block in MarkdownIt("commonmark").parse(text.text) for token in block.children or []]
    hrefs = [token.attrs["href"] for token in tokens if token.type == "link_open"]
    assert len(hrefs) == 3
    assert len(set(hrefs)) == 1
    assert not [token for token in tokens if token.type in ("image", "html_inline", "code_inline")]
    assert len(text.annotations) == 2
    for found in links(text):
        assert text.text[found["start_index"] : found["end_index"]] == f"[1]({found['url']})"


@given(st.lists(HOSTILE, min_size=1, max_size=3, unique=True))
def test_an_earlier_answer_is_read_as_it_was_said(said: list[str]) -> None:
    """Clients send our own text back as history."""
    talk = talk_of("Zero.", "One.", talk_id="a")
    claims = tuple(CheckedClaim(" ".join(text.split()), (1,), "supported") for text in said)
    whole = replace(quoting(talk, 1), claims=claims, notice="x", missing="")
    assert plain(text_of(whole)[0].text) == whole.text


def test_other_texts_stay_as_they_are() -> None:
    assert plain("A model said: 3 * 4 [sic].\n\nMore.") == "A model said: 3 * 4 [sic]. More."
    assert plain("") == ""
