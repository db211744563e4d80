// The page. Gradio calls `mount` once; everything is wired here, each part lives in a module of its own.

import { readAbout, showUser, signInLink } from "./account.js";
import { readAddress, showInAddress } from "./address.js";
import { createConversation } from "./conversation.js";
import { h } from "./dom.js";
import { createLibrary } from "./library.js";
import { createModel } from "./model.js";
import { createPane } from "./pane.js";
import { createUploads } from "./upload.js";

const NOTICE_MS = 4000;

/** `ask(request)`, `stop()`: events for the server; `onAnswer(show)`: `show` gets every snapshot of an answer. */
export function mount({ element, ask, stop, onAnswer }) {
  const root = element.querySelector(".desk");
  const part = (name) => root.querySelector(`[data-part=${name}]`);
  const field = root.querySelector("textarea");
  const banner = root.querySelector(".banner");
  const editing = root.querySelector(".editing");
  let editedTurn = null;
  let moment = null; // what is shown: { talk, cue, ms }
  let focused = null; // the turn that the reader is at, its citations, and
  let step = -1; // which of them was played last
  let citations = [];

  const say = (text) => {
    part("live").textContent = text;
  };

  const pane = createPane(root, {
    loadTalk: (id) => library.load(id),
    say,
    onStep: playCitation,
    onMoment(next, { step }) {
      moment = next;
      part("show-read").textContent = pane.talk ? "Transcript" : "Talks";
      showInAddress(moment, conversation.last?.question ?? "", { step });
    },
  });

  const conversation = createConversation(root.querySelector(".turns"), {
    ask,
    stop,
    say,
    describe: (filters) => library.describe(filters),
    onPlay(chosen) {
      step = citations.findIndex((citation) => citation.n === chosen.n);
      play(chosen);
    },
    onFocus(turn) {
      if (turn !== focused) step = -1;
      focused = turn;
      if (turn?.view.citations === citations) return;
      citations = turn?.view.citations ?? [];
      pane.setCitations(citations);
    },
    onEdit(turn) {
      editedTurn = turn;
      editing.hidden = false;
      fill(turn.question);
      field.focus();
    },
    onRunning(running) {
      part("send").hidden = running;
      part("stop").hidden = !running;
      showState();
    },
  });

  const library = createLibrary(root, {
    onOpen: (id) => openTalk(id),
    isBusy: () => conversation.running,
    onTalks() {
      showState();
      if (root.dataset.ready !== undefined && conversation.last === null) showExamples();
    },
    onServer(answers, restarted) {
      banner.hidden = answers;
      banner.textContent = answers ? "" : "The server does not answer. Trying again…";
      if (conversation.running && (!answers || restarted)) {
        conversation.interrupt("The connection to the server broke. Retry when it is back.");
      }
    },
    onSignedOut() {
      banner.replaceChildren("You are signed out.", signInLink());
      banner.hidden = false;
      conversation.interrupt("You are signed out. Sign in, then retry.");
    },
  });

  function showState() {
    const empty = !library.scope;
    root.querySelector(".empty").hidden = !empty;
    root.querySelector(".composer").hidden = empty;
    root.querySelector(".start").hidden = empty || conversation.last !== null;
    part("scope").textContent = library.scope;
    part("clear").hidden = conversation.last === null;
  }

  /** Plays the next (1) or previous (-1) citation of the answer that the reader is at. */
  function playCitation(direction) {
    if (!citations.length) return;
    step = (step + direction + citations.length) % citations.length;
    if (step < 0) step = citations.length - 1;
    play(citations[step]);
  }

  const play = ({ talk, cue, play_ms: ms }) => openTalk(talk, { cue, ms, play: true });

  /** Opens a talk, and says so when there is none of that id. */
  async function openTalk(id, options) {
    const opened = await pane.open(id, options);
    if (!opened && banner.hidden) {
      banner.textContent = "This talk is not in the library.";
      banner.hidden = false;
      setTimeout(() => library.look(), NOTICE_MS); // which also takes the notice away
    }
  }

  function submit() {
    const question = field.value.trim();
    if (!question || conversation.running) return;
    const replace = editedTurn;
    cancelEdit();
    fill("");
    askFor(question, replace);
  }

  function askFor(question, replace = null) {
    show("ask");
    conversation.start(question, library.filters, { replace });
    showInAddress(moment, question, { step: false });
    showState();
  }

  function fill(text) {
    field.value = text;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }

  function cancelEdit() {
    editedTurn = null;
    editing.hidden = true;
  }

  /** Narrow screens show one part at a time. */
  function show(view) {
    root.dataset.view = view;
    for (const button of root.querySelectorAll("[data-show]")) {
      button.setAttribute("aria-pressed", String(button.dataset.show === view));
    }
  }

  async function restoreFromAddress({ step }) {
    const { talk, cue, ms } = readAddress();
    const wanted = talk || (cue && pane.talk?.id);
    if (!wanted) {
      if (pane.talk && !step) pane.close();
      return;
    }
    await openTalk(wanted, { cue, ms, play: false, step });
    // On narrow screens, whoever follows a link to a moment wants to read it; whoever comes back to an answer, that.
    if (pane.talk && conversation.last === null) show("read");
  }

  async function showExamples() {
    const response = await fetch("desk/examples");
    if (!response.ok) return;
    const questions = await response.json();
    const button = (text) => h("button", { type: "button", text, on: { click: () => askFor(text) } });
    root.querySelector(".examples").replaceChildren(...questions.map((text) => h("li", {}, button(text))));
  }

  /** Lets talks be added, where the server takes some. */
  function offerUploads({ uploads }) {
    if (uploads) {
      createUploads(root, { limits: uploads, onStored: (ids) => library.waitFor(ids), onOpen: showTalk, say });
    }
  }

  function showTalk(id) {
    show("read");
    openTalk(id);
  }

  root.querySelector(".composer").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  field.addEventListener("input", () => fill(field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
    if (event.key === "Escape" && editedTurn) {
      cancelEdit();
      fill("");
    }
  });
  part("stop").addEventListener("click", conversation.stop);
  part("cancel-edit").addEventListener("click", () => {
    cancelEdit();
    fill("");
  });
  part("clear").addEventListener("click", () => {
    conversation.clear();
    showInAddress(moment, "", { step: false });
    showState();
    field.focus();
  });
  for (const button of root.querySelectorAll("[data-show]")) {
    button.addEventListener("click", () => show(button.dataset.show));
  }
  part("close").addEventListener("click", () => show("read"));
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, textarea, select, video, audio, [contenteditable]")) return;
    const keys = {
      "/": () => field.focus(),
      "[": () => playCitation(-1),
      "]": () => playCitation(1),
      " ": () => (event.target.closest?.("button, a, summary") ? null : pane.toggle()),
    };
    if (!keys[event.key] || keys[event.key]() === null) return;
    event.preventDefault();
  });
  window.addEventListener("popstate", () => restoreFromAddress({ step: false }));

  onAnswer((snapshot) => {
    if (snapshot.refused) {
      refused();
      return;
    }
    conversation.receive(snapshot);
    showState();
  });

  /** The question was not taken: looking tells whether the server is gone or wants to know who asks, else it is busy. */
  async function refused() {
    await library.look();
    conversation.interrupt("The server takes no more questions just now. Retry in a minute.");
  }

  async function begin() {
    const asked = readAddress().question;
    const [about] = await Promise.all([readAbout(), library.look()]);
    if (about) showUser(root, about.user);
    conversation.restore();
    showState();
    await restoreFromAddress({ step: false });
    // A question from the address is only filled in: whoever made the link does not get to ask.
    if (asked && asked !== conversation.last?.question) fill(asked);
    root.dataset.ready = "";
    if (conversation.last === null) await showExamples();
    library.watch();
    if (about) offerUploads(about);
    createModel(root, part("model"), { say });
  }
  begin();
}
