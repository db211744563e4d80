import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.claims import MAX_REPLY, ClaimReader, Draft, denies
from tests.rag.test_marks import ALPHABET, CASES, SHOWN

REPLY = {
    "covered": True,
    "claims": [
        {"cues": ["s12", "s14"], "text": 'The cache is like a "file system".'},
        {"cues": ["s3"], "text": "It grows {fast}, [sic]."},
    ],
    "missing": "How large\nit is.",
}
CLAIMS = [Draft('The cache is like a "file system".', ("s12", "s14")), Draft("It grows {fast}, [sic].", ("s3",))]


def read(chunks: list[str], shown: list[str] = SHOWN, *, cut: bool = False) -> tuple[list[Draft], ClaimReader]:
    reader = ClaimReader(shown)
    drafts = [draft for chunk in chunks for draft in reader.feed(chunk)]
    return drafts + reader.close(cut=cut), reader


@pytest.mark.parametrize("dress", ["{}", "```json\n{}\n```", "\n {} ", "{}\nI hope this helps.", "```{}"])
def test_json_in_any_dress_and_split(dress: str) -> None:
    text = dress.replace("{}", json.dumps(REPLY), 1)
    for chunks in [[text], list(text), *([text[:i], text[i:]] for i in range(1, len(text)))]:
        drafts, reader = read(chunks)
        assert drafts == CLAIMS
        assert reader.covered is True
        assert reader.missing == "How large it is."
        assert reader.readable


def test_a_json_claim_is_given_as_soon_as_it_is_complete() -> None:
    reader = ClaimReader(SHOWN)
    assert reader.feed('{"covered": true, "claims": [{"cues": ["s12", "s14"], "text": "The cache is like ') == []
    assert reader.feed('a \\"file') == []
    assert reader.feed(' system\\"."') == CLAIMS[:1]
    assert reader.feed('}, {"cues": ["s3"], "text": "It grows') == []
    assert reader.covered is True


def test_a_json_claim_with_its_ids_last_waits_for_them() -> None:
    reader = ClaimReader(SHOWN)
    assert reader.feed('{"claims": [{"text": "A cache.", "cues": ["s12", ') == []
    assert reader.feed('"s14"]}, {"text"') == [Draft("A cache.", ("s12", "s14"))]


@pytest.mark.parametrize(
    ("cues", "ids", "dropped"),
    [
        ('["s12"]', ("s12",), ()),
        ('"s12, s14"', ("s12", "s14"), ()),
        ("[12]", ("s12",), ()),
        ('["[S12]"]', ("s12",), ()),
        ('["s12-s14"]', ("s12", "s13", "s14"), ()),
        ('["s99", "s3", "s3"]', ("s3",), ("s99",)),
        ('["banana", null, {"a": 1}]', (), ()),
        ("null", (), ()),
    ],
)
def test_ids_in_other_dress(cues: str, ids: tuple[str, ...], dropped: tuple[str, ...]) -> None:
    drafts, _ = read(['{"covered": true, "claims": [{"cues": ' + cues + ', "text": "A cache."}]}'])
    assert drafts == [Draft("A cache.", ids, dropped)]


def test_marks_inside_a_json_text_are_taken_out() -> None:
    drafts, _ = read(['{"claims": [{"cues": ["s3"], "text": "A cache [s12][s99]."}, "B [s14].", 7]}'])
    assert drafts == [Draft("A cache.", ("s3", "s12"), ("s99",)), Draft("B.", ("s14",))]


def test_a_json_refusal_has_no_claims() -> None:
    drafts, reader = read(['{"covered": false, "claims": [], "missing": "The number."}'])
    assert (drafts, reader.covered, reader.missing, reader.readable) == ([], False, "The number.", True)


@pytest.mark.parametrize(
    "reply", ["", " \n", "```", '{"error": "boom"}', "{not json", "<!DOCTYPE html><html>Hi [s3].</html>", "[]"]
)
def test_unreadable_replies(reply: str) -> None:
    drafts, reader = read(list(reply))
    assert (drafts, reader.readable) == ([], False)


def test_a_cut_reply_loses_only_the_unfinished_claim() -> None:
    text = json.dumps(REPLY)
    assert read([text[: text.index("grows")]], cut=True)[0] == CLAIMS[:1]
    assert read(["A cache [s3]. It gro"], cut=True)[0] == [Draft("A cache.", ("s3",))]
    assert read(["A cache [s3]. It grows."], cut=True)[0][-1] == Draft("It grows.", ())


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cited_ids_of_the_cases_in_any_chunks(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    text, expected = "".join(case["chunks"]), case["expect"]
    for chunks in [case["chunks"], *([text[:i], text[i:]] for i in range(len(text)))]:
        reader, shown, drafts = ClaimReader(case["context"]), "", []
        for chunk in chunks:
            drafts += reader.feed(chunk)
            shown = " ".join(draft.text for draft in drafts)
            assert not any(shown.endswith(fragment) for fragment in expected.get("never_shown", []))
        drafts += reader.close()
        assert list(dict.fromkeys(cue for draft in drafts for cue in draft.ids)) == expected["citations"]
        whole = " ".join(draft.text for draft in drafts)
        assert whole.split() == [word for word in expected["text"].split() if word != "-"]
        assert not any(secret in whole for secret in expected.get("never_in_output", []))


@pytest.mark.parametrize(
    ("reply", "drafts"),
    [
        ("First [s12]. Second [s14].", [("First.", "s12"), ("Second.", "s14")]),
        ("First. [s12] Second. [s14]", [("First.", "s12"), ("Second.", "s14")]),
        ("[s12] First. [s14] Second.", [("First.", "s12"), ("Second.", "s14")]),
        ("[s12] First.\nSecond. [s14]", [("First.", "s12"), ("Second.", "s14")]),
        ("First.[s12] Second.[s14]", [("First.", "s12"), ("Second.", "s14")]),
        ("Dr. Fu, e.g. in M2.7, says it costs 2.5 [s3].", [("Dr. Fu, e.g. in M2.7, says it costs 2.5.", "s3")]),
        ("1. One [s12]\n2. Two [s14]", [("One", "s12"), ("Two", "s14")]),
        ('He said "yes." [s12] Then no.', [('He said "yes."', "s12"), ("Then no.", "")]),
        ("缓存很大。[s12]它在增长。[s14]", [("缓存很大。", "s12"), ("它在增长。", "s14")]),
        ("NOT COVERED.", []),
    ],
)
def test_sentences_become_claims(reply: str, drafts: list[tuple[str, str]]) -> None:
    expected = [Draft(text, (cue,) if cue else ()) for text, cue in drafts]
    for chunks in ([reply], list(reply)):
        found, reader = read(chunks)
        assert found == expected
        assert reader.covered is (False if reply.startswith("NOT") else None)


@given(st.lists(ALPHABET | st.sampled_from(['{"claims":[', '{"cues":["s12"],"text":"a"}', "}", '"', ","]), max_size=25))
def test_any_split_gives_the_same_claims_and_no_foreign_id(parts: list[str]) -> None:
    drafts, reader = read(["".join(parts)])
    split, other = read(parts)
    assert (drafts, reader.covered, reader.readable) == (split, other.covered, other.readable)
    assert all(cue in SHOWN for draft in drafts for cue in draft.ids)


def test_reading_stops_after_a_reply_of_absurd_length() -> None:
    reader = ClaimReader(SHOWN)
    reader.feed("word " * (MAX_REPLY // 5))
    assert not reader.is_full
    reader.feed("A cache [s3]. ")
    assert reader.is_full


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The talk does not mention the number of parameters.", True),
        ("I could not find that in the talks you asked about.", True),
        ("The university isn't specified.", True),
        ("No information about the licence is given.", True),
        ("The cache sits in host memory.", False),
        ("It does not fit into memory.", False),
    ],
)
def test_denials(text: str, expected: bool) -> None:
    assert denies(text) is expected
