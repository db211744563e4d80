// Players behind one face: position(ms) without starting, play(ms), toggle(), destroy(); `silent` when there is nothing
// to hear. Times are milliseconds. `onTime(ms)` reports where the recording is.

import { h, outLink } from "./dom.js";

/** The player for a talk's media, put into `box`. Kinds without a player get a line that says why. */
export function createPlayer(box, media, title, onTime) {
  box.replaceChildren();
  box.dataset.kind = media.kind;
  if (media.kind === "video" || media.kind === "audio") return filePlayer(box, media, title, onTime);
  if (media.kind === "youtube") return framePlayer(box, media, title, onTime, youtube);
  if (media.kind === "vimeo") return framePlayer(box, media, title, onTime, vimeo);
  return noPlayer(box, media);
}

function noPlayer(box, media) {
  const lines = {
    none: "This talk has no recording; the transcript follows.",
    missing: "The recording is not on this machine any more; the transcript follows.",
    link: "The recording is on another site and can't be played here.",
  };
  box.append(h("p", { class: "no-recording" }, lines[media.kind] ?? lines.none));
  if (media.url) box.firstChild.append(" ", outLink(media.url, `Open ${media.host}`) ?? "");
  const nothing = () => {};
  return { silent: true, position: nothing, play: nothing, toggle: nothing, destroy: () => box.replaceChildren() };
}

function filePlayer(box, media, title, onTime) {
  const element = h(media.kind, { controls: true, preload: "metadata", playsinline: true, "aria-label": title });
  element.src = media.src;
  element.addEventListener("error", () => {
    box.append(h("p", { class: "no-recording", role: "alert", text: "This browser can't play the recording." }));
  });
  box.append(element);

  // Before the metadata is there a position is only remembered: the latest one wins.
  let wanted = null;
  const report = () => wanted === null && onTime(Math.round(element.currentTime * 1000));
  for (const type of ["timeupdate", "seeked"]) element.addEventListener(type, report);
  element.addEventListener("loadedmetadata", () => {
    if (wanted !== null) element.currentTime = wanted;
    wanted = null;
  });
  const position = (ms) => {
    if (element.readyState >= HTMLMediaElement.HAVE_METADATA) element.currentTime = ms / 1000;
    else wanted = ms / 1000;
  };
  const start = () =>
    element.play().catch((error) => {
      // AbortError: a newer seek or pause came first. NotAllowedError: no gesture yet; the controls are there.
      if (!["AbortError", "NotAllowedError"].includes(error.name)) console.warn("talkcite: can't play", error);
    });
  return {
    position,
    play(ms) {
      position(ms);
      start();
    },
    toggle: () => (element.paused ? start() : element.pause()),
    destroy() {
      element.pause();
      element.removeAttribute("src");
      element.load();
      box.replaceChildren();
    },
  };
}

// How two sites' embedded players are spoken to: plain postMessage, no script of theirs.
// `read` turns a message into { ready, ms, playing }, whichever of them it tells.
const youtube = {
  name: "YouTube",
  origin: "https://www.youtube-nocookie.com",
  src: (id, seconds) =>
    `https://www.youtube-nocookie.com/embed/${id}?` +
    new URLSearchParams({ enablejsapi: 1, playsinline: 1, autoplay: 1, rel: 0, origin: location.origin, start: seconds }),
  hello: [{ event: "listening" }],
  onReady: [],
  seek: (seconds) => command("seekTo", [seconds, true]),
  start: () => command("playVideo", []),
  pause: () => command("pauseVideo", []),
  read({ event, info }) {
    if (!["onReady", "initialDelivery", "infoDelivery"].includes(event)) return null;
    return {
      ready: true,
      ms: typeof info?.currentTime === "number" ? Math.round(info.currentTime * 1000) : null,
      playing: typeof info?.playerState === "number" ? info.playerState === 1 : null,
    };
  },
};
const command = (func, args) => ({ event: "command", func, args });

const vimeo = {
  name: "Vimeo",
  origin: "https://player.vimeo.com",
  src: (id, seconds) => `https://player.vimeo.com/video/${id}?autoplay=1&dnt=1#t=${seconds}s`,
  hello: [],
  onReady: ["timeupdate", "play", "pause"].map((value) => ({ method: "addEventListener", value })),
  seek: (value) => ({ method: "setCurrentTime", value }),
  start: () => ({ method: "play" }),
  pause: () => ({ method: "pause" }),
  read({ event, data }) {
    if (!["ready", "timeupdate", "play", "pause"].includes(event)) return null;
    return {
      ready: true,
      ms: typeof data?.seconds === "number" ? Math.round(data.seconds * 1000) : null,
      playing: event === "ready" ? null : event !== "pause",
    };
  },
};

const HELLO_EVERY_MS = 250;

/** An embedded player. Nothing is loaded from its site before the reader starts it. */
function framePlayer(box, media, title, onTime, site) {
  let frame = null;
  let ready = false;
  let playing = false;
  let from = 0;
  let queue = [];
  let greeting = 0;

  const post = (message) => frame.contentWindow?.postMessage(JSON.stringify(message), site.origin);
  const send = (message) => (ready ? post(message) : queue.push(message));

  const button = h(
    "button",
    { type: "button", class: "load", on: { click: () => load() } },
    h("span", { class: "play-sign", "aria-hidden": "true" }),
    h("span", { text: `Play on ${site.name}` }),
    h("small", { text: `Connects to ${new URL(site.origin).hostname}` }),
  );
  box.append(button);

  function load() {
    if (frame) return;
    frame = h("iframe", {
      title: `${title} (${site.name})`,
      allow: "autoplay; encrypted-media; fullscreen; picture-in-picture",
      allowfullscreen: true,
      referrerpolicy: "strict-origin-when-cross-origin",
    });
    window.addEventListener("message", receive);
    // The address takes whole seconds; the exact time follows as soon as the player listens.
    if (from % 1000) send(site.seek(from / 1000));
    frame.src = site.src(encodeURIComponent(media.id), Math.floor(from / 1000));
    frame.addEventListener("load", () => {
      clearInterval(greeting);
      greeting = setInterval(() => (ready ? clearInterval(greeting) : site.hello.forEach(post)), HELLO_EVERY_MS);
      site.hello.forEach(post);
    });
    box.replaceChildren(frame);
  }

  function receive(event) {
    if (event.origin !== site.origin || event.source !== frame.contentWindow) return;
    let message;
    try {
      message = typeof event.data === "string" ? JSON.parse(event.data) : event.data;
    } catch {
      return; // not ours: sites send other messages too
    }
    const told = message && site.read(message);
    if (!told) return;
    if (told.ready && !ready) {
      ready = true;
      site.onReady.forEach(post);
      queue.forEach(post);
      queue = [];
    }
    if (told.playing !== null) playing = told.playing;
    if (told.ms !== null) onTime(told.ms);
  }

  return {
    position(ms) {
      from = ms;
      if (frame) send(site.seek(ms / 1000));
    },
    play(ms) {
      from = ms;
      if (!frame) load();
      else {
        queue = [];
        send(site.seek(ms / 1000));
        send(site.start());
      }
    },
    toggle() {
      if (!frame) load();
      else send(playing ? site.pause() : site.start());
    },
    destroy() {
      clearInterval(greeting);
      window.removeEventListener("message", receive);
      box.replaceChildren();
    },
  };
}
