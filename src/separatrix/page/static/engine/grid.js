// The scores of a run on a grid over the plane, and the lines where they are 0, 1 and -1.
import { contour } from "./contours.js";
import { between, checkedBox } from "./landscape.js";
import { GRID } from "./limits.js";
import { checkedWhole } from "./settings.js";

export function placesOf(box) {
  const across = between(box[0], box[1], GRID);
  return between(box[2], box[3], GRID).flatMap((v) => across.map((u) => [u, v]));
}

export function gridOf(run, { step, box }) {
  checkedWhole(step, "step", 0, run.steps.length);
  const scores = run.scores(placesOf(checkedBox(box)), step);
  const columns = Array.from({ length: run.rows.k }, (_, c) => scores.map((own) => own[c]));
  return {
    size: GRID, box, step, scores: columns, rows: run.scores(run.points, step),
    lines: run.rows.k === 1 ? [0, 1, -1].map((level) => contour(columns[0], GRID, level)) : [],
  };
}
