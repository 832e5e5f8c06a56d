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

// `blocks` has room for ceil(n / block_rows) numbers.
void draw_order(int64_t n, int64_t block_rows, int64_t blocks_per_group, uint64_t seed,
                int64_t* blocks, int64_t* order);

// One of the orders that a seed stands for.
void draw_numbered_order(int64_t n, int64_t block_rows, int64_t blocks_per_group, uint64_t seed,
                         uint64_t number, int64_t* blocks, int64_t* order);

}  // namespace separatrix
