import os
import time

import pytest

from rag.errors import StoreError
from rag.isolated import in_own_process

pytestmark = pytest.mark.slow  # every call starts an interpreter


def upper(text: str) -> str:
    return text.upper()


def fail() -> str:
    raise ValueError("two\nlines")


def die() -> str:
    os.abort()


def wait() -> str:
    time.sleep(600)
    return ""


def test_it_returns_what_the_function_returns() -> None:
    assert in_own_process(upper, "abc", limit_s=60) == "ABC"


def test_an_exception_is_one_line() -> None:
    with pytest.raises(StoreError, match=r"^two lines$"):
        in_own_process(fail, limit_s=60)


def test_a_process_that_dies_takes_nobody_along() -> None:
    with pytest.raises(StoreError, match=r"^its process ended with code -6$"):
        in_own_process(die, limit_s=60)


def test_a_process_that_hangs_is_ended() -> None:
    with pytest.raises(StoreError, match=r"^no answer within 0\.5 s$"):
        in_own_process(wait, limit_s=0.5)
