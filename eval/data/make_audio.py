"""Speak the sample talks: writes each talk's .mp3, the cue times of its .vtt, and `talks.jsonl`.

    python eval/data/make_audio.py

Needs `espeak-ng` and `ffmpeg` on the PATH. The words come from the .vtt files beside this script; each cue is spoken on
its own, so its times are measured in the sound rather than estimated, and a jump to a cue lands on its first word.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import tempfile
import wave
from pathlib import Path

TALKS = Path(__file__).parent / "talks"
RATE_HZ = 22_050  # what espeak-ng speaks at
LEAD_MS, PAUSE_MS, TURN_PAUSE_MS = 500, 350, 600  # silence before the talk, between cues, before another speaker
BITRATE = "24k"  # constant, so that a browser seeks exactly without reading the file to the end

# Speaker -> espeak-ng voice, words a minute, pitch (0..99).
VOICES = {
    "Marit Oselund": ("en-gb-x-rp+f3", 170, 50),
    "Ines Carvalhal": ("en-us+f2", 172, 58),
    "Tobias Renwick": ("en-gb-scotland+m3", 170, 38),
    "Adaeze Umunna": ("en-gb+f4", 165, 42),
    "Devraj Pellini": ("en-gb+m7", 172, 45),
}

# What the captions of one talk misheard -> what its speaker says. README.md lists the same names for readers.
MISHEARD = {
    "eight-cards-and-a-stubborn-queue": {
        "hair on loom": "Heronloom",
        "Heron loom": "Heronloom",
        "KV cash": "KV cache",
        "door mouse": "Dormouse",
        "FP ate": "FP8",
        "tick well": "Tickwell",
    },
}

_NOTE_LINE = re.compile(r"^(\w+): (.+)$", re.MULTILINE)
_CUE_TIMES = re.compile(r"^\S+ --> \S+$", re.MULTILINE)
_CUE = re.compile(r"^s\d+\n\S+ --> \S+\n<v (?P<speaker>[^>]+)>(?P<text>.+)$", re.MULTILINE)


def silence(ms: int) -> bytes:
    """`ms` milliseconds of 16-bit mono silence."""
    return bytes(2 * (RATE_HZ * ms // 1000))


def speak(text: str, speaker: str) -> bytes:
    """One sentence as 16-bit mono samples at `RATE_HZ`."""
    voice, words_a_minute, pitch = VOICES[speaker]
    with tempfile.TemporaryDirectory() as folder:
        sound = Path(folder, "cue.wav")
        options = ["-v", voice, "-s", str(words_a_minute), "-p", str(pitch), "-a", "80", "-z", "-w", str(sound)]
        subprocess.run(["espeak-ng", *options, "--", text], check=True)
        with wave.open(str(sound)) as spoken:
            samples: bytes = spoken.readframes(spoken.getnframes())
    return samples


def timestamp(samples: int) -> str:
    """A position in the sound as WebVTT writes it, rounded down to the millisecond."""
    seconds, ms = divmod(samples * 1000 // RATE_HZ, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"


def encode(samples: bytes, path: Path) -> None:
    """Write 16-bit mono samples as a constant-rate .mp3, the same bytes every time."""
    source = ["-f", "s16le", "-ar", str(RATE_HZ), "-ac", "1", "-i", "-"]
    target = ["-c:a", "libmp3lame", "-b:a", BITRATE, "-fflags", "+bitexact", "-flags:a", "+bitexact", str(path)]
    subprocess.run(["ffmpeg", "-loglevel", "error", "-y", *source, *target], input=samples, check=True)


def make_talk(path: Path) -> dict[str, object]:
    """Speak one talk, write its .mp3 and its cue times, and return its line of `talks.jsonl`."""
    captions = path.read_text(encoding="utf-8")
    note = dict(_NOTE_LINE.findall(captions.split("\n\n", 2)[1]))
    sound = bytearray(silence(LEAD_MS))
    times: list[str] = []
    speakers: list[str] = []
    previous = ""
    for cue in _CUE.finditer(captions):
        words, speaker = html.unescape(cue["text"]), cue["speaker"]
        for heard, said in MISHEARD.get(note["talk_id"], {}).items():
            words = words.replace(heard, said)
        if previous:
            sound += silence(PAUSE_MS if speaker == previous else TURN_PAUSE_MS)
        previous = speaker
        if speaker not in speakers:
            speakers.append(speaker)
        start = len(sound) // 2
        sound += speak(words, speaker)
        times.append(f"{timestamp(start)} --> {timestamp(len(sound) // 2)}")
    encode(bytes(sound), path.with_name(note["media"]))
    in_order = iter(times)
    path.write_text(_CUE_TIMES.sub(lambda _: next(in_order), captions), encoding="utf-8")
    return {
        "talk_id": note["talk_id"],
        "title": note["title"],
        "cues": len(times),
        "duration_s": round(len(sound) / 2 / RATE_HZ, 1),
        "speakers": speakers,
        "domain": "ai-engineering",
        "timestamps": "real",
    }


def main() -> None:
    """Speak every talk in `talks/`, in the order of their names."""
    lines = [json.dumps(make_talk(path)) for path in sorted(TALKS.glob("*.vtt"))]
    TALKS.with_name("talks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
