// SVG elements, and numbers to places on the screen.

export function draw(name, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

export function scale(from, to) {
  const factor = (to[1] - to[0]) / (from[1] - from[0] || 1);
  const there = (value) => to[0] + (value - from[0]) * factor;
  there.back = (place) => from[0] + (place - to[0]) / factor;
  return there;
}

export function shown(value) {
  if (value === null) return "infinite";
  return String(Number(Number(value).toPrecision(4)));
}

export function option(text, value, selected) {
  return new Option(text, value, selected, selected);
}
