// The state of the page in a link's fragment: compressed JSON in the alphabet of URLs.

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function toLink(state) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export async function fromLink(hash) {
  if (hash.length < 2) return null;
  try {
    const text = atob(hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const found = JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes)));
    return Array.isArray(found.points) && found.method ? found : null;
  } catch {
    return null;
  }
}
