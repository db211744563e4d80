// Small helpers to build the page. Text always goes in as text: nothing here parses HTML.

/** A new element. `props` are attributes, except `text`, `on` (event listeners) and `data` (data attributes). */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "on") for (const [type, listen] of Object.entries(value)) element.addEventListener(type, listen);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** 983000 -> "16:23", 3723000 -> "1:02:03"; milliseconds are dropped. */
export function timecode(ms) {
  const seconds = Math.floor(ms / 1000);
  const two = (n) => String(n).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** A length for reading: "21 min", "1 h 5 min", "40 s". */
export function lengthText(ms) {
  const minutes = Math.round(ms / 60000);
  if (minutes < 1) return `${Math.round(ms / 1000)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A link that leaves the page; only web addresses become links. */
export function outLink(url, text, label) {
  if (!/^https?:\/\//i.test(url)) return null;
  return h("a", { class: "out", href: url, target: "_blank", rel: "noopener", "aria-label": label, text });
}

/** Texts and elements in a row with dots between; empty ones are left out. */
export const joined = (parts) => parts.filter(Boolean).flatMap((part, n) => (n ? [" · ", part] : [part]));

/** "1 talk", "3 talks". */
export const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

/** Puts `text` on the clipboard; works without the clipboard API too (pages that are not on https or localhost). */
export async function copyText(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const carrier = h("textarea", { class: "sr-only", readonly: true });
  carrier.value = text;
  document.body.append(carrier);
  carrier.select();
  const copied = document.execCommand("copy");
  carrier.remove();
  if (!copied) throw new Error("the browser did not allow copying");
}

/** A container whose n-th child belongs to the n-th item and is built anew only when that item changes. */
export function keyed(element) {
  const signatures = [];
  return {
    element,
    show(items, build, refresh = () => {}) {
      items.forEach((item, index) => {
        const signature = JSON.stringify({ ...item, support: undefined });
        if (signatures[index] !== signature) {
          const built = build(item);
          if (element.children[index]) element.children[index].replaceWith(built);
          else element.append(built);
          signatures[index] = signature;
        }
        refresh(element.children[index], item);
      });
      while (element.children.length > items.length) element.lastChild.remove();
      signatures.length = items.length;
      element.hidden = !items.length;
    },
  };
}

/** Shows on a button, for a moment, that it did what it says. */
export function confirmOn(button) {
  const label = button.textContent;
  button.textContent = "Copied";
  button.disabled = true;
  setTimeout(() => {
    button.textContent = label;
    button.disabled = false;
  }, 1200);
}
