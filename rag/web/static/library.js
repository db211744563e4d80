// The talks: read from the server, listed, filtered, counted; and the watch on whether the server is still there.

import { count, h, joined, lengthText } from "./dom.js";

const LOOK_EVERY_MS = 20000;
const LOOK_WHILE_RUNNING_MS = 3000;
const LOOK_FOR_NEW_MS = 300;
const NEW_WITHIN_LOOKS = 60;
const FACETS = [
  { name: "talk", label: "Talk", of: (talk) => [talk.id], text: (talk) => talk.title },
  { name: "speaker", label: "Speaker", of: (talk) => talk.speakers },
  { name: "event", label: "Event", of: (talk) => [talk.event] },
  { name: "year", label: "Year", of: (talk) => [talk.date.slice(0, 4)] },
];

/**
 * `onTalks(talks)`: the list has changed; `onOpen(id)`: a talk was chosen; `onServer(answers, restarted)`: whether the
 * server answers, and whether it is another one than before; `onSignedOut()`: it wants to know who asks; `isBusy()`: look
 * more often.
 */
export function createLibrary(root, { onTalks, onOpen, onServer, onSignedOut, isBusy }) {
  const search = root.querySelector(".library input");
  const list = root.querySelector(".talks");
  const nothing = root.querySelector(".nothing");
  const filters = root.querySelector(".filters");
  const selects = new Map();
  const loaded = new Map();
  let talks = [];
  let etag = "";
  let started = "";

  for (const facet of FACETS) {
    const select = h("select", { "aria-label": facet.label, name: facet.name, on: { change: drawFilters } });
    selects.set(facet, select);
    filters.append(select);
  }

  /** Asks the server for the list; a failure is told to `onServer`, and the next look comes by itself. */
  async function look() {
    try {
      const response = await fetch("desk/talks", { headers: etag ? { "If-None-Match": etag } : {}, cache: "no-store" });
      if (response.status === 401) {
        onSignedOut();
        return;
      }
      const restarted = started !== "" && response.headers.get("X-Started") !== started;
      started = response.headers.get("X-Started") ?? "";
      onServer(response.ok || response.status === 304, restarted);
      if (response.ok) {
        etag = response.headers.get("ETag") ?? "";
        talks = await response.json();
        loaded.clear();
        drawList();
        drawFilters();
        onTalks(talks);
      }
    } catch (error) {
      noAnswer(error);
    }
  }

  function noAnswer(error) {
    if (!(error instanceof TypeError)) throw error; // fetch fails with a TypeError when nobody answers
    onServer(false, false);
  }

  /** Looks until all these talks are listed, which takes the server a second after it has stored them. */
  async function waitFor(ids) {
    for (let looks = 0; looks < NEW_WITHIN_LOOKS; looks++) {
      await look();
      if (ids.every((wanted) => talks.some(({ id }) => id === wanted))) return;
      await new Promise((resolve) => setTimeout(resolve, LOOK_FOR_NEW_MS));
    }
  }

  async function watch() {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, isBusy() ? LOOK_WHILE_RUNNING_MS : LOOK_EVERY_MS));
      if (!document.hidden) await look();
    }
  }

  /** A talk with its transcript; null when there is none of that id, or nobody answers. */
  async function load(id) {
    if (loaded.has(id)) return loaded.get(id);
    try {
      const response = await fetch(`desk/talks/${encodeURIComponent(id)}`);
      if (response.status === 401) onSignedOut();
      if (!response.ok) return null;
      loaded.set(id, await response.json());
      return loaded.get(id);
    } catch (error) {
      noAnswer(error);
      return null;
    }
  }

  function drawList() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = talks.filter((talk) => {
      const text = [talk.title, ...talk.speakers, talk.event, talk.date].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    list.replaceChildren(...found.map(entry));
    nothing.hidden = found.length > 0 || !talks.length;
  }

  function entry(talk) {
    const facts = [talk.event, talk.date && h("time", { text: talk.date }), h("i", { text: lengthText(talk.duration_ms) })];
    const button = h(
      "button",
      { type: "button", on: { click: () => onOpen(talk.id) } },
      h("b", { text: talk.title }),
      talk.speakers.length ? h("span", { class: "who", text: talk.speakers.join(", ") }) : null,
      h("span", { class: "facts" }, ...joined(facts)),
    );
    return h("li", {}, button);
  }

  /** Fills the filters; the number behind a choice is how many talks it leaves under the other filters. */
  function drawFilters() {
    for (const [facet, select] of selects) {
      const chosen = select.value;
      const counts = new Map();
      for (const talk of talks.filter((talk) => matches(talk, facet))) {
        for (const value of new Set(facet.of(talk).filter(Boolean))) {
          const known = counts.get(value) ?? { n: 0, text: facet.text?.(talk) ?? value };
          known.n += 1;
          counts.set(value, known);
        }
      }
      const options = [...counts].sort(([, a], [, b]) => a.text.localeCompare(b.text));
      select.replaceChildren(
        h("option", { value: "", text: facet.label }),
        ...options.map(([value, { n, text }]) => h("option", { value, text: facet.name === "talk" ? text : `${text} (${n})` })),
      );
      select.value = counts.has(chosen) ? chosen : "";
      select.hidden = new Set(talks.flatMap(facet.of).filter(Boolean)).size < 2;
      select.classList.toggle("set", select.value !== "");
    }
  }

  function matches(talk, except) {
    return [...selects].every(
      ([facet, select]) => facet === except || !select.value || facet.of(talk).includes(select.value),
    );
  }

  search.addEventListener("input", drawList);
  document.addEventListener("visibilitychange", () => !document.hidden && look());

  return {
    look,
    watch,
    waitFor,
    load,
    /** What the reader restricts the search to: { talk, speaker, event, year }, "" for no restriction. */
    get filters() {
      return Object.fromEntries([...selects].map(([facet, select]) => [facet.name, select.value]));
    },
    describe: ({ talk, ...others }) =>
      [talk && (talks.find(({ id }) => id === talk)?.title ?? talk), ...Object.values(others)].filter(Boolean).join(", "),
    get scope() {
      const minutes = talks.reduce((sum, talk) => sum + talk.duration_ms, 0);
      return talks.length ? `${count(talks.length, "recorded talk")}, ${lengthText(minutes)} in all.` : "";
    },
  };
}
