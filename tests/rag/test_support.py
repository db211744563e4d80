from collections.abc import Sequence

import pytest

from rag.embed import Vectors
from rag.support import SupportCheck
from rag.types import CueRef, Support
from tests.fakes import WordEmbedder
from tests.rag.scripted import talk

T1 = talk("t1", title="Caches at scale - Dan Fu")
T2 = talk("t2", ("We use the KB cache of Together.", "It is big."))
CHECK = SupportCheck(WordEmbedder(), [T1, T2], question="How does Together do it?")


@pytest.mark.parametrize(
    ("claim", "cues", "expected"),
    [
        ("The cache is like a distributed file system.", [("t1", 2)], "supported"),
        ("Dan stores the cache in host memory and on disk.", [("t1", 3)], "supported"),
        ("It holds forty gigabytes per server.", [("t1", 4)], "supported"),
        ("It holds 50 gigabytes per server.", [("t1", 4)], "unsupported"),
        ("It holds 40 megabytes per server.", [("t1", 4)], "unsupported"),
        ("They say that Alice stores the cache in host memory and on disk.", [("t1", 3)], "weak"),
        ("We use the KV cache.", [("t2", 0)], "supported"),
        ("Together says it is big.", [("t2", 1)], "supported"),  # named in the question and known to the talk
        ("Bananas are yellow.", [("t1", 2)], "unsupported"),
        ("The cache is like a distributed file system.", [], "unsupported"),
        ("The cache holds 40 gigabytes per server.", [("t1", 2), ("t1", 4)], "supported"),
    ],
)
def test_verdicts(claim: str, cues: list[tuple[str, int]], expected: Support) -> None:
    assert CHECK.check(claim, [CueRef(*cue) for cue in cues]) == expected


def test_the_best_supporting_cue() -> None:
    refs = [CueRef("t1", position) for position in range(6)]
    assert CHECK.best("They store the cache in host memory and on disk.", refs) == CueRef("t1", 3)
    assert CHECK.best("Bananas are yellow.", refs) is None
    assert CHECK.best("Anything.", []) is None


FIVE = [CueRef("t1", position) for position in range(1, 6)]


@pytest.mark.parametrize(
    ("claim", "cited", "expected"),
    [
        ("They store the cache in host memory and on disk.", [3], [3]),
        ("They store the cache in host memory and on disk.", [2], [3]),  # beside the mark: the right one instead
        ("They store the cache in host memory and on disk.", [5, 3], [3]),  # what has nothing to do with it goes
        ("The cache is like a file system in memory and on disk.", [3, 2], [3, 2]),  # both say a part
        ("Bananas are yellow.", [5, 1], [5, 1]),  # nothing says that: the check will tell, so nothing is changed
    ],
)
def test_the_cues_that_carry_a_claim(claim: str, cited: list[int], expected: list[int]) -> None:
    carriers = CHECK.carriers(claim, [CueRef("t1", position) for position in cited], FIVE)
    assert [ref.position for ref in carriers] == expected


def test_what_the_library_holds_is_not_encoded_again() -> None:
    encoded: list[str] = []

    class Counting(WordEmbedder):
        def encode_passages(self, texts: Sequence[str]) -> Vectors:
            encoded.extend(texts)
            return super().encode_passages(texts)

    rows = WordEmbedder().encode_passages([cue.text for cue in T1.cues])
    check = SupportCheck(Counting(), [T1, T2], stored=lambda talk, at: rows[at] if talk is T1 else None)
    claim, shown = "The cache is like a distributed file system.", [CueRef("t1", 2), CueRef("t1", 3), CueRef("t2", 0)]
    assert check.carriers(claim, shown[1:2], shown) == CHECK.carriers(claim, shown[1:2], shown) == [CueRef("t1", 2)]
    assert encoded == [T2.cues[0].text, claim]
