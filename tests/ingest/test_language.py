import pytest

from ingest.language import language_of

GERMAN = (
    "Wir haben das gestern gemessen und es war schneller als alles was wir vorher hatten. Deshalb bleibt es so. " * 3
)
ENGLISH = "We measured that yesterday and it was faster than what we had before, so that is how it is going to be. " * 3


@pytest.mark.parametrize(
    ("text", "declared", "expected"),
    [
        (ENGLISH, "", "en"),
        (GERMAN, "", "de"),
        (GERMAN, "de-AT", "de"),
        (GERMAN, "en", "de"),  # YouTube marks many tracks as English
        (ENGLISH, "pt_BR", "pt"),
        ("ok", "en", "en"),
        ("123 456", "", ""),
        (ENGLISH, "not a code", "en"),
    ],
)
def test_language(text: str, declared: str, expected: str) -> None:
    assert language_of([text], declared) == expected
