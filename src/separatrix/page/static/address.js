// The address of the page is the link of its state: a reload opens the same.
import { MOST_LETTERS, toLink } from "./link.js";
import { linkState } from "./link-state.js";
import { addView } from "./state.js";

const WAIT = 300; // milliseconds after the last change
let waiting = null;

async function write() {
  const found = await toLink(linkState());
  if (found.length > MOST_LETTERS) return;
  try {
    history.replaceState(null, "", `#${found}`);
  } catch {
    // a frame without an address
  }
}

// Returns a function that writes the address soon.
export function keepAddress() {
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(write, WAIT);
  };
  addView(soon);
  return soon;
}
