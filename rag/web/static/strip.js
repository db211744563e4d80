// Where in each recording an answer lies: a bar per talk, like a seek bar, with what was found and what is cited.
// It is for the eye and the mouse; chips and cards offer the same moments to the keyboard and to screen readers.

import { h, keyed, timecode } from "./dom.js";

const TALKS_SHOWN = 5;

/** `onPlay(moment)`: the reader chose a place. Returns { element, update(view) }. */
export function createStrips(onPlay) {
  const rows = keyed(h("div", { class: "rows" }));
  const legend = h(
    "p",
    { class: "legend" },
    "Where it is said: ",
    h("span", { class: "pin", text: "1" }),
    " cited ",
    h("span", { class: "heat" }),
    " also about it. Click to listen from there.",
  );
  const element = h("div", { class: "strips", "aria-hidden": "true" }, legend, rows.element);
  return {
    element,
    update(view) {
      rows.show(view.abstained ? [] : byTalk(view), (row) => strip(row, onPlay));
      element.hidden = rows.element.hidden;
    },
  };
}

/** Cited talks first, then those where something was found. */
function byTalk({ citations, more }) {
  const rows = new Map();
  for (const moment of [...citations, ...more]) {
    const { talk, title, duration_ms: length } = moment;
    if (!rows.has(talk)) rows.set(talk, { talk, title, length, moments: [] });
    const { n, cue, play_ms, end_ms, time } = moment;
    rows.get(talk).moments.push({ n, talk, cue, play_ms, end_ms, time });
  }
  return [...rows.values()].filter(({ length }) => length > 0).slice(0, TALKS_SHOWN);
}

function strip({ talk, title, length, moments }, onPlay) {
  const percent = (ms) => `${((Math.min(ms, length) / length) * 100).toFixed(2)}%`;
  const marks = moments.map((moment) => {
    const mark = h("span", { class: moment.n ? "pin" : "heat", title: moment.time, text: moment.n ?? "" });
    mark.style.left = percent(moment.play_ms);
    if (!moment.n) mark.style.width = percent(moment.end_ms - moment.play_ms);
    mark.addEventListener("click", (event) => {
      event.stopPropagation();
      onPlay(moment);
    });
    return mark;
  });
  const track = h("div", { class: "track" }, ...marks);
  track.addEventListener("click", (event) => {
    const { left, width } = track.getBoundingClientRect();
    onPlay({ talk, cue: "", play_ms: Math.round(((event.clientX - left) / width) * length) });
  });
  return h("div", { class: "strip" }, h("span", { class: "name", text: title }), h("span", { text: timecode(length) }), track);
}
