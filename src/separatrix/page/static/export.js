// Export: a link, a script, a command, a picture, the recording, the page itself.
import { ask, hasServer } from "./api.js";
import { download } from "./download.js";
import { MOST_LETTERS, toLink } from "./link.js";
import { linkState } from "./link-state.js";
import { saved } from "./saved.js";
import { at, say, state } from "./state.js";

const FILE = "playground.json";
const shippedText = document.getElementById("shipped")?.textContent ?? "";
const source = shippedText ? document.documentElement.outerHTML : ""; // before anything is drawn

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} is in the clipboard.`);
  } catch {
    say(`The clipboard cannot be reached; ${what.toLowerCase()} is: ${text}`);
  }
}

// The fragment of a link for a command, or null if it would be too long: then it is saved to a file.
async function fragment(data) {
  const found = await toLink(data);
  if (found.length <= MOST_LETTERS) return `#${found}`;
  download(FILE, JSON.stringify(data), "application/json");
  return null;
}

async function copyLink() {
  const data = linkState();
  if (at("teacher").checked) data.controls = "hidden";
  if (at("embed").checked) data.embed = true;
  const found = await toLink(data);
  if (found.length > MOST_LETTERS) {
    return say(`A link holds ${MOST_LETTERS} letters, and these points need ${found.length}: use Save as page instead.`);
  }
  const url = new URL(location.href); // its token was removed at the start
  url.search = "";
  url.hash = found;
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

// This page as a file, which opens with the present state and computes as this one does.
function ownPage() {
  const data = JSON.stringify({ ...JSON.parse(shippedText), opened: linkState() }).replaceAll("<", "\\u003c");
  return `<!doctype html>\n${source.replace(shippedText, () => data)}\n`;
}

async function savePage() {
  if (!hasServer()) return download("playground.html", ownPage(), "text/html");
  try {
    const { page } = await ask("page", { points: state.points, method: state.method, step: state.step });
    download("recording.html", page, "text/html");
  } catch (error) {
    say(error.message);
  }
  return undefined;
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
