// The voted perceptron: every weight vector of the run votes, once for each row that it survived.
//
// Freund and Schapire, Machine Learning 37 (1999). The weights before the first mistake do not vote.
import { dot, isSame } from "./rows.js";

// For two classes, votes for the larger class less votes for the other; else votes for each class.
// updated: the rows that moved the weights, by step; weights: those after a step, counted from 1.
export function votesOf({ k, updated, weights }, places, step) {
  const found = places.map(() => new Array(k).fill(0));
  const first = updated.findIndex((rows) => rows.length > 0);
  if (first < 0) return found;
  const x = places.map((place) => [...place.slice(0, 2), 1]);
  for (let number = first + 1; number <= step;) {
    const W = weights(number);
    let last = number;
    while (last < step && isSame(weights(last + 1), W)) last += 1; // a penalty changes them at every row
    x.forEach((own, i) => vote(found[i], W, own, last - number + 1));
    number = last + 1;
  }
  return found;
}

function vote(votes, W, x, count) {
  if (votes.length === 1) {
    votes[0] += dot(W[0], x) >= 0 ? count : -count;
    return;
  }
  let best = 0;
  for (let c = 1; c < W.length; c += 1) if (dot(W[c], x) > dot(W[best], x)) best = c;
  votes[best] += count;
}
