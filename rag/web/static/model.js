// The line that says who answers: a language model, or quotes, and why.

const LOOK_EVERY_MS = 3000;

/** Keeps `line` up to date until the model is ready, or is known not to be. */
export async function showModel(line) {
  for (;;) {
    const response = await fetch("desk/model", { cache: "no-store" });
    if (!response.ok) return;
    const model = await response.json();
    line.textContent = lineFor(model);
    line.title = model.detail;
    if (!["fetching", "loading"].includes(model.state)) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function lineFor({ name, state, done, total }) {
  const lines = {
    off: "Answers are quotes: no language model is set",
    fetching: `Answers are quotes while ${name} is fetched${total ? ` (${Math.floor((done / total) * 100)} %)` : ""}`,
    loading: `Answers are quotes while ${name} is loading`,
    ready: `Answers are written by ${name}`,
    failed: `Answers are quotes: ${name} can’t be used`,
  };
  return lines[state] ?? "";
}
