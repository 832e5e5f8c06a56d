// Export: a link, a script, a command, a picture, the recording, the page itself.
import { ask } from "./api.js";
import { MOST_LETTERS, toLink } from "./link.js";
import { saved } from "./saved.js";
import { at, say, state } from "./state.js";

const FILE = "playground.json";

function download(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} is in the clipboard.`);
  } catch {
    say(`The clipboard cannot be reached; ${what.toLowerCase()} is: ${text}`);
  }
}

// The fragment of a link, or null if it would be too long: then it is saved to a file.
async function fragment(data) {
  const found = await toLink(data);
  if (found.length <= MOST_LETTERS) return `#${found}`;
  download(FILE, JSON.stringify(data), "application/json");
  return null;
}

async function copyLink() {
  const data = { points: state.points, method: state.method, step: state.step };
  if (at("teacher").checked) data.controls = "hidden";
  const found = await fragment(data);
  if (!found) return say(`This is too long for a link. It was saved to ${FILE}: drop that file here, or run separatrix playground ${FILE}.`);
  const url = new URL(location.href); // its token was removed at the start
  url.hash = found;
  history.replaceState(null, "", url);
  return copy(url.href, "The link");
}

async function copyCommand() {
  const found = await fragment({ points: state.points, method: state.method });
  const said = found ? `'${found}'` : FILE;
  return copy(`separatrix playground ${said} --trace recording.json`, found ? "The command" : `Its data is in ${FILE}; the command`);
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

async function savePage() {
  try {
    const { page } = await ask("page", { points: state.points, method: state.method, step: state.step });
    download("recording.html", page, "text/html");
  } catch (error) {
    say(error.message);
  }
}

export function setUpExport() {
  const clicks = {
    "copy-link": copyLink, "copy-python": () => state.run && copy(state.run.python, "The script"),
    "copy-command": copyCommand, "save-svg": saveSvg, "save-page": () => state.run && savePage(),
    "save-json": () => state.run && saveRecording(),
  };
  for (const [id, act] of Object.entries(clicks)) at(id).addEventListener("click", act);
  at("copy-python").hidden = Boolean(saved && !saved.run.python);
}
