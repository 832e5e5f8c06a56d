// SVG elements, and scales from numbers to screen positions.

export function draw(name, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

// Make the children of a group match a list of [name, attributes, text]: existing elements stay,
// and only differences are written. Creating elements takes far longer.
export function redraw(group, wanted) {
  wanted.forEach((one, i) => put(group, i, one));
  while (group.children.length > wanted.length) group.lastChild.remove();
}

// The same for one child.
export function put(group, i, [name, attributes, text = null]) {
  const old = group.children[i];
  if (!old || old.tagName !== name) {
    const made = draw(name, attributes, text);
    made.drawn = attributes;
    if (old) old.replaceWith(made);
    else group.append(made);
    return;
  }
  for (const [key, value] of Object.entries(attributes)) {
    if (old.drawn[key] !== value) old.setAttribute(key, value);
  }
  for (const key of Object.keys(old.drawn)) if (!(key in attributes)) old.removeAttribute(key);
  if (text !== null && old.textContent !== text) old.textContent = text;
  old.drawn = attributes;
}

// A circle as a part of a path: many circles in one element are far faster.
export function circleAt(px, py, r) {
  return `M${px - r} ${py}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
}

// The groups of a drawing, by class name, made once.
export function layers(svg, names) {
  if (svg.children.length !== names.length || svg.firstChild.getAttribute("class") !== names[0]) {
    svg.replaceChildren(...names.map((name) => draw("g", { class: name })));
  }
  return [...svg.children];
}

const FARTHEST = 1e5; // pixels: positions beyond, and infinite ones, are drawn there

// Scale to screen positions; hundredths of a pixel keep the text short.
export function scale(from, to) {
  const factor = (to[1] - to[0]) / (from[1] - from[0] || 1);
  const there = (value) => {
    const place = to[0] + (value - from[0]) * factor;
    return Math.round(100 * Math.min(FARTHEST, Math.max(-FARTHEST, place))) / 100;
  };
  there.back = (place) => from[0] + (place - to[0]) / factor;
  return there;
}

// A log scale; 0 and less are drawn at the low end.
export function scaleOfPowers([low, high], to) {
  const place = scale([Math.log10(low), Math.log10(high)], to);
  return (value) => place(Math.log10(Math.max(low, value)));
}

const LONG = 1e7; // numbers from here on are shown with a power of ten

export function shown(value) {
  if (value === null) return "infinite";
  const rounded = Number(Number(value).toPrecision(4));
  return Math.abs(rounded) < LONG ? String(rounded) : rounded.toExponential();
}

export function option(text, value, selected) {
  return new Option(text, value, selected, selected);
}
