"""Numbers and names in an answer that no cited cue holds: the hallucinations that a string check catches.

Entity and number precision in the sense of Nan et al., *Entity-level Factual Consistency of Abstractive Text
Summarization* (EACL 2021), against the cited cues.
"""

from __future__ import annotations

from collections.abc import Sequence

from eval.measures.words import names, numbers, words


def ungrounded(answer: str, evidence: Sequence[str]) -> list[str]:
    """The numbers and names of `answer`, sorted, that occur in none of the `evidence` texts.

    The caller adds to the evidence what needs no citation: the question, the talk's title, the speakers' names.
    """
    text = " ".join(evidence)
    held = words(text)
    lost_names = {name for name in names(answer) if name.lower() not in held}
    return sorted((numbers(answer) - numbers(text)) | lost_names)
