// Rows to visit, checked before they are read: a number that is not that of a row would read and
// write elsewhere.
//
// Entries are checked some at a time, shortly before a loop gets to them, while the next ones are
// prefetched. So a loop that ends early does not pay for the rest of a long order.
#pragma once
#include <cstdint>

namespace separatrix::SEPARATRIX_LEVEL {

class CheckedOrder {
 public:
  // Without an order the rows are visited as they lie: nothing to check.
  CheckedOrder(const int64_t* order, int64_t count, int64_t n)
      : order_(order), count_(count), n_(n), checked_(order ? 0 : kAll) {}

  // Whether the visits before `end` (at most all) are of rows that exist.
  bool valid_before(int64_t end) {
    if (__builtin_expect(end <= checked_, 1)) return true;
    const int64_t then = check(order_, count_, n_, checked_, end);
    if (then < 0) return false;
    checked_ = then;
    return true;
  }

 private:
  static constexpr int64_t kAtOnce = 64, kAll = INT64_MAX;

  // Up to where entries are now known to be valid, or -1. All is passed by value: what a loop has in
  // registers may stay there.
  [[gnu::noinline]] static int64_t check(const int64_t* order, int64_t count, int64_t n,
                                         int64_t first, int64_t end) {
    int64_t last = end > first + kAtOnce ? end : first + kAtOnce;
    if (last > count) last = count;
    // The sign bit of the `or` shows whether a number was below 0 or above n - 1.
    uint64_t beyond = 0;
    for (int64_t t = first; t < last; ++t)
      beyond |= uint64_t(order[t]) | (uint64_t(n - 1) - uint64_t(order[t]));
    for (int64_t t = last; t < last + kAtOnce && t < count; t += 8) __builtin_prefetch(order + t);
    return int64_t(beyond) < 0 ? -1 : last == count ? kAll : last;
  }

  const int64_t* order_;
  int64_t count_, n_, checked_;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
