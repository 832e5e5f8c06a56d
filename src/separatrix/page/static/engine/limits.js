// Limits of the engine: those of the server, where both have them.
export const MOST_POINTS = 2000;
export const MOST_CLASSES = 4;
export const MOST_STEPS = 20000; // of one run
export const STEPS_AT_ONCE = 1500; // in one answer: the page draws these before it asks for more
export const GRID = 48; // points per side of a grid of scores
export const LANDSCAPE = 60; // points per side of weight space
export const LARGEST = 1e6; // coordinate of a point
export const MOST_BOX = 1e7; // coordinate of a box
