// Radial basis features: exp(-gamma |x - centre|^2), one for every centre.
import { kMeans } from "./k-means.js";

export function centresOf(points, { centers, seed }) {
  return kMeans(points, centers, seed);
}

export function featuresOf(points, centres, gamma) {
  return points.map(([u, v]) => centres.map(([a, b]) => Math.exp(-gamma * ((u - a) ** 2 + (v - b) ** 2))));
}
