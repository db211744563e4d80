"""The pages of the project: links lead somewhere, and the worked example works."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT

PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("tests/data/*.md"), *ROOT.glob("eval/data/*.md")]
)
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def prose(path: Path) -> str:
    """A page without its code, in which brackets are no links."""
    return re.sub(r"`[^`\n]*`", "``", FENCE.sub("", path.read_text(encoding="utf-8")))


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links() -> list[tuple[str, str]]:
    return [
        (page.relative_to(ROOT).as_posix(), target)
        for page in PAGES
        for target in LINK.findall(prose(page))
        if not target.startswith(("http://", "https://"))
    ]


@pytest.mark.parametrize(("page", "target"), links())
def test_a_link_leads_somewhere(page: str, target: str) -> None:
    name, _, anchor = target.partition("#")
    path = (ROOT / page).parent / name if name else ROOT / page
    assert path.exists(), f"{page} links to {target}, which is not there"
    if anchor:
        assert anchor in anchors(path), f"{page} links to {target}, a heading that is not there"


def test_every_page_of_docs_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    found = [ROOT / "README.md"]
    while found:
        page = found.pop()
        reached.add(page)
        targets = (page.parent / target.partition("#")[0] for target in LINK.findall(prose(page)) if ":" not in target)
        found += [path.resolve() for path in targets if path.suffix == ".md" and path.resolve() not in reached]
    assert {path for path in PAGES if path.parent == ROOT / "docs"} <= reached


def test_the_worked_example_of_contributing_works(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = [re.sub(r"^   ", "", code, flags=re.MULTILINE) for kind, code in FENCE.findall(page) if kind == "python"]
    reader, test = blocks
    example = ModuleType("ingest.lrc")
    exec(compile(reader, "CONTRIBUTING.md", "exec"), example.__dict__)
    monkeypatch.setitem(sys.modules, "ingest.lrc", example)
    names: dict[str, object] = {}
    exec(compile(test, "CONTRIBUTING.md", "exec"), names)
    tests = [value for name, value in names.items() if name.startswith("test_") and callable(value)]
    assert len(tests) == 1
    tests[0]()
