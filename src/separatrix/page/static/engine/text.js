// Numbers as text, with the digits of the library.

// Whether the digits behind a place are exactly one half: then the even neighbour is chosen.
function isTie(value, digits) {
  const [, behind] = Math.abs(value).toExponential(60).split(/[.e]/);
  return /^50*$/.test(behind.slice(digits - 1));
}

function toDigits(value, digits) {
  const text = value.toExponential(digits - 1);
  if (!isTie(value, digits)) return text;
  const [mantissa, power] = text.split("e");
  const last = Number(mantissa.at(-1));
  if (last % 2 === 0) return text;
  return `${mantissa.slice(0, -1)}${last - 1}e${power}`;
}

// As Python's format "g" has it.
export function general(value, digits = 6) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const [mantissa, power] = toDigits(value, digits).split("e");
  const exponent = Number(power);
  const cut = (text) => (text.includes(".") ? text.replace(/\.?0*$/, "") : text);
  if (exponent < -4 || exponent >= digits) {
    const sign = exponent < 0 ? "-" : "+";
    return `${cut(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const [sign, numbers] = [value < 0 ? "-" : "", mantissa.replace(/[-.]/g, "")];
  if (exponent < 0) return `${sign}${cut(`0.${"0".repeat(-exponent - 1)}${numbers}`)}`;
  return `${sign}${cut(`${numbers.slice(0, exponent + 1)}.${numbers.slice(exponent + 1)}`)}`;
}

export const vector = (values) => `(${values.map((v) => general(v)).join(", ")})`;

// An upper bound on a number of mistakes, in words.
export function mistakesWithin(bound) {
  const whole = Math.floor(bound);
  return `${whole} ${whole === 1 ? "mistake" : "mistakes"}`;
}

export const counted = (count, one, many = `${one}s`) => `${general(count)} ${count === 1 ? one : many}`;
