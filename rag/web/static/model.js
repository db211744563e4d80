// Which language model writes the answers, how far it is, and, for the owner of the page, the choice of another one.

import { h } from "./dom.js";

const POLL_MS = 1000;
const BUSY = ["fetching", "loading"];

/** Shows the model in `line`; `say(text)` tells a screen reader when it is ready. */
export function createModel(root, line, { say }) {
  const dialog = root.querySelector(".choose-model");
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector("[role=alert]");
  const text = h("span");
  const bar = h("progress", { max: 1, hidden: true, "aria-label": "Fetching the model" });
  const open = h("button", { type: "button", class: "link", text: "Change", hidden: true });
  line.replaceChildren(text, bar, open);
  let before = "";

  async function look() {
    const response = await fetch("desk/model", { cache: "no-store" }).catch(() => null);
    if (response?.ok) show(await response.json());
    else setTimeout(look, POLL_MS);
  }

  function show(model) {
    text.textContent = text.title = sentence(model);
    bar.hidden = model.state !== "fetching";
    bar.value = model.total ? model.done / model.total : 0;
    open.hidden = !model.local;
    open.textContent = model.state === "off" ? "Connect a model" : "Change";
    if (model.local) {
      const { name, bytes, fetched } = model.local;
      const size = fetched ? "it is here already" : `${gigabytes(bytes)} to fetch, once`;
      dialog.querySelector("[data-part=local]").textContent = `${name}, inside this app; ${size}.`;
    }
    if (model.state === "ready" && BUSY.includes(before)) say(text.textContent);
    before = model.state;
    if (BUSY.includes(model.state)) setTimeout(look, POLL_MS);
  }

  async function choose(choice) {
    const buttons = [...dialog.querySelectorAll("button, input")];
    for (const one of buttons) one.disabled = true;
    problem.textContent = "";
    try {
      const response = await fetch("desk/model", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(choice),
      });
      const reply = await response.json();
      if (response.ok) {
        dialog.close();
        form.reset();
        show(reply);
      } else problem.textContent = typeof reply.detail === "string" ? reply.detail : "Address and model are needed.";
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // fetch fails with a TypeError when nobody answers
      problem.textContent = "The server does not answer.";
    } finally {
      for (const one of buttons) one.disabled = false;
    }
  }

  open.addEventListener("click", () => {
    problem.textContent = "";
    dialog.showModal();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { base_url, model, key } = Object.fromEntries(new FormData(form));
    choose({ kind: "server", base_url, model, key });
  });
  for (const button of dialog.querySelectorAll("[data-choose]")) {
    button.addEventListener("click", () => choose({ kind: button.dataset.choose }));
  }
  dialog.querySelector("[data-part=close-model]").addEventListener("click", () => dialog.close());
  look();
}

const gigabytes = (bytes) => `${(bytes / 1e9).toFixed(1)} GB`;

function sentence({ name, state, done, total, detail }) {
  if (state === "off") return "Answers are quotes";
  if (state === "ready") return `Answers are written by ${name}`;
  if (state === "failed") return `Answers are quotes: ${detail}`;
  if (state === "loading") return `Answers are quotes while ${name} is being loaded`;
  return `Answers are quotes while ${name} is being fetched: ${Math.floor((100 * done) / total)} % of ${gigabytes(total)}`;
}
