// One answer on the screen. It grows with every snapshot from the server: what is already there stays the same
// element, so that a chip can be clicked, and keeps the focus, while the answer still arrives.

import { count, h, keyed, outLink } from "./dom.js";
import { createStrips } from "./strip.js";

const SUPPORT = {
  supported: { sign: "✓", label: "Backed by the cited words", word: "" },
  weak: { sign: "≈", label: "The cited words back this only in part", word: "weakly backed" },
  unsupported: { sign: "?", label: "No cited words back this", word: "not backed by the talks" },
};
const CARDS_SHOWN = 5;
const CHIPS_SHOWN = 6;

/** `onPlay(moment)`: the reader chose a moment. Returns { element, update(view) }. */
export function createAnswer(onPlay) {
  const claims = keyed(h("div", { class: "claims" }));
  const cards = keyed(h("ol", { class: "cards" }));
  const nearest = keyed(h("ol", { class: "cards" }));
  const more = keyed(h("ol", { class: "cards" }));
  const strips = createStrips(onPlay);
  const notice = h("p", { class: "notice", hidden: true });
  const refusal = h("div", { class: "refusal", hidden: true });
  const missing = h("p", { class: "missing", hidden: true });
  const waiting = h("p", { class: "waiting" }, h("span", { class: "dots", "aria-hidden": "true" }), "Searching the talks");
  const showAll = h("button", {
    type: "button",
    class: "link",
    hidden: true,
    on: {
      click: () => {
        cards.element.classList.add("all");
        showAll.hidden = true;
      },
    },
  });
  const sources = h("section", { class: "sources", hidden: true, "aria-label": "Sources" }, h("h3", { text: "Sources" }));
  sources.append(cards.element, showAll);
  const folded = h("details", { class: "more", hidden: true }, h("summary"), more.element);
  const element = h("div", { class: "answer" });
  element.append(notice, refusal, claims.element, missing, waiting, strips.element, sources, nearest.element, folded);

  function update(view) {
    const moments = new Map(view.citations.map((citation) => [citation.n, citation]));
    const many = new Set(view.citations.map((citation) => citation.talk)).size > 1;
    put(notice, view.notice);
    element.dataset.by = view.answered_by === "quotes" ? "quotes" : "model";

    // A quote is what was said: there is nothing to check.
    const shown = view.answered_by === "quotes" ? view.claims.map((claim) => ({ ...claim, support: null })) : view.claims;
    claims.show(shown, (claim) => claimElement(claim, moments, view.answered_by, onPlay), supportMark);
    cards.show(view.citations, (citation) => card(citation, onPlay, many));
    sources.hidden = !view.citations.length;
    showAll.hidden = view.citations.length <= CARDS_SHOWN || cards.element.classList.contains("all");
    showAll.textContent = `Show all ${view.citations.length} sources`;

    refusal.hidden = !view.abstained;
    if (view.abstained) {
      refusal.replaceChildren(
        h("p", { class: "verdict", text: "The talks don’t cover this." }),
        h("p", { text: refusalDetail(view) }),
      );
    }
    nearest.show(view.nearest, (moment) => card(moment, onPlay, true));
    put(missing, view.missing && !view.abstained ? `Not covered: ${view.missing}` : "");

    strips.update(view);
    more.show(view.more, (moment) => card(moment, onPlay, true));
    folded.hidden = !view.more.length;
    folded.firstChild.textContent = `${count(view.more.length, view.citations.length ? "more moment" : "moment")} found`;
    // What was found is there to read while the first sentence is being written; then it makes room.
    const nothingElse = !view.done && !view.claims.length;
    if (nothingElse !== folded.classList.contains("early")) folded.open = nothingElse;
    folded.classList.toggle("early", nothingElse);

    waiting.hidden = view.done;
    waiting.lastChild.textContent = view.claims.length ? "Writing" : view.searched ? "Reading" : "Searching the talks";
  }

  return { element, update, stop: () => (waiting.hidden = true) };
}

function refusalDetail({ talks_searched, nearest }) {
  const searched = talks_searched ? `${count(talks_searched, "talk")} searched. ` : "";
  return searched + (nearest.length ? "The nearest moments, which may not answer it:" : "Nothing near it was found.");
}

function claimElement(claim, moments, answeredBy, onPlay) {
  const cited = claim.citations.map((n) => moments.get(n)).filter(Boolean);
  const text = h("span", { class: "text", text: claim.text });
  const element = h("p", { class: "claim" }, answeredBy === "quotes" ? quoted(text) : text, " ");
  const chips = cited.map((moment) => chip(moment, onPlay));
  const folded = chips.splice(CHIPS_SHOWN);
  // The mark stays on the line of the last chip.
  const tail = h("span", { class: "tail" }, chips.pop());
  element.append(...chips.flatMap((one) => [one, " "]), tail);
  if (folded.length) {
    const unfold = () => unfolder.replaceWith(...folded.flatMap((one) => [one, " "]));
    const unfolder = h("button", { type: "button", class: "link", text: `+${folded.length}`, on: { click: unfold } });
    unfolder.setAttribute("aria-label", `${folded.length} more citations`);
    tail.before(unfolder, " ");
  }
  return element;
}

const quoted = (text) => h("q", {}, text);

/** Keeps the mark of a claim in step: the check may follow later than the claim. */
function supportMark(element, { support }) {
  if (element.dataset.support === (support ?? "")) return;
  element.dataset.support = support ?? "";
  element.querySelector(".support")?.remove();
  const known = SUPPORT[support];
  if (!known) return;
  const sign = h("span", { "aria-hidden": "true", text: known.word ? `${known.sign} ${known.word}` : known.sign });
  element
    .querySelector(".tail")
    .append(h("span", { class: "support", title: known.label }, sign, h("span", { class: "sr-only", text: known.label })));
}

/** A link to a moment: the page plays it, a new tab or a copied link opens it too. */
function chip(moment, onPlay) {
  const label = `Play ${moment.time}, source ${moment.n}: ${moment.title}`;
  return h(
    "a",
    { class: "chip", href: moment.href, title: moment.title, "aria-label": label, on: { click: plays(moment, onPlay) } },
    h("span", { class: "n", text: moment.n }),
    h("span", { text: moment.time }),
  );
}

const plays = (moment, onPlay) => (event) => {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  onPlay(moment);
};

function card(moment, onPlay, withTalk) {
  const who = moment.speakers.join(", ");
  const where = [withTalk || !who ? moment.title : "", moment.event, moment.date].filter(Boolean).join(" · ");
  const play = h(
    "a",
    {
      class: "play",
      href: moment.href,
      "aria-label": `Play ${moment.time}: ${moment.title}`,
      on: { click: plays(moment, onPlay) },
    },
    h("span", { class: "play-sign", "aria-hidden": "true" }),
    moment.time,
  );
  const out = moment.url ? outLink(moment.url, "Source", `Open ${moment.title} at its source`) : null;
  return h(
    "li",
    { class: moment.n ? "card" : "card uncited", data: moment.n ? { n: moment.n } : {} },
    h(
      "div",
      { class: "head" },
      moment.n ? h("span", { class: "n", text: moment.n }) : null,
      who ? h("b", { text: who }) : null,
      h("span", { class: "where", text: where }),
    ),
    h("div", { class: "ways" }, out, play),
    h(
      "blockquote",
      {},
      moment.before ? h("span", { class: "context", text: `${moment.before} ` }) : null,
      h("span", { text: moment.quote }),
      moment.after ? h("span", { class: "context", text: ` ${moment.after}` }) : null,
    ),
  );
}

function put(element, text) {
  element.hidden = !text;
  if (element.textContent !== text) element.textContent = text;
}
