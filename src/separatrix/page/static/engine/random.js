// Random orders of rows, with the bits of the library: a seed gives the same order in both.
//
// SplitMix64: Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
// The seed of a run comes from NumPy's default generator: O'Neill's PCG64, seeded by SeedSequence.

const WORD = 64;
const STEP = 0x9e3779b97f4a7c15n;
const wrapped = (value) => BigInt.asUintN(WORD, value);

class SplitMix64 {
  constructor(seed) { this.state = wrapped(seed); }

  next() {
    this.state = wrapped(this.state + STEP);
    let z = this.state;
    z = wrapped((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = wrapped((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  }

  // 0, ..., below - 1. The product is below 2^53 for every number of points of the page.
  below(below) { return Math.floor((Number(this.next() >> 32n) * below) / 2 ** 32); }
}

// The order of n rows in a pass, counted from 0, of a run with this seed (a BigInt).
export function orderOfPass(n, seed, pass) {
  const own = new SplitMix64(seed + BigInt(pass) * STEP).next();
  const random = new SplitMix64(own);
  const order = [];
  for (let row = 0; row < n; row += 1) {
    const place = random.below(row + 1);
    order[row] = order[place];
    order[place] = row;
  }
  return order;
}

// ---- the seed of a run ---------------------------------------------------------------------------

const u32 = (value) => value >>> 0;

// Four words of entropy, mixed from the words of a seed; and words made of them.
function seedWords(seed, count) {
  let hash = 0x43b0d7e5;
  const mixed = (value) => {
    let v = u32(value ^ hash);
    hash = u32(Math.imul(hash, 0x931e8875));
    v = u32(Math.imul(v, hash));
    return u32(v ^ (v >>> 16));
  };
  const joined = (x, y) => {
    const v = u32(Math.imul(x, 0xca01f9dd) - Math.imul(y, 0x4973f715));
    return u32(v ^ (v >>> 16));
  };
  const given = [u32(seed), 0, 0, 0];
  const pool = given.map(mixed);
  for (let from = 0; from < 4; from += 1) {
    for (let to = 0; to < 4; to += 1) if (from !== to) pool[to] = joined(pool[to], mixed(pool[from]));
  }
  hash = 0x8b51f9dd;
  return Array.from({ length: count }, (_, i) => {
    let v = u32(pool[i % 4] ^ hash);
    hash = u32(Math.imul(hash, 0x58f38ded));
    v = u32(Math.imul(v, hash));
    return u32(v ^ (v >>> 16));
  });
}

const PCG_FACTOR = 0x2360ed051fc65da44385df649fccf645n;

// The first number below 2^62 that NumPy's default generator draws: the seed of the orders of a run.
export function seedOfRun(seed) {
  const words = seedWords(seed, 8).map(BigInt);
  const pair = (i) => words[i] | (words[i + 1] << 32n);
  const start = (pair(0) << 64n) | pair(2);
  const stream = (((pair(4) << 64n) | pair(6)) << 1n) | 1n;
  const wide = (value) => BigInt.asUintN(128, value);
  let state = wide(wide(stream + start) * PCG_FACTOR + stream);
  state = wide(state * PCG_FACTOR + stream);
  const turn = state >> 122n;
  const folded = wrapped((state >> 64n) ^ state);
  const drawn = wrapped((folded >> turn) | (folded << (64n - turn)));
  return drawn >> 2n;
}

// ---- the generator of k-means --------------------------------------------------------------------

// Matsumoto and Nishimura's MT19937, as NumPy's RandomState(seed): numbers in [0, 1).
export class MersenneTwister {
  constructor(seed) {
    this.state = new Uint32Array(624);
    this.state[0] = u32(seed);
    for (let i = 1; i < 624; i += 1) {
      const before = this.state[i - 1] ^ (this.state[i - 1] >>> 30);
      this.state[i] = Math.imul(1812433253, before) + i;
    }
    this.place = 624;
  }

  word() {
    if (this.place === 624) {
      const s = this.state;
      for (let i = 0; i < 624; i += 1) {
        const both = (s[i] & 0x80000000) | (s[(i + 1) % 624] & 0x7fffffff);
        s[i] = s[(i + 397) % 624] ^ (both >>> 1) ^ (both & 1 ? 0x9908b0df : 0);
      }
      this.place = 0;
    }
    let y = this.state[this.place];
    this.place += 1;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return u32(y ^ (y >>> 18));
  }

  next() {
    const [a, b] = [this.word() >>> 5, this.word() >>> 6];
    return (a * 2 ** 26 + b) / 2 ** 53;
  }
}
