#include "rows/permutation.hpp"

namespace separatrix {

namespace {
// One more item, anywhere among the `count` that are there: all orders stay equally likely.
void put(int64_t* items, int64_t count, int64_t item, Random& random) {
  const auto at = int64_t(random.below(uint64_t(count) + 1));
  items[count] = items[at];
  items[at] = item;
}
}  // namespace

void draw_order(int64_t n, int64_t block_rows, int64_t blocks_per_group, uint64_t seed,
                int64_t* blocks, int64_t* order) {
  Random random(seed);
  const int64_t count = (n + block_rows - 1) / block_rows;
  for (int64_t b = 0; b < count; ++b) {
    if (count > blocks_per_group) put(blocks, b, b, random);
    else blocks[b] = b;
  }
  for (int64_t first = 0; first < count; first += blocks_per_group) {
    int64_t rows = 0;
    for (int64_t b = first; b < count && b < first + blocks_per_group; ++b) {
      const int64_t end = n < (blocks[b] + 1) * block_rows ? n : (blocks[b] + 1) * block_rows;
      for (int64_t i = blocks[b] * block_rows; i < end; ++i) put(order, rows++, i, random);
    }
    order += rows;
  }
}

void draw_numbered_order(int64_t n, int64_t block_rows, int64_t blocks_per_group, uint64_t seed,
                         uint64_t number, int64_t* blocks, int64_t* order) {
  const uint64_t own = Random(seed + number * Random::kStep).next();
  draw_order(n, block_rows, blocks_per_group, own, blocks, order);
}

}  // namespace separatrix
