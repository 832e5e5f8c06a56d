// The form of the page's method, rebuilt when another method is chosen.
import { drawMethod } from "./methods.js";
import { rerun } from "./run.js";
import { at, state } from "./state.js";

export function drawMethodForm() {
  drawMethod(at("method"), state.method, (method, changed) => {
    chooseMethod(method);
    at(changed).focus();
  });
}

export function chooseMethod(method) {
  state.method = method;
  drawMethodForm();
  return rerun();
}
