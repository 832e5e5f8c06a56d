// The results of the challenges, which students save as JSON or as a page to print.
import { download } from "./download.js";
import { toLink } from "./link.js";
import { at } from "./state.js";

const results = new Map(); // by title

// state: points and method with which it was checked, so that a teacher can check again.
export async function note({ title, task, condition }, { done, text }, state) {
  const checks = (results.get(title)?.checks ?? 0) + 1;
  const before = results.get(title);
  results.set(title, before?.done && !done ? { ...before, checks } : { title, task, condition, done, checks, text, link: `#${await toLink(state)}` });
  for (const id of ["save-results", "print-results"]) at(id).disabled = false;
}

const whole = () => ({
  format: "separatrix results", version: 1, name: at("student").value, saved: new Date().toISOString(), results: [...results.values()],
});

const STYLE = "<style>body { font: 16px/1.5 sans-serif; margin: 2rem; } table { border-collapse: collapse; } th, td { border: 1px solid; padding: .3rem .6rem; text-align: left; vertical-align: top; }</style>";

// Every text is set as text, so none of it can be an element.
function pageOf({ name, saved, results: all }) {
  const made = document.implementation.createHTMLDocument(`Results${name ? ` of ${name}` : ""}`);
  const add = (parent, kind, text = "") => parent.appendChild(Object.assign(made.createElement(kind), { textContent: text }));
  add(made.body, "h1", made.title);
  add(made.body, "p", `${all.filter((one) => one.done).length} of ${all.length} done; saved ${saved.slice(0, 16).replace("T", " ")} UTC.`);
  const table = add(made.body, "table");
  const row = (texts, kind) => texts.forEach((text, i, _, line = i ? table.lastChild : add(table, "tr")) => add(line, kind, text));
  row(["Challenge", "Task", "Result", "Checks"], "th");
  for (const { title, task, condition, done, text, checks } of all) row([title, [task, condition].filter(Boolean).join(" "), `${done ? "Done." : "Not yet."} ${text}`, String(checks)], "td");
  made.documentElement.lang = "en";
  return `<!doctype html>\n<meta charset="utf-8">\n${made.documentElement.outerHTML.replace("</head>", `${STYLE}</head>`)}\n`;
}

export function setUpResults() {
  at("save-results").addEventListener("click", () => download("results.json", JSON.stringify(whole(), null, 1), "application/json"));
  at("print-results").addEventListener("click", () => download("results.html", pageOf(whole()), "text/html"));
}
