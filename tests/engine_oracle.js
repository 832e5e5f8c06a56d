// What the tests ask of the engine of the page, in terms of the library's recording.
import * as batchPerceptron from "./engine/batch-perceptron.js";
import { crossValidated } from "./engine/cross-validation.js";
import * as gradientDescent from "./engine/gradient-descent.js";
import { gridOf } from "./engine/grid.js";
import * as kernel from "./engine/kernel-perceptron.js";
import { landscapeOf } from "./engine/landscape.js";
import * as leastSquares from "./engine/least-squares.js";
import { isMistake } from "./engine/losses.js";
import * as newton from "./engine/newton.js";
import * as perceptron from "./engine/perceptron.js";
import { answerOf, recordingOf } from "./engine/recording.js";
import { EngineRun } from "./engine/run.js";
import { take } from "./engine/shipped.js";
import { verdictOf } from "./engine/separability.js";
import { votesOf } from "./engine/votes.js";

// The weights after a step of the library's recording, from those before it.
function stepped(run, W, { rows: visited, size }) {
  const { rows, method, loss, l2 } = run;
  if (method.name === "newton") return newton.step(rows, loss, l2, W).weights;
  if (method.name === "least_squares") return leastSquares.solution(rows, l2);
  if (method.name === "batch_perceptron") return batchPerceptron.step(rows, W, size, loss).weights;
  if (method.name !== "gradient_descent") return perceptron.visit(rows, W, visited[0], size, l2).weights;
  return visited ? gradientDescent.stepOfBatch(rows, loss, l2, W, visited, size).weights
    : gradientDescent.stepOfAll(rows, loss, l2, W, size);
}

// The same for the kernel perceptron: which row is a mistake, and which columns it changes, by scores.
function kernelSteps(run, { visited, coefficients, unit }) {
  const value = kernel.kernelOf(run.method);
  const bias = run.rows.intercept ? 1 : 0;
  const scores = Array.from({ length: run.rows.k }, () => new Array(run.rows.n).fill(0));
  return visited.map((row, i) => {
    const own = scores.map((column) => column[row]);
    const margin = run.rows.k === 1 ? run.rows.y[row] * own[0] : null;
    const changes = isMistake(run.rows.y[row], own) ? kernel.changesOf(run.rows, row, own) : [];
    for (const [column, from, amount] of coefficients[i]) {
      run.points.forEach((x, j) => { scores[column][j] += amount * (value(x, run.points[from]) + bias); });
    }
    return { margin, changes: changes.map(([column, sign]) => [column, row, unit * sign]) };
  });
}

export function answers({ points, method, given, starts, asks = {} }) {
  take({ starts: starts ?? [] });
  let run;
  try {
    run = new EngineRun(points, method);
  } catch (error) {
    return { error: error.message };
  }
  const { stop } = run;
  const found = { stop, recording: recordingOf(run), line: answerOf(run).line, curve: answerOf(run).curve, centres: run.centres };
  if (given?.weights) found.steps = given.steps.map((step, i) => stepped(run, given.weights[i], step));
  if (given?.kernel) found.kernel = kernelSteps(run, given.kernel);
  if (asks.verdict) found.verdict = verdictOf(run.rows);
  if (asks.grid) found.grid = gridOf(run, asks.grid);
  if (asks.landscape) found.landscape = landscapeOf(run, asks.landscape);
  if (asks.votes) {
    const updated = run.steps.map((one) => one.updated);
    found.votes = votesOf({ k: run.rows.k, updated, weights: (n) => run.weights(n) }, asks.votes, run.steps.length);
  }
  if (asks.folds) found.folds = crossValidated(points, method, asks.folds);
  return found;
}

export const all = (problems) => problems.map(answers);
