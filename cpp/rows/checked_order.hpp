// Rows to visit, checked before they are read: a number that is not that of a row would read and
// write elsewhere.
//
// Every entry is checked once, a few visits before a loop gets to it, when the loop asks for its row
// to be prefetched. So the check waits for no memory, and a loop that ends early does not pay for the
// rest of a long order.
#pragma once
#include <cstdint>

namespace separatrix::SEPARATRIX_LEVEL {

class CheckedOrder {
 public:
  // Without an order the rows are visited as they lie: nothing to check.
  CheckedOrder(const int64_t* order, int64_t count, int64_t n)
      : order_(order), count_(count), n_(n), checked_(order ? 0 : count) {}

  // Whether the visits before `end` (at most all) are of rows that exist.
  bool valid_before(int64_t end) {
    if (end > count_) end = count_;
    for (; checked_ < end; ++checked_)
      if (uint64_t(order_[checked_]) >= uint64_t(n_)) return false;
    return true;
  }

 private:
  const int64_t* order_;
  int64_t count_, n_, checked_;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
