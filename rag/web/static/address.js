// The address of the page: ?talk=ID&t=983&q=QUESTION#s199 names a talk, a moment and a question.

const CUE = /^#([\w.-]{1,64})$/;

/** What the address asks for. Anything malformed counts as absent. */
export function readAddress() {
  const query = new URLSearchParams(location.search);
  const t = query.get("t") ?? "";
  return {
    talk: (query.get("talk") ?? "").slice(0, 300),
    ms: /^\d{1,7}$/.test(t) ? Number(t) * 1000 : null,
    question: (query.get("q") ?? "").slice(0, 2000),
    cue: CUE.exec(location.hash)?.[1] ?? "",
  };
}

/** The address of a moment relative to the page; `question` is kept when given. */
export function momentHref({ talk, cue, ms }, question = "") {
  const query = new URLSearchParams({ talk, t: String(Math.floor(ms / 1000)) });
  if (question) query.set("q", question);
  return `?${query}#${encodeURIComponent(cue)}`;
}

/** The address of a question, with the moment that its answer starts from, if there is one. */
export function questionHref(question, moment) {
  return moment ? momentHref(moment, question) : `?${new URLSearchParams({ q: question })}`;
}

export const absolute = (href) => new URL(href, document.baseURI).href;

/** Shows `moment` (or none) and `question` in the address bar. A new moment is a step that Back returns from. */
export function showInAddress(moment, question, { step }) {
  const query = new URLSearchParams(location.search);
  for (const name of ["talk", "t", "q"]) query.delete(name);
  const ours = new URLSearchParams(moment || question ? questionHref(question, moment).split("#")[0] : "");
  for (const [name, value] of ours) if (value) query.set(name, value);
  const hash = moment?.cue ? `#${encodeURIComponent(moment.cue)}` : "";
  const search = query.size ? `?${query}` : "";
  const href = `${location.pathname}${search}${hash}`;
  if (href === location.pathname + location.search + location.hash) return;
  history[step ? "pushState" : "replaceState"](null, "", href);
}
