// Requests to the server: the page computes nothing that the server can compute.
import { answerOf, saved } from "./saved.js";
import { compiled } from "./schema.js";

const KEY = "separatrix-token";

function token() {
  if (saved) return "";
  const url = new URL(location.href);
  const given = url.searchParams.get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    url.searchParams.delete("token");
    history.replaceState(null, "", url); // a copied link must not contain the token
  }
  return sessionStorage.getItem(KEY) || "";
}

const mine = token();

export async function ask(name, body) {
  if (saved) return answerOf(name);
  let answer;
  try {
    answer = await fetch(`api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-token": mine },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The server does not answer: is it still running?");
  }
  const found = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Error(found.error);
  return found;
}

let check = null; // by the published schema, requested once

// Request a run with its recording; an error says where it differs from the schema.
export async function askForRun(request) {
  check ??= ask("schema", {}).then(compiled);
  const run = await ask("run", request);
  const { recording } = run;
  const wrong = (await check)(recording, "recording");
  if (wrong) throw new Error(`The page cannot show this recording: ${wrong}.`);
  const count = recording.steps.rows.length;
  for (const [name, column] of Object.entries(recording.steps)) {
    if (column !== null && column.length !== count) {
      throw new Error(`The page cannot show this recording: its column ${name} is not as long as the others.`);
    }
  }
  return run;
}
