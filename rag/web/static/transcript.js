// The transcript of one talk: thousands of cues, of which the browser lays out what is visible (`content-visibility`
// on blocks of cues, see listen.css). One cue is active; it is kept in view until the reader scrolls.

import { momentHref } from "./address.js";
import { h, timecode } from "./dom.js";

const BLOCK = 40;
const SHORTEST_SEARCH = 2;
// How long a scroll may go on settling while blocks that come into view get their real height, in frames.
const SETTLE_FRAMES = 3;
const ROW = h(
  "div",
  { class: "cue" },
  h("a", { class: "time", tabindex: -1, title: "Play from here" }),
  h("span", { class: "words" }),
);

/**
 * `onChoose(index)`: the reader wants to play from a cue. `onFollow(following)`: whether the active cue is kept in view.
 */
export function createTranscript(box, { onChoose, onFollow }) {
  let talk = null;
  let rows = [];
  let active = -1;
  let focused = 0;
  let following = true;
  let matches = [];

  function show(next) {
    talk = next;
    active = -1;
    matches = [];
    rows = talk.cues.map(row);
    const chapters = [...talk.chapters].sort((a, b) => a[0] - b[0]);
    const blocks = [];
    rows.forEach((element, index) => {
      if (index % BLOCK === 0) blocks.push(h("div", { class: "block" }));
      while (chapters.length && chapters[0][0] <= talk.cues[index][1]) {
        blocks.at(-1).append(h("h3", { class: "chapter", text: chapters.shift()[1] }));
      }
      blocks.at(-1).append(element);
    });
    box.replaceChildren(...blocks);
    box.scrollTop = 0;
    setTabStop(0);
    setFollowing(true);
  }

  function row([id, start, , text, speaker], index) {
    const element = ROW.cloneNode(true); // thousands of these: copying is several times faster than building
    const [time, words] = element.children;
    element.dataset.index = index;
    time.href = momentHref({ talk: talk.id, cue: id, ms: start });
    time.textContent = timecode(start);
    words.textContent = text;
    if (speaker && speaker !== talk.cues[index - 1]?.[4]) element.prepend(h("span", { class: "speaker", text: speaker }));
    return element;
  }

  function activate(index) {
    if (index === active) return;
    rows[active]?.classList.remove("active");
    rows[active]?.removeAttribute("aria-current");
    active = index;
    rows[active]?.classList.add("active");
    rows[active]?.setAttribute("aria-current", "true");
    if (following) bringIntoView(active);
  }

  /** Scrolls the list, and only the list, so that a cue stands in its upper half. */
  function bringIntoView(index, frames = SETTLE_FRAMES) {
    const element = rows[index];
    if (!element || !box.clientHeight) return;
    const offset = element.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight * 0.35;
    if (Math.abs(offset) > 2) box.scrollTop += offset;
    if (frames > 1) requestAnimationFrame(() => following && index === active && bringIntoView(index, frames - 1));
  }

  function setFollowing(on) {
    following = on;
    onFollow(on);
    if (on) bringIntoView(active);
  }

  function setTabStop(index) {
    rows[focused]?.querySelector(".time").setAttribute("tabindex", "-1");
    focused = Math.max(0, Math.min(index, rows.length - 1));
    rows[focused]?.querySelector(".time").setAttribute("tabindex", "0");
  }

  function find(query) {
    for (const index of matches) rows[index].querySelector(".words").textContent = talk.cues[index][3];
    matches = [];
    const wanted = query.trim().toLowerCase();
    if (!talk || wanted.length < SHORTEST_SEARCH) return matches;
    talk.cues.forEach(([, , , text], index) => {
      if (!text.toLowerCase().includes(wanted)) return;
      matches.push(index);
      mark(rows[index].querySelector(".words"), text, wanted);
    });
    return matches;
  }

  box.addEventListener("click", (event) => {
    const cue = event.target.closest(".cue");
    if (!cue || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (String(getSelection())) return; // the reader selects words
    event.preventDefault();
    setTabStop(Number(cue.dataset.index));
    onChoose(focused);
  });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!step || !rows.length || !event.target.closest(".time")) return;
    event.preventDefault();
    setFollowing(false);
    setTabStop(focused + step);
    rows[focused].querySelector(".time").focus();
  });
  // The reader scrolls: by wheel, touch, or the list's own scroll bar.
  for (const type of ["wheel", "touchmove"]) {
    box.addEventListener(type, () => following && setFollowing(false), { passive: true });
  }
  // The list was hidden (narrow screens) or changes its size: the active cue comes back into view.
  new ResizeObserver(() => following && bringIntoView(active)).observe(box);
  box.addEventListener("pointerdown", (event) => event.target === box && following && setFollowing(false));

  return {
    show,
    activate,
    find,
    setFollowing,
    /** Brings a cue into view without making it the active one. */
    reveal(index) {
      setFollowing(false);
      setTabStop(index);
      const element = rows[index];
      element?.scrollIntoView({ block: "center" });
    },
    /** Marks the cues that the answer on screen cites; `spans` are [first, last, n]. */
    cite(spans) {
      for (const element of box.querySelectorAll(".cited")) {
        element.classList.remove("cited");
        delete element.dataset.n;
      }
      for (const [first, last, n] of spans) {
        for (let index = first; index <= last; index++) rows[index]?.classList.add("cited");
        if (rows[first]) rows[first].dataset.n = n;
      }
    },
    get active() {
      return active;
    },
  };
}

/** Shows `text` in `words` with every occurrence of `wanted` (lower case) marked. */
function mark(words, text, wanted) {
  const lower = text.toLowerCase();
  words.replaceChildren();
  if (lower.length !== text.length) {
    words.append(text); // lower case changed the length (as in "İ"): positions would not fit
    return;
  }
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    words.append(text.slice(from, at), h("mark", { text: text.slice(at, at + wanted.length) }));
    from = at + wanted.length;
  }
  words.append(text.slice(from));
}
