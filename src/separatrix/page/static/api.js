// The server's answers: the page computes nothing that it can ask for.

const KEY = "separatrix-token";

function token() {
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

// Whether an answer is a recording of the version that this page draws.
const COLUMNS = ["rows", "margins", "updated", "change", "weights", "mistakes", "objective", "norm",
  "best", "arithmetic", "sentence"];

export function checkRecording(told) {
  if (told.format !== "separatrix recording" || told.version !== 1) {
    throw new Error("This is no recording of version 1.");
  }
  const count = told.steps.rows.length;
  for (const name of COLUMNS) {
    if (!Array.isArray(told.steps[name]) || told.steps[name].length !== count) {
      throw new Error(`The recording's column ${name} is not as long as the others.`);
    }
  }
  return told;
}
