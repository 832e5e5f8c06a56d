// The state of the page as the fragment of a link: compressed JSON, URL-safe.
export const MOST_LETTERS = 8192; // some programs truncate longer links: use a file instead

const MOST_BYTES = 1 << 18; // limit of the server: a short link can unpack to gigabytes

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

export async function toLink(data) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(data)));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// null without a fragment; an error if it cannot be read.
export async function fromLink(hash) {
  if (hash.length < 2) return null;
  let text;
  try {
    const letters = atob(hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    text = new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes, MOST_BYTES));
  } catch {
    throw new Error("This link cannot be read: it is incomplete, or it unpacks to too much data.");
  }
  return fromText(text, "link");
}

// The same from a file that was saved instead of a link.
export function fromText(text, what) {
  let found = null;
  try {
    found = JSON.parse(text);
  } catch {
    // reported below
  }
  if (!found || !Array.isArray(found.points) || typeof found.method !== "object") {
    throw new Error(`This ${what} cannot be read: it has no points and method.`);
  }
  return found;
}
