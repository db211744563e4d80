"""Every error that a user can meet, under one base.

    TalkciteError            one line for stderr; `exit_code` is what the command returns
    ├── InputError      1    an input could not be read or a check failed
    ├── UsageError      2    the command was called wrongly, or names a talk that is not there
    ├── StartError      3    the program can't start: setting, folder, lock, port, model
    ├── StoreError      3    stored data is damaged or can't be written
    │   └── NewerFormat 3    stored data was written by a newer version of this program
    └── LLMError        1    the language model gave no usable answer (callers fall back to quotes)

A message names the thing, what was found, what was expected and the way out. It never holds a secret.
"""


class TalkciteError(Exception):
    """Base of all errors shown to a user as one line."""

    exit_code = 1


class InputError(TalkciteError):
    """An input file, address or question set could not be read."""

    exit_code = 1


class UsageError(TalkciteError):
    """The call itself is wrong: bad argument, unknown talk."""

    exit_code = 2


def unknown_talk(talk_id: str) -> UsageError:
    """The error for a talk that is not there, the same wherever it is asked for."""
    return UsageError(f"talk {talk_id!r}: not in the library; 'python -m rag talks' lists the ids")


class StartError(TalkciteError):
    """The program can't start: a setting, folder, lock, port or model is in the way."""

    exit_code = 3


class StoreError(TalkciteError):
    """Stored data is damaged or can't be written."""

    exit_code = 3


class NewerFormat(StoreError):
    """Stored data is sound, but of a format that only a newer version of this program knows."""


class LLMError(TalkciteError):
    """The language model did not give a usable answer."""

    exit_code = 1
