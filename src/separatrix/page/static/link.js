// What is on the page as a link's fragment: compressed JSON in the alphabet of URLs.
export const MOST_LETTERS = 8192; // beyond that a link is cut by some programs: a file instead

const MOST_BYTES = 1 << 18; // that the server takes: a short link can unpack to gigabytes

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

export async function toLink(told) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(told)));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// null without one; an error with words if it cannot be read.
export async function fromLink(hash) {
  if (hash.length < 2) return null;
  let text;
  try {
    const letters = atob(hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    text = new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes, MOST_BYTES));
  } catch {
    throw new Error("This link cannot be read: a part of it was lost, or it unpacks to too much.");
  }
  return fromText(text, "link");
}

// The same from a file that was saved in place of a link.
export function fromText(text, what) {
  let found = null;
  try {
    found = JSON.parse(text);
  } catch {
    // told below
  }
  if (!found || !Array.isArray(found.points) || typeof found.method !== "object") {
    throw new Error(`This ${what} cannot be read: it has no points and method.`);
  }
  return found;
}
