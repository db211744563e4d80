import json
from pathlib import Path

import pytest

from eval.dataset import check_unique, read_questions, resolve, sample
from rag.errors import InputError
from rag.types import Span
from tests.eval.talks import TALKS

GOOD = {
    "id": "q1",
    "talk_id": "a",
    "question": "How many?",
    "relevant": [["s3", "s3"]],
    "type": "factoid",
    "scope": "talk",
}


def write(folder: Path, *records: object) -> Path:
    path = folder / "questions.jsonl"
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def problem(path: Path, allow_unchecked: bool = False) -> str:
    with pytest.raises(InputError) as caught:
        resolve(read_questions(path, allow_unchecked=allow_unchecked), TALKS, "data")
    return str(caught.value)


def test_spans_become_positions(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD | {"relevant": [["s1", "s2"], ["s9", "s10"]], "also_ok": [["s3", "s3"]]})
    (item,) = resolve(read_questions(path), TALKS, "data")
    assert item.gold.relevant == (Span(0, 1), Span(8, 9))
    assert item.gold.also_ok == (Span(2, 2),)


def test_blank_lines_a_byte_order_mark_and_unknown_fields_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text("\ufeff" + json.dumps(GOOD | {"colour": "red"}) + "\n\n", encoding="utf-8")
    assert [line.question.id for line in read_questions(path)] == ["q1"]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("{nonsense", "not a JSON object"),
        ("[1, 2]", "an object"),
        (GOOD | {"scope": "planet"}, "field `scope`: Input should be 'talk' or 'corpus', found 'planet'"),
        ({k: v for k, v in GOOD.items() if k != "question"}, "field `question`: Field required"),
        (GOOD | {"relevant": [["s3"]]}, "field `relevant.0"),
        (GOOD | {"relevant": [["s3", "s99"]]}, "cue 's99' does not exist in talk 'a', whose last cue is s10"),
        (GOOD | {"relevant": [["s4", "s3"]]}, "span s4..s3 runs backwards"),
        (GOOD | {"talk_id": "zzz"}, "talk 'zzz' is not among the 2 talks of data"),
        (GOOD | {"type": "follow-up"}, "a follow-up needs `history`"),
        (GOOD | {"checked": False}, "check it and set true, or run with --unchecked"),
        (GOOD, "id 'q1' is already used at"),
    ],
)
def test_each_mistake_is_named_with_file_and_line(tmp_path: Path, record: object, expected: str) -> None:
    message = problem(
        write(tmp_path, GOOD, "", {**record, "id": "q2"} if isinstance(record, dict) and record is not GOOD else record)
    )
    assert message.startswith(f"{tmp_path / 'questions.jsonl'}:3: ")
    assert expected in message
    assert "\n" not in message


def test_all_mistakes_are_listed_but_not_endlessly(tmp_path: Path) -> None:
    message = problem(write(tmp_path, *["{"] * 50))
    assert len(message.split("\n")) == 21
    assert message.endswith("and 30 more problems")


def test_an_empty_or_missing_or_binary_file(tmp_path: Path) -> None:
    assert "holds no question" in problem(write(tmp_path))
    assert "No such file" in problem(tmp_path / "other.jsonl")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8 text" in problem(tmp_path / "binary.jsonl")


def test_drafts_can_be_allowed(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD | {"checked": False})
    assert len(read_questions(path, allow_unchecked=True)) == 1


def test_ids_must_differ_across_folders(tmp_path: Path) -> None:
    lines = read_questions(write(tmp_path, GOOD))
    with pytest.raises(InputError, match="'q1' is used in one and in two"):
        check_unique([*resolve(lines, TALKS, "one"), *resolve(lines, TALKS, "two")])


def test_a_sample_is_drawn_with_the_seed_and_keeps_the_order(tmp_path: Path) -> None:
    items = resolve(read_questions(write(tmp_path, *[GOOD | {"id": f"q{n:02}"} for n in range(30)])), TALKS, "data")
    ids = [item.question.id for item in sample(items, 5, seed=1)]
    assert ids == sorted(ids)
    assert len(ids) == 5
    assert ids == [item.question.id for item in sample(items, 5, seed=1)]
    assert ids != [item.question.id for item in sample(items, 5, seed=2)]
    assert sample(items, None, seed=1) == sample(items, 99, seed=1) == items
