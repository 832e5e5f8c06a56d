// A sum over blocks of rows, computed by several threads.
//
// Each thread takes block after block without returning to Python. The sums of the blocks are added
// in order, whichever is done first, so the bits of the sum do not depend on the number of threads.
// Few parts wait for their turn, and their memory is reused.
// Compiled once, in threads/ordered_reduction.cpp. With SEPARATRIX_THREADS=0, as for WebAssembly, the
// same code runs for one caller, without the headers of threads: the order of the blocks is the same,
// and so are the bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>
#if SEPARATRIX_THREADS
#include <atomic>
#include <mutex>
#endif

namespace separatrix {

#if SEPARATRIX_THREADS
using BlockCounter = std::atomic<int64_t>;
using Guard = std::mutex;
using Locked = std::lock_guard<std::mutex>;
#else
using BlockCounter = int64_t;
struct Guard {};
struct Locked {
  explicit Locked(Guard&) {}
};
#endif

class BlockSum {
 public:
  // Block i is the rows from edges[i] up to edges[i + 1]; the sum has `size` numbers.
  BlockSum(std::vector<int64_t> edges, double* sum, int64_t size)
      : edges_(std::move(edges)), sum_(sum), size_(size_t(size)) {}

  int64_t rows() const { return edges_.back(); }
  int64_t size() const { return int64_t(size_); }

  // No further block may be taken.
  void give_up() { next_ = int64_t(edges_.size()); }

  // Calls part(first row, number of rows, numbers to add to) for blocks that no other thread has
  // taken, until none is left or part returns false because it is incomplete: then there is no sum.
  template <class Part>
  bool work(Part&& part) {
    std::vector<double> numbers;
    for (;;) {
      const int64_t block = next_++;
      if (block + 1 >= int64_t(edges_.size())) return true;
      numbers.assign(size_, 0.0);
      const int64_t first = edges_[size_t(block)], last = edges_[size_t(block) + 1];
      if (!part(first, last - first, numbers.data())) return false;
      add(block, numbers);
    }
  }

 private:
  // Leaves room for other numbers in place of these.
  void add(int64_t block, std::vector<double>& numbers);

  const std::vector<int64_t> edges_;
  double* const sum_;
  const size_t size_;
  BlockCounter next_{0};
  Guard guard_;
  int64_t added_ = 0;
  std::map<int64_t, std::vector<double>> waiting_;
};

}  // namespace separatrix
