// Add talks: files are picked or dropped, sent, read by the server in the background, and reported on.

import { count, h } from "./dom.js";
import { droppedFiles, packed } from "./files.js";
import { failure, reportSummary, reportView } from "./report.js";

const KEPT_UNDER = "talkcite.uploads.1";
const POLL_MS = 700;
const MEGABYTE = 1e6;
const FORGOTTEN = {}; // what the server says of a job from before its start

/**
 * `limits` is how much one upload may bring: { files, bytes }. `onStored(ids)` resolves once
 * these talks can be asked; `onOpen(id)` opens a talk; `say(text)` tells a screen reader.
 */
export function createUploads(root, { limits, onStored, onOpen, say }) {
  const panel = root.querySelector(".uploads");
  const list = panel.querySelector("ol");
  const cover = root.querySelector(".dropping");
  const picker = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files of talks to add" });
  root.append(picker);
  let jobs = JSON.parse(sessionStorage.getItem(KEPT_UNDER) ?? "[]"); // those that a reload must not lose sight of
  let sending = 0;
  let queue = Promise.resolve();

  /** Sends files, one upload after the other. */
  function add(found) {
    if (!found.length) return;
    panel.hidden = false;
    const { uploads, tooLarge } = packed(found, limits);
    for (const file of tooLarge) list.append(h("li", { class: "upload" }, h("ul", { class: "report" }, failure(excess(file)))));
    for (const files of uploads) {
      const line = uploadLine(count(files.length, "file"));
      queue = queue.then(() => send(files, line));
    }
  }

  const excess = ({ name, size }) =>
    `${name}: ${Math.ceil(size / MEGABYTE)} MB; one upload takes ${limits.bytes / MEGABYTE} MB and ${limits.files} files of one talk.`;

  function uploadLine(what) {
    const state = h("p", { class: "state", text: `Waiting to send ${what}` });
    const bar = h("progress", { max: 1, "aria-label": "Progress" });
    const element = h("li", { class: "upload" }, state, bar);
    list.append(element);
    return { element, state, bar, what };
  }

  async function send(files, line) {
    try {
      sending += 1;
      const job = await post(files, (part) => {
        line.bar.value = part;
        line.state.textContent = part < 1 ? `Sending ${line.what}` : `Sent ${line.what}`;
      }).finally(() => (sending -= 1));
      keep([...jobs, { id: job.job_id, what: line.what }]);
      await follow(job.job_id, line);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const again = h("button", { type: "button", class: "quiet", text: "Try again" });
      again.addEventListener("click", () => {
        line.element.remove();
        add(files.map((file) => ({ file, folder: "" })));
      });
      end(line, error.message, again);
    }
  }

  /** Asks how far a job is until it is over; a server that does not answer is asked again. */
  async function follow(id, line) {
    let job = null;
    while (line.bar.isConnected) {
      job = await ask(id, job);
      if (job === FORGOTTEN) end(line, "The server was started again meanwhile; what it had stored until then is kept.");
      else if (job?.state === "failed") end(line, job.error);
      else if (job?.state === "done") {
        await onStored(job.report.files.map((entry) => entry.talk_id).filter(Boolean));
        end(line, reportSummary(job.report), reportView(job.report, onOpen));
      } else {
        if (job) showProgress(job, line);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    }
    keep(jobs.filter((other) => other.id !== id));
  }

  function showProgress({ state, files, files_done: done }, { state: text, bar, what }) {
    text.textContent =
      state === "waiting" ? "Waiting for other uploads" : files > 1 ? `Reading ${done + 1} of ${files}` : `Reading ${what}`;
    if (files > 1 && state === "running") bar.value = done / files;
    else bar.removeAttribute("value");
  }

  function end(line, text, ...more) {
    line.bar.remove();
    line.state.textContent = text;
    line.element.append(...more);
    panel.hidden = false;
    say(text);
  }

  function keep(next) {
    jobs = next;
    sessionStorage.setItem(KEPT_UNDER, JSON.stringify(jobs));
  }

  function pick() {
    picker.value = "";
    picker.click();
  }

  picker.addEventListener("change", () => add([...picker.files].map((file) => ({ file, folder: "" }))));
  for (const button of root.querySelectorAll("[data-add]")) {
    button.addEventListener("click", pick);
    button.hidden = false;
  }
  panel.querySelector("[data-part=close-uploads]").addEventListener("click", () => {
    for (const line of [...list.children]) if (!line.querySelector("progress")) line.remove();
    panel.hidden = true;
  });

  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  window.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    cover.hidden = false;
  });
  window.addEventListener("dragleave", (event) => event.relatedTarget === null && (cover.hidden = true));
  window.addEventListener("drop", async (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    cover.hidden = true;
    add(await droppedFiles(event.dataTransfer));
  });
  // What is still on its way to the server would be lost.
  window.addEventListener("beforeunload", (event) => sending && event.preventDefault());

  for (const { id, what } of jobs) {
    panel.hidden = false;
    follow(id, uploadLine(what));
  }
}

/** The server does not take an upload; the message is for people. */
class Refused extends Error {}

/** Sends files and resolves to the job; `onPart(0…1)` tells how much is sent. fetch can't tell that. */
function post(files, onPart) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  const request = new XMLHttpRequest();
  request.upload.addEventListener("progress", ({ loaded, total }) => onPart(total ? loaded / total : 1));
  return new Promise((resolve, reject) => {
    request.addEventListener("load", () => {
      if (request.status === 202) resolve(JSON.parse(request.responseText));
      else reject(new Refused(reasonIn(request)));
    });
    request.addEventListener("error", () => reject(new Refused("The connection broke before everything was sent.")));
    request.open("POST", "api/ingest");
    request.send(form);
  });
}

/** Why the server refused, in its words where they are for people; a proxy in front may answer with a page. */
function reasonIn(request) {
  const isProblem = request.getResponseHeader("Content-Type")?.startsWith("application/problem+json");
  return isProblem ? JSON.parse(request.responseText).detail : `The server refused it (HTTP ${request.status}).`;
}

/** How far a job is, FORGOTTEN when the server does not know it, `known` when nobody answers. */
async function ask(id, known) {
  try {
    const response = await fetch(`api/jobs/${encodeURIComponent(id)}`, { cache: "no-store" });
    return response.ok ? await response.json() : response.status === 404 ? FORGOTTEN : known;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // fetch fails with a TypeError when nobody answers
    return known;
  }
}
