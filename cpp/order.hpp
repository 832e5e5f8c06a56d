// A random order of rows that reads memory nearly as fast as in order.
//
// Blocks of neighbouring rows are drawn at random, `blocks_per_group` at a time, and the rows of
// such a group are shuffled. So the rows of a page are visited close together in time, while
// neighbours in the data are scattered over a group. Data of one group or less gets a uniform
// permutation.
#pragma once
#include <cstdint>

namespace separatrix {

// SplitMix64: one state, the same numbers everywhere.
class Random {
 public:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += kStep;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // 0, ..., below - 1; below < 2^32, so that the bias is beyond notice.
  uint64_t below(uint64_t below) { return (next() >> 32) * below >> 32; }

 private:
  uint64_t state_;
};

inline void shuffle(int64_t* items, int64_t count, Random& random) {
  for (int64_t i = count - 1; i > 0; --i) {
    const int64_t j = int64_t(random.below(uint64_t(i) + 1)), kept = items[i];
    items[i] = items[j];
    items[j] = kept;
  }
}

// `blocks` has room for ceil(n / block_rows) numbers.
inline void draw_order(int64_t n, int64_t block_rows, int64_t blocks_per_group, uint64_t seed,
                       int64_t* blocks, int64_t* order) {
  Random random(seed);
  const int64_t count = (n + block_rows - 1) / block_rows;
  for (int64_t b = 0; b < count; ++b) blocks[b] = b;
  if (count > blocks_per_group) shuffle(blocks, count, random);
  int64_t filled = 0;
  for (int64_t first = 0; first < count; first += blocks_per_group) {
    const int64_t begin = filled;
    for (int64_t b = first; b < count && b < first + blocks_per_group; ++b) {
      const int64_t end = (blocks[b] + 1) * block_rows;
      for (int64_t i = blocks[b] * block_rows; i < n && i < end; ++i) order[filled++] = i;
    }
    shuffle(order + begin, filled - begin, random);
  }
}

}  // namespace separatrix
