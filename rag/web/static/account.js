// Who has signed in, the way out, and the way in again when a session has ended.

import { h } from "./dom.js";

const KEPT_UNDER = "talkcite.user";

/** What the server says of itself and of who asks it: { uploads, user }; null when it gives no answer. */
export async function readAbout() {
  const response = await fetch("desk/about", { cache: "no-store" }).catch(() => null);
  return response?.ok ? await response.json() : null;
}

/**
 * Shows the user's name (null: nobody needs to sign in). What the tab kept for somebody else is forgotten, and so is
 * everything when the user signs out.
 */
export function showUser(root, user) {
  if ((sessionStorage.getItem(KEPT_UNDER) ?? user) !== user) sessionStorage.clear();
  const account = root.querySelector(".account");
  account.hidden = user === null;
  if (user === null) return;
  sessionStorage.setItem(KEPT_UNDER, user);
  account.querySelector("span").textContent = user;
  account.addEventListener("submit", () => sessionStorage.clear());
}

/** A link to sign in and come back to what is shown now. */
export function signInLink() {
  const next = new URLSearchParams({ next: `/${location.search}${location.hash}` });
  return h("a", { href: `sign-in?${next}`, text: "Sign in" });
}
