// Requests: answered by the engine of the page, or by a server if the page has the token of one.
import { answered } from "./engine/answers.js";
import { take } from "./engine/shipped.js";
import { answerOf, saved } from "./saved.js";
import { compiled } from "./schema.js";

const KEY = "separatrix-token";
const CONSTANT = ["presets", "challenges"]; // in the page itself, so that it opens before the server's processes are there
const GONE = "The server of this page has ended. The page goes on by itself.";

const data = document.getElementById("shipped");
if (data) takeData(JSON.parse(data.textContent));

// The random starts are stored as bits.
function takeData({ starts, ...rest }) {
  const bytes = Uint8Array.from(atob(starts.doubles), (letter) => letter.charCodeAt(0));
  const all = Array.from(new Float64Array(bytes.buffer));
  take({ ...rest, starts: Array.from({ length: all.length / starts.each }, (_, i) => all.slice(i * starts.each, (i + 1) * starts.each)) });
}

// The token of the server, which its own address contains; a frame without an origin has no storage.
function token() {
  const given = saved ? null : new URLSearchParams(location.search).get("token");
  if (saved || !location.protocol.startsWith("http")) return "";
  try {
    if (given) {
      const url = new URL(location.href);
      url.searchParams.delete("token");
      sessionStorage.setItem(KEY, given);
      history.replaceState(null, "", url); // a copied link must not contain the token
    }
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return given ?? "";
  }
}

let mine = token();
let whenGone = () => {};

// Whether a server with the library answers.
export const hasServer = () => mine !== "";

// act: called once with a text if the server does not answer any more.
export function onServerGone(act) {
  whenGone = act;
}

async function askServer(name, body) {
  let answer;
  try {
    answer = await fetch(`api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-token": mine },
      body: JSON.stringify(body),
    });
  } catch {
    return null; // not there
  }
  if (answer.status === 403) return null; // the token is that of an earlier server
  const found = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Error(found.error);
  return found;
}

export async function ask(name, body) {
  if (saved) return answerOf(name);
  if (mine && !CONSTANT.includes(name)) {
    const found = await askServer(name, body);
    if (found) return found;
    mine = "";
    whenGone(GONE);
  }
  await null; // what was typed or clicked is drawn first
  return answered(name, body);
}

let check = null; // by the published schema, requested once

// Request a run with its recording; an error says where a server's differs from the schema.
export async function askForRun(request) {
  const run = await ask("run", request);
  const { recording } = run;
  const schema = saved || mine ? (check ??= ask("schema", {}).then(compiled)) : null;
  const wrong = schema && (await schema)(recording, "recording");
  if (wrong) throw new Error(`The page cannot show this recording: ${wrong}.`);
  const count = recording.steps.rows.length;
  for (const [name, column] of Object.entries(recording.steps)) {
    if (column !== null && column.length !== count) {
      throw new Error(`The page cannot show this recording: its column ${name} is not as long as the others.`);
    }
  }
  return run;
}
