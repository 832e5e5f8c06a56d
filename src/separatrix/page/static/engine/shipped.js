// What the library computed when the page was built: presets, challenges, and random starts by seed.
export const shipped = { presets: {}, starts: [], challenges: [] };

export function take(data) {
  Object.assign(shipped, data);
}
