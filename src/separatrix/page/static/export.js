// Out of the page: a link, a script, a picture, the recording.
import { toLink } from "./link.js";
import { at, say, state } from "./state.js";

function download(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function copy(text, what) {
  await navigator.clipboard.writeText(text);
  say(`${what} is in the clipboard.`);
}

async function copyLink() {
  const fragment = await toLink({ points: state.points, method: state.method, step: state.step });
  if (fragment.length > 8192) return say("This is too much for a link: save the recording as a file instead.");
  location.hash = fragment;
  return copy(location.href, "The link");
}

function saveSvg() {
  const plane = at("plane").cloneNode(true);
  plane.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const originals = at("plane").querySelectorAll("*");
  plane.querySelectorAll("*").forEach((copied, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray"]) copied.setAttribute(name, style.getPropertyValue(name));
  });
  download("plane.svg", new XMLSerializer().serializeToString(plane), "image/svg+xml");
}

function saveRecording() {
  const whole = { ...state.run.recording, steps: state.steps };
  download("recording.json", JSON.stringify(whole), "application/json");
}

export function setUpExport() {
  const clicks = {
    "copy-link": copyLink, "copy-python": () => state.run && copy(state.run.python, "The script"),
    "save-svg": saveSvg, "save-json": () => state.run && saveRecording(),
  };
  for (const [id, act] of Object.entries(clicks)) at(id).addEventListener("click", act);
}
