// What became of uploaded files, for people: a line for each talk, and what was noticed about its captions behind it.

import { count, h, joined, lengthText } from "./dom.js";

const DONE = { added: "added", replaced: "updated", unchanged: "was here already", checked: "read" };

/** The report of a job as an element; `onOpen(id)` opens a talk. */
export function reportView({ files, ignored }, onOpen) {
  return h(
    "ul",
    { class: "report" },
    ...files.map((entry) => (entry.status === "failed" ? failure(entry.error) : talk(entry, onOpen))),
    ...ignored.map(({ path, why }) => h("li", { class: "left-out" }, h("b", { text: path }), h("p", { text: `Left out: ${why}.` }))),
  );
}

/** "2 talks added, 1 file could not be read." */
export function reportSummary({ files }) {
  const counted = Object.entries(DONE).map(([status, word]) => {
    const n = files.filter((entry) => entry.status === status).length;
    return n ? `${count(n, "talk")} ${word}` : "";
  });
  const failed = files.filter(({ status }) => status === "failed").length;
  if (failed) counted.push(`${count(failed, "file")} could not be read`);
  return `${counted.filter(Boolean).join(", ") || "No captions found"}.`;
}

export const failure = (text) => h("li", { class: "failed" }, h("p", { text }));

function talk(entry, onOpen) {
  const facts = [
    count(entry.cues, "sentence"),
    lengthText(entry.minutes * 60000),
    entry.recording && "with its recording",
    entry.status !== "added" && DONE[entry.status],
  ];
  const notes = [...entry.skipped, ...entry.warnings];
  const lines = [...notes, ...entry.repaired];
  const open = h("button", { type: "button", class: "quiet", text: "Open", on: { click: () => onOpen(entry.talk_id) } });
  open.setAttribute("aria-label", `Open ${entry.title}`);
  const summary = notes.length ? `${count(notes.length, "thing")} to look at` : "How it was read";
  return h(
    "li",
    { class: "stored" },
    h("div", { class: "talk" }, h("b", { text: entry.title }), h("p", {}, ...joined(facts))),
    open,
    lines.length
      ? h("details", {}, h("summary", { text: summary }), h("ul", {}, ...lines.map((text) => h("li", { text }))))
      : null,
  );
}
