// The right side: one open talk with its player and transcript, moving together.

import { momentHref, absolute } from "./address.js";
import { confirmOn, copyText, h, joined, lengthText, outLink, timecode } from "./dom.js";
import { createPlayer } from "./player.js";
import { createTranscript } from "./transcript.js";

const LONGEST_LEAD_IN_MS = 60000;
const LONGEST_SEEK_MS = 3000;

/**
 * `loadTalk(id)` resolves to a talk or null; `onMoment(moment, { step })` tells what is shown now: { talk, cue, ms }, or
 * null; `say(text)` tells a screen reader; `onStep(direction)` asks for the previous or next citation.
 */
export function createPane(root, { loadTalk, onMoment, say, onStep }) {
  const listen = root.querySelector(".listen");
  const read = root.querySelector(".read");
  const search = read.querySelector("input[type=search]");
  const count = read.querySelector(".count");
  const chapters = read.querySelector(".chapters");
  const follow = read.querySelector(".follow");

  let talk = null;
  let player = null;
  // The cue just jumped to stays active until the recording has got there and left it again: the player may still tell
  // where it was before, and cues can start at the same time.
  let held = null;
  let citations = [];
  let matches = [];
  let match = -1;
  let opening = 0;

  const transcript = createTranscript(read.querySelector(".transcript"), {
    onChoose: (index) => jump(index, { play: true }),
    onFollow: (on) => (follow.hidden = on),
  });

  /** Opens a talk at a cue (by id) or a time and plays on request. Resolves to false when there is no such talk. */
  async function open(id, { cue = "", ms = null, play = false, step = true } = {}) {
    const turn = ++opening;
    const next = talk?.id === id ? talk : await loadTalk(id);
    if (turn !== opening) return true; // the reader has chosen something else meanwhile
    if (!next) return false;
    if (next !== talk) showTalk(next);
    const index = indexOf(cue, ms);
    if (index >= 0) jump(index, { play, step, ms });
    else onMoment({ talk: talk.id, cue: "", ms: 0 }, { step });
    return true;
  }

  function showTalk(next) {
    player?.destroy();
    talk = next;
    held = null;
    root.classList.add("has-talk");
    listen.hidden = read.hidden = false;
    listen.querySelector(".title").textContent = talk.title;
    const date = talk.date && h("time", { text: talk.date });
    const facts = [talk.speakers.join(", "), talk.event, date, lengthText(talk.cues.at(-1)?.[2] ?? 0)];
    listen.querySelector(".about").replaceChildren(...joined(facts));
    if (talk.media.url) listen.querySelector(".about").append(" · ", outLink(talk.media.url, "Source") ?? "");
    player = createPlayer(listen.querySelector(".player"), talk.media, talk.title, followTime);
    transcript.show(talk);
    chapters.hidden = !talk.chapters.length;
    chapters.replaceChildren(
      h("option", { value: "", text: "Chapters" }),
      ...talk.chapters.map(([ms, title]) => h("option", { value: ms, text: `${timecode(ms)} ${title}` })),
    );
    search.value = "";
    find();
    markCitations();
  }

  function close() {
    opening++;
    player?.destroy();
    player = talk = held = null;
    root.classList.remove("has-talk");
    listen.hidden = read.hidden = true;
    onMoment(null, { step: true });
  }

  /** The position of a cue by id, else of what is said at a time; -1 when neither fits. */
  function indexOf(cue, ms) {
    const named = cue ? talk.cues.findIndex(([id]) => id === cue) : -1;
    return named >= 0 || ms === null ? named : at(ms);
  }

  /** The last cue that has begun at `ms`; the first one before any has. */
  function at(ms) {
    let [low, high] = [0, talk.cues.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (talk.cues[middle][1] <= ms) low = middle + 1;
      else high = middle;
    }
    return talk.cues.length ? Math.max(0, low - 1) : -1;
  }

  function jump(index, { play, step = true, ms = null }) {
    const [cue, start, end] = talk.cues[index];
    // A moment may start some seconds before its sentence (lead-in); a second or less is an address's rounding.
    const lead = ms === null ? 0 : start - ms;
    const from = lead >= 1000 && lead <= LONGEST_LEAD_IN_MS ? ms : start;
    held = { from, end: Math.max(end, from + 250), reached: false, since: performance.now() };
    transcript.setFollowing(true);
    transcript.activate(index);
    if (play) {
      player.play(from);
      say(`${player.silent ? "Reading" : "Playing"} from ${timecode(from)}`);
    } else player.position(from);
    onMoment({ talk: talk.id, cue, ms: from }, { step });
  }

  function followTime(ms) {
    if (held && ms >= held.from - 100 && ms < held.end) {
      held.reached = true;
      return;
    }
    if (held && !held.reached && performance.now() - held.since < LONGEST_SEEK_MS) return;
    held = null;
    transcript.activate(at(ms));
  }

  function find() {
    matches = transcript.find(search.value);
    match = -1;
    count.textContent = search.value.trim().length < 2 ? "" : matches.length ? `${matches.length} found` : "none";
    if (matches.length) nextMatch(1);
  }

  function nextMatch(direction) {
    if (!matches.length) return;
    match = (match + direction + matches.length) % matches.length;
    count.textContent = `${match + 1} of ${matches.length}`;
    transcript.reveal(matches[match]);
  }

  function markCitations() {
    if (!talk) return;
    const position = new Map(talk.cues.map(([id], index) => [id, index]));
    transcript.cite(
      citations
        .filter((citation) => citation.talk === talk.id)
        .map((citation) => [position.get(citation.cue) ?? -1, position.get(citation.last_cue) ?? -2, citation.n]),
    );
  }

  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      nextMatch(event.shiftKey ? -1 : 1);
    }
  });
  chapters.addEventListener("change", () => {
    if (chapters.value) jump(at(Number(chapters.value)), { play: true });
    chapters.value = "";
  });
  follow.addEventListener("click", () => transcript.setFollowing(true));
  listen.querySelector("[data-part=close]").addEventListener("click", close);
  read.querySelector("[data-part=previous]").addEventListener("click", () => onStep(-1));
  read.querySelector("[data-part=next]").addEventListener("click", () => onStep(1));
  read.querySelector("[data-part=copy-moment]").addEventListener("click", async (event) => {
    const cue = talk.cues[Math.max(0, transcript.active)];
    await copyText(absolute(momentHref({ talk: talk.id, cue: cue[0], ms: cue[1] })));
    say("Link copied");
    confirmOn(event.target);
  });

  return {
    open,
    close,
    toggle: () => player?.toggle(),
    /** The citations of the answer on screen: they are marked in the transcript. */
    setCitations(list) {
      citations = list;
      for (const button of read.querySelectorAll(".steps button")) button.disabled = !list.length;
      markCitations();
    },
    get talk() {
      return talk;
    },
  };
}
