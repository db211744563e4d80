import pytest

from ingest.html_page import read
from ingest.read import read_bytes
from ingest.types import Caption, NotCaptions

PAGE = """<!DOCTYPE html><html><head><title>site</title><style>p{}</style></head><body>
<h1>A Talk — Ada Quist</h1><p>Conf · 2 min · 3 sentences · from YouTube's caption track</p>
<ol>
<li id="s1" data-start="4.25" data-end="7"><a href="https://www.youtube.com/watch?v=abcdefghijk&amp;t=4s">00:04</a>
Hello &amp; <b>welcome</b>.
<li id="s2" data-start-ms="7000" data-end-ms="9000"><a href="https://youtu.be/abcdefghijk?t=7">00:07</a>
<span>3 of them</span><a href="#s2">#</a>
<li id="s3"><a href="https://youtu.be/abcdefghijk?t=1h2m3s">1:02:03</a>Don<br>e.<script>alert(1)</script></li>
</ol><footer>All transcripts</footer></body></html>"""


def test_lines_with_times_in_attributes_or_links() -> None:
    reading = read(PAGE)
    assert reading.captions == (
        Caption("s1", 4250, 7000, "Hello & welcome.", line=4),
        Caption("s2", 7000, 9000, "3 of them", line=6),
        Caption("s3", 3_723_000, 3_724_000, "Don e.", line=8),
    )
    assert reading.problems == ()
    meta = reading.meta
    assert (meta.title, meta.speakers, meta.event) == ("A Talk", ("Ada Quist",), "Conf")
    assert meta.media == "https://www.youtube.com/watch?v=abcdefghijk"


def test_an_anchor_in_front_of_the_words() -> None:
    reading = read(
        '<body><p><a id="s1" href="https://youtu.be/abcdefghijk?t=5">0:05</a> One.</p><p>no</p>'
        '<p><a id="s2" href="https://youtu.be/abcdefghijk?t=6">0:06</a> Two.</p></body>'
    )
    assert [(c.id, c.start_ms, c.text) for c in reading.captions] == [("s1", 5000, "One."), ("s2", 6000, "Two.")]


def test_lines_without_time_and_repeated_ids_are_reported() -> None:
    reading = read('<ol><li id="s1">lost</li>\n<li id="s2">00:05 kept</li>\n<li id="s2" data-start="9">twice</li></ol>')
    assert [(problem.line, problem.lost) for problem in reading.problems] == [(1, True), (3, False)]
    assert [(c.id, c.start_ms, c.text) for c in reading.captions] == [("s2", 5000, "kept"), ("s2-3", 9000, "twice")]


def test_any_other_page_is_refused_by_its_title() -> None:
    with pytest.raises(NotCaptions, match='"404 Not Found"'):
        read("<html><title>404 Not Found</title><body><h1>Oops</h1></body></html>")


@pytest.mark.parametrize(
    "page",
    [
        "<table><tr id=s1 data-start=1><td>Cell</td></tr></table>",
        "<?xml version='1.0' encoding='utf-8'?>\n<!DOCTYPE html><html><p id='s1' data-start='1'>Cell</p></html>",
        "<title>T</title><li id=s1 data-start=00:00:01.000>Cell</li>",
    ],
)
def test_pages_that_begin_in_other_ways(page: str) -> None:
    [reading] = read_bytes(page.encode(), "x")
    assert [(c.id, c.start_ms, c.text) for c in reading.captions] == [("s1", 1000, "Cell")]
