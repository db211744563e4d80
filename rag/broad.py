"""Does a question ask about a whole talk, or for all talks that mention something? Pure.

"Summarise this talk" is answered by moments from its beginning to its end, "which talks mention X" by one moment of
each; the five moments nearest to such a sentence answer neither. Recognised by rule, in English: a question that is not
recognised is searched like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag.lexical import stems
from rag.manifest import TalkInfo


@dataclass(frozen=True, slots=True)
class WholeTalk:
    """A question about everything in a talk. `name` is how the talk is named: "" for "this talk" and "the talks".

    `is_called_talk` tells "the talk about queues", which must be a talk, from "queues", which may be one's title.
    """

    name: str = ""
    is_called_talk: bool = False


@dataclass(frozen=True, slots=True)
class Mentions:
    """A question for the talks that mention `topic`; `by_date` when it asks how that changed."""

    topic: str
    by_date: bool = False


def broad(question: str) -> WholeTalk | Mentions | None:
    """What a broad question asks about; None for every other one."""
    asked = " ".join(question.split())
    for polite in (_BEFORE, _AFTER):
        asked = polite.sub("", asked)
    for pattern in _OVER_TIME:
        if found := pattern.fullmatch(asked):
            return _mentions(found, by_date=True)
    for pattern in _MENTIONING:
        if found := pattern.fullmatch(asked):
            return _mentions(found)
    for pattern in _WHOLE:
        if found := pattern.fullmatch(asked):
            return _whole(found["object"] or "")
    return None


def named(asked: WholeTalk, talks: Iterable[TalkInfo]) -> list[TalkInfo]:
    """The talks that the question means: all of them when it names none, none when no title fits the name.

    What is called a talk is named by any words of its title or speakers. Anything else must be the title, or what
    stands before its colon.
    """
    wanted = stems(asked.name)
    if not wanted:
        return list(talks)
    chosen = []
    for info in talks:
        title, main = stems(info.title), stems(re.split(r":|\s[-–—]\s", info.title)[0])
        known = title.union(*map(stems, info.speakers)) if asked.is_called_talk else title
        if wanted <= known and (asked.is_called_talk or main <= wanted):
            chosen.append(info)
    return chosen


def _mentions(found: re.Match[str], *, by_date: bool = False) -> Mentions | None:
    """None when the topic is nothing but "it": then the question has to be made to stand alone first."""
    topic = _TOPIC_END.sub("", found["topic"]).strip(" \"'“”‘’")
    if not stems(_POINTING.sub("", topic)):
        topic = (found["before"] or "").removesuffix(": ")
    return Mentions(topic, by_date) if stems(topic) else None


def _whole(named_as: str) -> WholeTalk | None:
    text = named_as.strip(" \"'“”‘’")
    if _ANY_TALK.fullmatch(text):
        return WholeTalk()
    for pattern in _CALLED:
        if found := pattern.fullmatch(text):
            return WholeTalk(found["name"].strip(" \"'“”‘’"), is_called_talk=True)
    return WholeTalk(text) if stems(text) else None


def _patterns(*sources: str) -> Sequence[re.Pattern[str]]:
    return [re.compile(source, re.IGNORECASE) for source in sources]


_TALK = (
    r"(?:talk|panel|podcast|episode|video|recording|presentation|lecture|keynote|session|webinar|interview|speech"
    r"|seminar|workshop|meeting)"
)
_ADJECTIVE = r"(?:(?:short|brief|quick|concise|detailed|good|high-level|one-paragraph|bulleted|general|overall) )*"
_SUMMARY = (
    r"(?:summary|overview|recap|outline|gist|rundown|synopsis|digest|abstract|tl;?dr|summarization|summarisation)"
)
_MAIN = (
    r"(?:main|key|most important|important|central|biggest|major|core|essential|principal|top(?: \w+)?"
    r"|\w+ (?:main|key))"
)
_POINTS = (
    r"(?:points?|take-?aways?|ideas?|messages?|topics?|themes?|lessons?|arguments?|insights?|conclusions?|findings?"
    r"|learnings?|subjects?|highlights?)"
)
_PEOPLE = r"(?:(?:the |all |different |various |other |each |every )*(?:speaker|guest|panelist|panellist|presenter)s?)"
_TALKS = rf"(?:(?:the |all |different |various |other |these |those |of |any |two |three |\d+ )*{_TALK}s?)"
_OBJECT = r"(?: (?:of|from|in|made in|for|about|on))? ?(?P<object>.*?)"
_TOLD = (
    r"(?:mention(?:s|ed)?|discuss(?:es|ed)?|cover(?:s|ed)?|address(?:es|ed)?|explain(?:s|ed)?|bring(?:s)? up|brought up"
    r"|(?:talk(?:s|ed)?|speak(?:s)?|spoke|said (?:something|anything)|say(?:s)? (?:something|anything)) (?:about|of|on)"
    r"|(?:refer(?:s|red)? to)|touch(?:es|ed)? (?:on|upon)|deal(?:s|t)? with|(?:are|is|was|were) about)"
)
_TOLD_OF = r"(?:mentioned|discussed|covered|addressed|explained|brought up|talked about|spoken about|spoken of)"
_LATER = (
    r"(?:over (?:the )?(?:time|years|months|course of \w+ \w+)|through (?:the )?(?:time|years)"
    r"|across the (?:years|talks)|from (?:talk to talk|year to year)|between the talks|with time)"
)
_VIEWS = r"(?:opinions?|views?|thinking|attitudes?|positions?|stances?|ideas|approach(?:es)?|advice|thoughts)"
_CHANGE = r"(?:change|evolve|develop|shift|move|differ)d?"
_TOPIC = r"(?P<topic>.+?)"
_STANDALONE = r"(?P<before>[^:]{1,200}: )?"  # what rag.rewrite puts before a follow-up

_BEFORE = re.compile(
    r"^(?:(?:please|hi|hello|hey|ok|okay|so|now|then|and)[,!.]? |(?:can|could|would|will) you (?:please )?|"
    r"i(?:'d| would) like (?:to (?:have|get|see|know) )?|i (?:want|need) (?:to know )?)+",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:,? (?:please|for me|to me|briefly|in short|in brief|in detail|thanks|thank you"
    r"|(?:in|with|as|using) (?:a |an |the form of )?(?:\w+ )?(?:\w+ )?"
    r"(?:sentences?|words?|bullets?|bullet points?|paragraphs?|lines?|list|points)))*[\s?.!…]*$",
    re.IGNORECASE,
)
_TOPIC_END = re.compile(
    rf" (?:at all|anywhere|so far|too|as well|in (?:the|this|my|your) library|in (?:any|all|one)? ?(?:of )?{_TALKS})$",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:it|its|that|this|these|those|them|same|thing|things|topic|subject|issue|point|one|else)\b", re.I
)
_ANY_TALK = re.compile(
    rf"(?:it|this|that|they|the speakers?|everything|all of (?:it|them|this)|them|these"
    r"|the (?:whole|entire|full) thing"
    r"|(?:(?:all|of|the|this|that|these|those|my|your|whole|entire|full|complete|current|selected|above|today's) )*"
    rf"(?:{_TALK}|discussion|conversation|debate|library|transcript)s?)?(?: here| above)?",
    re.IGNORECASE,
)
_CALLED = _patterns(
    rf"(?:the |this |that |all |whole )*{_TALK}s?"
    r" (?:by|with|from|of|called|titled|named|entitled|on|about) (?P<name>.+)",
    rf"(?P<name>.+?)(?:['’]s?)? {_TALK}s?",
)
_OVER_TIME = _patterns(
    rf"{_STANDALONE}how (?:did|has|have|do|does) (?:the |people's |their |speakers' |everyone's )?{_VIEWS}"
    rf" (?:on|about|of|towards?|to|regarding) {_TOPIC} {_CHANGE}(?: {_LATER})?",
    rf"{_STANDALONE}how (?:did|has|have|do|does) {_TOPIC} {_CHANGE} {_LATER}",
    rf"{_STANDALONE}what (?:has |have )?changed {_LATER} (?:about|with|in|for|regarding|on) {_TOPIC}",
    rf"{_STANDALONE}what (?:has |have )?changed (?:about|with|in|for|regarding|on) {_TOPIC} {_LATER}",
)
_MENTIONING = _patterns(
    rf"{_STANDALONE}(?:which|what) (?:of )?(?:{_TALKS}|{_PEOPLE}|people) (?:that |who )?(?:also |else )?"
    rf"{_TOLD} {_TOPIC}",
    rf"{_STANDALONE}(?:in )?(?:which|what) {_TALKS} (?:is|are|was|were|do|does|did) (?:they |people |anyone |someone )?"
    rf"{_TOPIC} {_TOLD_OF}",
    rf"{_STANDALONE}in (?:which|what) {_TALKS} (?:do|does|did) (?:they|people|anyone|someone|{_PEOPLE})"
    rf" {_TOLD} {_TOPIC}",
    rf"{_STANDALONE}who (?:else )?(?:also )?(?:has )?{_TOLD} {_TOPIC}",
    rf"{_STANDALONE}where (?:is|are|was|were) {_TOPIC} {_TOLD_OF}",
    rf"{_STANDALONE}(?:do|does|did|has|have) (?:any|anyone|anybody|someone|some) ?(?:of )?"
    rf"(?:{_TALKS}|{_PEOPLE})? ?(?:ever )?{_TOLD} {_TOPIC}",
    rf"{_STANDALONE}(?:are|is) there (?:a|an|any|some|other|another) {_TALKS} (?:about|on|that {_TOLD}|which {_TOLD}"
    rf"|mentioning|discussing|covering) {_TOPIC}",
    rf"{_STANDALONE}(?:list|find|show|give me|show me|find me) (?:me )?{_TALKS} (?:about|on|that {_TOLD}|which {_TOLD}"
    rf"|mentioning|discussing|covering) {_TOPIC}",
    rf"{_STANDALONE}what (?:do|did|does|have) (?:{_TALKS}|{_PEOPLE}|people|everyone|everybody) "
    rf"(?:say|said|think|thought) (?:about|on|of) {_TOPIC}",
    rf"{_STANDALONE}(?:compare|contrast) what (?:{_TALKS}|{_PEOPLE}|people|everyone) (?:say|said|think|thought) "
    rf"(?:about|on|of) {_TOPIC}",
    rf"{_STANDALONE}how (?:do|did) (?:{_TALKS}|{_PEOPLE}|people) (?:differ|disagree|agree) (?:about|on|over) {_TOPIC}",
)
_WHOLE = _patterns(
    r"(?:summari[sz]e|sum up|recap|outline|condense)(?: up)?(?: the (?:whole|entire) of)? ?(?P<object>.*?)",
    r"sum (?P<object>it|this|that|everything) up",
    rf"(?:(?:give|write|show|get|make|prepare)(?: me| us)? )?(?:an? |the )?{_ADJECTIVE}{_SUMMARY}{_OBJECT}",
    rf"(?:what (?:is|are|was|were)|what['’]s|list|name|give me|tell me|show me|extract|state)(?: all)?"
    rf" (?:the |its |their |your |some )?{_MAIN}(?: {_MAIN})* {_POINTS}{_OBJECT}",
    rf"(?:the )?{_MAIN} {_POINTS}{_OBJECT}",
    r"what (?:is|was|are|were) (?P<object>.+?) (?:all )?about",
    r"what['’]s (?P<object>.+?) (?:all )?about",
    rf"(?:what|which) (?:topics?|subjects?|themes?|points?) (?:is|are|was|were|do they) (?:covered|discussed|addressed"
    rf"|made|cover|discuss){_OBJECT}",
    r"(?:what|which) (?:topics?|subjects?|themes?) (?:does|do|did) (?P<object>.+?) (?:cover|discuss|address|deal with)",
    r"what (?:does|do|did) (?P<object>.+?) (?:cover|discuss|talk about|deal with)",
    r"what (?:is|was|gets?|got) (?:discussed|covered|talked about|said)(?: in)? ?(?P<object>.*?)",
    r"what happen(?:s|ed) in (?P<object>.+?)",
    r"(?:walk|take|guide) (?:me|us) through (?P<object>.+?)",
    r"tell me (?:all )?about (?P<object>(?:this|the|that) (?:whole )?\w+)",
)
