// Several threads change no bit of sums over blocks.
#include "by_hand.hpp"

#if SEPARATRIX_THREADS
#include <thread>
#endif

#include "threads/ordered_reduction.hpp"

namespace {

using namespace separatrix;
using namespace separatrix::tests;

// Work on this many threads, this one included, as far as the build has threads.
template <class Work>
void on_threads(int threads, const Work& work) {
#if SEPARATRIX_THREADS
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (auto& each : others) each.join();
#else
  for (int t = 0; t < threads; ++t) work();
#endif
}

// Sums whose bits depend on the order, by more and more threads.
void test_ordered_reduction() {
  std::vector<int64_t> edges(1, 0);
  for (int64_t block = 0; block < 500; ++block) edges.push_back(edges.back() + below(4));
  const Numbers values = uniforms(edges.back() * 3, 0.1);
  Numbers first;
  for (int threads : {1, 2, 5}) {
    Numbers sum(3);
    BlockSum reduction(edges, sum.data(), 3);
    const auto work = [&] {
      reduction.work([&](int64_t from, int64_t count, double* numbers) {
        for (int64_t i = 3 * from; i < 3 * (from + count); ++i) numbers[i % 3] += values[i];
        return true;
      });
    };
    on_threads(threads, work);
    if (first.empty()) first = sum;
    const bool same = std::equal(first.begin(), first.end(), sum.begin(), kSameBits);
    ++(same ? passed : failed);
    if (!same) std::printf("ordered reduction: %d threads\n", threads);
  }
}

}  // namespace

int main() {
  test_ordered_reduction();
  return summary();
}
