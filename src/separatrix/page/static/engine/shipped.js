// What the library computed when the page was built: presets, and random starts by seed.
export const shipped = { presets: {}, starts: [] };

export function take(data) {
  Object.assign(shipped, data);
}
