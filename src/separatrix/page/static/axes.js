// Ticks: where they are, and how they are drawn.
import { shown } from "./svg.js";

// Round numbers from low to high: 1, 2 or 5 times a power of ten apart.
export function ticksOf(low, high, most = 5) {
  const range = high - low;
  if (!(range > 0) || !Number.isFinite(range)) return [];
  const power = 10 ** Math.floor(Math.log10(range / most));
  const step = power * ([1, 2, 5].find((one) => range / (one * power) <= most) ?? 10);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + 1e-9 * range; i += 1) found.push(Number((i * step).toPrecision(12)));
  return found;
}

export const powerName = (value) => (value >= 1e-4 && value < 1e4 ? shown(value) : `1e${Math.round(Math.log10(value))}`);

// Powers of ten from low to high, at most some of them.
export function powersOf(low, high, most = 5) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const jump = Math.max(1, Math.ceil((last - first + 1) / most));
  const found = [];
  for (let power = first; power <= last; power += jump) found.push(Number(`1e${power}`));
  return found;
}

// Ticks inside of a picture, along its lower and its left edge; the corners belong to the names.
export function ticksInside(box, [x, y], [wide, high], size = 5) {
  const far = [5 * size, 6 * size]; // from a corner, in pixels
  return [
    ...ticksOf(box[0], box[1], 6).filter((v) => x(v) > far[1] && x(v) < wide - far[1]).flatMap((v) => [
      ["line", { x1: x(v), x2: x(v), y1: high - size, y2: high, class: "tick" }],
      ["text", { x: x(v), y: high - size - 3, "text-anchor": "middle" }, shown(v)],
    ]),
    ...ticksOf(box[2], box[3], 6).filter((v) => y(v) > far[0] && y(v) < high - far[1]).flatMap((v) => [
      ["line", { x1: 0, x2: size, y1: y(v), y2: y(v), class: "tick" }],
      ["text", { x: size + 3, y: y(v) + 4 }, shown(v)],
    ]),
  ];
}

const LENGTH = 4; // of a tick, in pixels

// Ticks with their numbers, as lists to draw: below a horizontal axis at a height, or left of a vertical one.
export function ticksAcross(ticks, x, height, name = shown) {
  return ticks.flatMap((value) => [
    ["line", { x1: x(value), x2: x(value), y1: height, y2: height + LENGTH, class: "tick" }],
    ["text", { x: x(value), y: height + 15, "text-anchor": value === ticks.at(-1) && ticks.length > 2 ? "end" : "middle" }, name(value)],
  ]);
}

export function ticksUp(ticks, y, left, name = shown) {
  return ticks.flatMap((value) => [
    ["line", { x1: left - LENGTH, x2: left, y1: y(value), y2: y(value), class: "tick" }],
    ["text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, name(value)],
  ]);
}
