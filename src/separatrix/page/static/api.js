// The server's answers: the page computes nothing that it can ask for.
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
    history.replaceState(null, "", url); // a copied link carries no token
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
  const found = await answer.json().catch(() => ({ error: `the server said ${answer.status}` }));
  if (!answer.ok) throw new Error(found.error);
  return found;
}

let check = null; // by the published schema, asked for once

// A run with its recording, which is refused in words if it is not as the schema says.
export async function askForRun(request) {
  check ??= ask("schema", {}).then(compiled);
  const run = await ask("run", request);
  const { recording } = run;
  const wrong = (await check)(recording, "recording");
  if (wrong) throw new Error(`This is no recording that the page can show: ${wrong}.`);
  const count = recording.steps.rows.length;
  for (const [name, column] of Object.entries(recording.steps)) {
    if (column !== null && column.length !== count) {
      throw new Error(`This is no recording that the page can show: its column ${name} is not as long as the others.`);
    }
  }
  return run;
}
