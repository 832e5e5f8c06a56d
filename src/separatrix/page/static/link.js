// The state of the page as the fragment of a link: compressed JSON, URL-safe.
import { checkedOwn } from "./engine/conditions.js";
import { checkedDescent } from "./engine/descent.js";
import { MOST_STEPS } from "./engine/limits.js";
import { checkedMethod, checkedPoints, checkedWhole, isObject } from "./engine/settings.js";

export const MOST_LETTERS = 8192; // some programs truncate longer links: a page is saved instead

const MOST_BYTES = 1 << 18; // limit of the server: a short link can unpack to gigabytes
const MOST_AXES = 21; // weights of a class
const ASIDES = ["auto", "proof", "lambda", "probabilities", "none"];
const NAMES = ["points", "method", "step", "controls", "view", "challenge", "embed", "curve"];

async function through(stream, bytes, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error("too long");
    }
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export async function toLink(state) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// null without a fragment; an error if it cannot be read.
export async function fromLink(hash) {
  if (hash.length < 2) return null;
  let text;
  try {
    if (hash.length > 2 * MOST_BYTES) throw new Error("too long");
    const letters = atob(hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const unpacked = await through(new DecompressionStream("deflate-raw"), bytes, MOST_BYTES);
    text = new TextDecoder("utf-8", { fatal: true }).decode(unpacked);
  } catch {
    throw new Error("This link cannot be read: it is incomplete, or it unpacks to too much data.");
  }
  return fromText(text, "link");
}

// The same from a file that was saved instead of a link.
export function fromText(text, what) {
  let found = null;
  try {
    if (text.length > MOST_BYTES) throw new Error("too long");
    found = JSON.parse(text);
  } catch {
    // reported below
  }
  if (!isObject(found) || !Object.hasOwn(found, "points") || !Object.hasOwn(found, "method")) {
    throw new Error(`This ${what} cannot be read: it has no points and method.`);
  }
  try {
    return checkedState(found);
  } catch (error) {
    throw new Error(`This ${what} cannot be shown: ${error.message}.`);
  }
}

// ---- everything that a link may hold, checked ----------------------------------------------------

const choice = (value, name, allowed) => {
  if (!allowed.includes(value)) throw new Error(`${name}: expected one of ${allowed.join(", ")}`);
  return value;
};

function checkedView(view) {
  if (!isObject(view)) throw new Error("view: expected an object");
  const { across = 0, up = 1, of = "objective", column = 0, flip = false, aside = "auto", ...others } = view;
  refuseOthers("view", others);
  checkedWhole(across, "view.across", 0, MOST_AXES - 1);
  checkedWhole(up, "view.up", 0, MOST_AXES - 1);
  if (across === up) throw new Error("view: expected two different axes");
  checkedWhole(column, "view.column", 0, 3);
  return { across, up, of: choice(of, "view.of", ["objective", "mistakes"]), column, flip: choice(flip, "view.flip", [true, false]), aside: choice(aside, "view.aside", ASIDES) };
}

function refuseOthers(name, others) {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Error(`${name}.${unknown.slice(0, 40)}: there is no such entry`);
}

export function checkedState(given) {
  const found = {};
  for (const name of Object.keys(given)) {
    if (!NAMES.includes(name)) throw new Error(`${name.slice(0, 40)}: there is no such entry`);
  }
  found.points = checkedPoints(given.points, 0).map(([u, v, label]) => [u, v, label]);
  found.method = checkedMethod(given.method);
  found.step = checkedWhole(given.step ?? 0, "step", 0, MOST_STEPS);
  if (given.controls !== undefined) found.controls = choice(given.controls, "controls", ["hidden"]);
  if (given.embed !== undefined) found.embed = choice(given.embed, "embed", [true, false]);
  if (given.challenge !== undefined) found.challenge = isObject(given.challenge) ? checkedOwn(given.challenge, found.points) : checkedName(given.challenge);
  if (given.curve !== undefined) {
    if (!isObject(given.curve)) throw new Error("curve: expected an object");
    const { curve: name, start, learning_rate: rate, ...others } = given.curve;
    refuseOthers("curve", others);
    found.curve = checkedDescent({ curve: name, start, learning_rate: rate });
  }
  if (given.view !== undefined) found.view = checkedView(given.view);
  return found;
}

// The name of a challenge of the page.
function checkedName(name) {
  if (typeof name !== "string" || name.length > 40) throw new Error("challenge: expected a name of up to 40 letters");
  return name;
}
