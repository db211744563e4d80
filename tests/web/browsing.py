"""What a user does on the page, and what the talks in these tests say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

SENTENCES = [f"Sentence number {n} says something about topic {n % 7}." for n in range(1, 31)]
# A finger or a mouse button stays down about this long.
HUMAN_CLICK_MS = 110


def ask(page: Page, question: str, *, wait: bool = True) -> None:
    page.fill("textarea", question)
    page.keyboard.press("Enter")
    if wait:
        page.wait_for_selector(".turn:last-child[aria-busy=false]")


def human_click(page: Page, selector: str) -> None:
    box = page.locator(selector).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.wait_for_timeout(HUMAN_CLICK_MS)
    page.mouse.up()


def active(page: Page) -> int:
    """The position of the marked cue, -1 when none is."""
    return int(page.evaluate("Number(document.querySelector('.cue.active')?.dataset.index ?? -1)"))
