"""Take the README's picture: `make screenshot`. Serves the sample talks, asks one question, plays the first moment.

Needs playwright (in the development extra) and a chromium on the PATH. Writes docs/page.png.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "page.png"
QUESTION = "How do you keep memory for the key value cache from being wasted?"


def main(picture: Path = PICTURE) -> None:
    """Take the picture from a library of its own, so that nobody's talks are in it."""
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
                take(found[0], picture)
            finally:
                server.terminate()


def take(address: str, picture: Path) -> None:
    """Ask, play the first moment, and take the picture of what is then on the screen."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
        page.goto(address)
        page.wait_for_selector(".desk[data-ready]", timeout=60_000)
        page.fill("textarea", QUESTION)
        page.keyboard.press("Enter")
        page.wait_for_selector(".turn[aria-busy=false]", timeout=120_000)
        page.click(".chip >> nth=0")
        page.wait_for_selector(".cue.active")
        page.evaluate("document.querySelector('audio')?.pause()")
        page.mouse.move(0, 0)
        page.evaluate("document.querySelector('.conversation').scrollTop = 0")
        page.wait_for_timeout(500)  # for scrolling and fading to end
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
