"""A talk small enough to judge by hand: ten cues of ten seconds each, and another talk of the same shape."""

from eval.types import FoundMoment, Gold, Moment
from rag.types import Cue, Span, Talk

WORDS = (
    "Welcome to the talk about caches.",
    "I am Ada from Example Labs.",
    "We serve 40 models.",
    "Each request keeps its keys and values.",
    "That cache grows to 12 gigabytes.",
    "So we page it, like memory.",
    "Paging cut our cost by half.",
    "Any questions?",
    "Yes, we do evict old pages.",
    "Thank you.",
)


def ten_cues(talk_id: str = "a") -> Talk:
    """Cue s1 runs from 0 s to 10 s, s2 from 10 s to 20 s, and so on."""
    cues = tuple(Cue(f"s{n + 1}", n * 10_000, (n + 1) * 10_000, text, "Ada") for n, text in enumerate(WORDS))
    return Talk(id=talk_id, title="Caches", cues=cues, speakers=("Ada",), media="https://youtu.be/abcdefghijk")


TALKS = {"a": ten_cues("a"), "b": ten_cues("b")}


def moment(talk_id: str, first: int, last: int | None = None) -> Moment:
    """By cue numbers: `moment("a", 3, 5)` is s3 to s5."""
    return Moment(talk_id, first - 1, (first if last is None else last) - 1)


def found(talk_id: str, first: int, last: int | None = None) -> FoundMoment:
    return FoundMoment.of(TALKS[talk_id], Span(first - 1, (first if last is None else last) - 1))


def gold(*spans: tuple[int, int], also_ok: tuple[tuple[int, int], ...] = ()) -> Gold:
    """Spans of cue numbers in talk "a"."""
    return Gold("a", tuple(Span(a - 1, b - 1) for a, b in spans), tuple(Span(a - 1, b - 1) for a, b in also_ok))
