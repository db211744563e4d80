// The turns of this tab: questions and answers, kept over a reload in sessionStorage, and asked of the server.

import { createAnswer } from "./answer.js";
import { absolute, questionHref } from "./address.js";
import { confirmOn, copyText, count, h } from "./dom.js";

const KEPT_UNDER = "talkcite.conversation.1";
const TURNS_KEPT = 30;
const TURNS_SENT = 6;
const EMPTY = {
  searched: "", done: false, abstained: false, missing: "", talks_searched: 0, answered_by: "", notice: "",
  claims: [], citations: [], nearest: [], more: [],
};

/**
 * `ask(request)` and `stop()` talk to the server; `onPlay(moment)`: a moment was chosen; `onFocus(turn)`: the turn whose
 * citations count now; `onEdit(turn)`: its question is wanted in the composer; `onRunning(bool)`; `say(text)`;
 * `describe(filters)` in words.
 */
export function createConversation(list, { ask, stop, onPlay, onFocus, onEdit, onRunning, say, describe }) {
  let turns = [];
  let running = null;
  // Runs are told apart over reloads too: a late snapshot of an earlier page must not land in a new answer.
  let run = Date.now();

  function start(question, filters, { history = null, replace = null } = {}) {
    if (running) return;
    if (replace) dropFrom(replace);
    const past = history ?? pastTurns();
    const turn = { question, filters, view: EMPTY, run: ++run };
    turns.push(turn);
    list.append(draw(turn));
    running = turn;
    onRunning(true);
    onFocus(turn);
    turn.element.scrollIntoView({ block: "start" });
    ask({ run: turn.run, question, ...filters, history: past });
  }

  /** A snapshot from the server; those of a run that is over are ignored. */
  function receive(snapshot) {
    if (!running || snapshot?.run !== running.run) return;
    const turn = running;
    if (snapshot.error) {
      finish({ error: snapshot.error });
      say("The question could not be answered.");
      return;
    }
    turn.view = snapshot;
    refresh(turn);
    onFocus(turn);
    if (snapshot.done) {
      finish({});
      say(snapshot.abstained ? "The talks don’t cover this." : `Answer ready, ${count(snapshot.citations.length, "source")}.`);
    }
  }

  function finish(changes) {
    const turn = running;
    if (!turn) return;
    running = null;
    Object.assign(turn, changes);
    refresh(turn);
    keep();
    onRunning(false);
  }

  function interrupt(error) {
    finish({ error });
  }

  function stopRunning() {
    if (!running) return;
    stop();
    finish({ stopped: true });
    say("Stopped.");
  }

  function draw(turn) {
    turn.answer = createAnswer((moment) => {
      onFocus(turn);
      onPlay(moment);
    });
    turn.searchedLine = h("p", { class: "searched", hidden: true });
    turn.problem = h("p", { class: "problem", hidden: true, role: "alert" });
    turn.actions = h("div", { class: "actions" });
    const question = h("h2", { class: "question", text: turn.question });
    const within = describe(turn.filters);
    turn.element = h("li", { class: "turn" }, question);
    if (within) turn.element.append(h("p", { class: "within", text: `Only in: ${within}` }));
    turn.element.append(turn.searchedLine, turn.answer.element, turn.problem, turn.actions);
    turn.element.addEventListener("focusin", () => onFocus(turn));
    refresh(turn);
    return turn.element;
  }

  function refresh(turn) {
    const over = turn !== running && (turn.view.done || turn.stopped || turn.error);
    turn.answer.update(turn.view);
    if (over) turn.answer.stop();
    turn.element.setAttribute("aria-busy", String(!over));
    turn.problem.hidden = !turn.error && !turn.stopped;
    turn.problem.textContent = turn.error ?? (turn.stopped ? "Stopped." : "");
    showSearched(turn, over);
    turn.actions.replaceChildren(...(over ? actions(turn) : []));
  }

  /** The query really used, when it is not the question, and the way back to the question as it was asked. */
  function showSearched(turn, over) {
    const differs = turn.view.searched && turn.view.searched !== turn.question;
    turn.searchedLine.hidden = !differs;
    if (!differs) return;
    turn.searchedLine.replaceChildren("Searched for ", h("q", { text: turn.view.searched }));
    if (over) {
      const literally = () => start(turn.question, turn.filters, { history: [], replace: turn });
      turn.searchedLine.append(" ", action("Search my words instead", literally, "link"));
    }
  }

  function actions(turn) {
    const { view } = turn;
    const buttons = [action("Retry", () => start(turn.question, turn.filters, { replace: turn }))];
    buttons.push(action("Edit", () => !running && onEdit(turn)));
    if (view.markdown) buttons.push(copying("Copy as Markdown", () => view.markdown));
    if (view.json) buttons.push(copying("Copy as JSON", () => view.json));
    const first = view.citations[0];
    const href = () =>
      absolute(questionHref(turn.question, first && { talk: first.talk, cue: first.cue, ms: first.play_ms }));
    buttons.push(copying("Copy link", href));
    if (view.done) buttons.push(h("span", { class: "by", text: byLine(view) }));
    return buttons;
  }

  const action = (text, act, kind = "quiet") => h("button", { type: "button", class: kind, text, on: { click: act } });
  const copying = (label, text) =>
    action(label, async (event) => {
      await copyText(text());
      say("Copied");
      confirmOn(event.target);
    });

  function dropFrom(turn) {
    const from = turns.indexOf(turn);
    if (from < 0) return;
    for (const gone of turns.splice(from)) gone.element.remove();
    keep();
  }

  /** The finished turns, as the server takes them. */
  function pastTurns() {
    return turns
      .filter(({ view }) => view.done)
      .slice(-TURNS_SENT)
      .map(({ question, view }) => ({ question, answer: plain(view).slice(0, 8000) }));
  }

  function keep() {
    const kept = turns.slice(-TURNS_KEPT).map(({ question, filters, view, stopped, error }) => ({
      question, filters, view, stopped, error,
    }));
    // Full storage: the oldest turns go first; the newest answer is what a reload must bring back.
    for (let from = 0; from <= kept.length; from++) {
      try {
        sessionStorage.setItem(KEPT_UNDER, JSON.stringify(kept.slice(from)));
        return;
      } catch (error) {
        if (error.name !== "QuotaExceededError") throw error;
      }
    }
  }

  function restore() {
    turns = JSON.parse(sessionStorage.getItem(KEPT_UNDER) ?? "[]").map((turn) => ({ ...turn, run: ++run }));
    list.replaceChildren(...turns.map(draw));
    turns.at(-1)?.element.scrollIntoView({ block: "start" });
    if (turns.length) onFocus(turns.at(-1));
  }

  function clear() {
    stopRunning();
    turns = [];
    list.replaceChildren();
    keep();
    onFocus(null);
  }

  return {
    start, receive, restore, clear, interrupt,
    stop: stopRunning,
    get running() {
      return running !== null;
    },
    get last() {
      return turns.at(-1) ?? null;
    },
  };
}

const plain = (view) => (view.abstained ? "The talks don't cover this." : view.claims.map(({ text }) => text).join(" "));

function byLine({ answered_by, claims, abstained }) {
  if (abstained || !claims.length) return "";
  if (answered_by === "quotes") return "Quoted word for word";
  const legend = claims.some(({ support }) => support === "supported") ? ". ✓ means: backed by the cited words" : "";
  return `Written by ${answered_by}${legend}`;
}
