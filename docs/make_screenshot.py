"""Take the README's pictures: `make screenshot`. Serves the sample talks and shows five states of the page.

Needs playwright (in the development extra) and a chromium on the PATH. Writes docs/page*.png.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
QUESTION = "How do you keep the key value cache small?"
NOT_COVERED = "Who won the football match?"
PAGER = ROOT / "eval" / "data" / "talks" / "the-pager-and-the-agent"
WIDE = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 780}, "is_mobile": True, "has_touch": True}


def main(folder: Path = ROOT / "docs") -> None:
    """Take the pictures from a library of its own, so that nobody's talks are in them."""
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"RAG_HOME": home, "RAG_LLM": "off", "RAG_EMBED_MODEL": "", "RAG_PUBLIC_URL": ""}
        python = [sys.executable]
        subprocess.run([*python, "talkcite.py", "samples"], cwd=ROOT, env=environment, check=True, stdout=sys.stderr)
        command = [*python, "app.py", "--port", "0"]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                found = re.search(r"http://\S+", server.stdout.readline())
                if found is None:
                    sys.exit("the page did not start")
                take(found[0], folder)
            finally:
                server.terminate()


def take(address: str, folder: Path) -> None:
    """One picture for each state: an answer in light and dark and on a phone, a refusal, talks being added."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, scheme, screen in (
            ("page", "light", WIDE),
            ("page-dark", "dark", WIDE),
            ("page-phone", "light", PHONE),
        ):
            page = opened(browser, address, color_scheme=scheme, **screen)
            ask(page, QUESTION)
            page.click(".chip >> nth=0")
            page.wait_for_selector(".cue.active", state="attached")
            page.evaluate("document.querySelector('audio')?.pause()")
            keep(page, folder / f"{name}.png")
        page = opened(browser, address, **WIDE)
        ask(page, NOT_COVERED)
        keep(page, folder / "page-refusal.png")
        page = opened(browser, address, **WIDE)
        with page.expect_file_chooser() as chooser:
            page.click(".find [data-add]")
        damaged = {"name": "damaged.vtt", "mimeType": "text/vtt", "buffer": b"1:02 Hello"}
        files = [PAGER.with_suffix(ending) for ending in (".vtt", ".mp3")]
        chooser.value.set_files([*({"name": f.name, "mimeType": "", "buffer": f.read_bytes()} for f in files), damaged])
        page.wait_for_selector(".report", timeout=120_000)
        keep(page, folder / "page-adding.png")
        browser.close()


def opened(browser: Browser, address: str, **screen: Any) -> Page:
    """The page, as a reader of its own sees it."""
    page = browser.new_page(**screen)
    page.goto(address)
    page.wait_for_selector(".desk[data-ready]", timeout=60_000)
    page.wait_for_selector("[data-part=model]:not(:empty)", state="attached")
    return page


def ask(page: Page, question: str) -> None:
    """Ask and wait for the whole answer."""
    page.fill("textarea", question)
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn[aria-busy=false]", timeout=120_000)


def keep(page: Page, picture: Path) -> None:
    """Write what is on the screen, once scrolling and fading have ended."""
    page.mouse.move(0, 0)
    page.evaluate("document.querySelector('.conversation').scrollTop = 0")
    page.wait_for_timeout(500)
    page.screenshot(path=picture)
    page.close()


if __name__ == "__main__":
    main()
