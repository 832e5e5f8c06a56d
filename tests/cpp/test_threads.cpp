// Several threads change no bit: of sums over blocks, and of the two-loop recursion.
#include "by_hand.hpp"

#include <thread>

#include "threads/helper_thread.hpp"
#include "threads/ordered_reduction.hpp"

namespace {

using namespace separatrix;
using namespace separatrix::tests;

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
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(work);
    work();
    for (auto& each : others) each.join();
    if (first.empty()) first = sum;
    const bool same = std::equal(first.begin(), first.end(), sum.begin(), kSameBits);
    ++(same ? passed : failed);
    if (!same) std::printf("ordered reduction: %d threads\n", threads);
  }
}

// The same helper for one recursion after another, as in a fit.
void test_two_loop(const Table& table) {
  HelperThread helper;
  for (const int64_t size : {int64_t(1), kSumBlock, 3 * kSumBlock + 5}) {
    const int64_t pairs = 3;
    const Numbers gradient = uniforms(size), curvature{0.5, 1.5, 2};
    std::vector<Numbers> kept;
    for (int64_t i = 0; i < 2 * pairs; ++i) kept.push_back(uniforms(size));
    std::vector<const double*> s, y;
    for (int64_t i = 0; i < pairs; ++i) {
      s.push_back(kept[2 * i].data());
      y.push_back(kept[2 * i + 1].data());
    }
    const auto direction = [&](HelperThread* other) {
      Numbers alphas(pairs), sums(size / kSumBlock + 1), found(size);
      const double slope =
          table.two_loop({gradient.data(), size, pairs, s.data(), y.data(), curvature.data(), 0.75,
                          alphas.data(), sums.data(), other, found.data()});
      return join(found, Numbers{slope});
    };
    const std::string where = std::string("two-loop recursion, ") + table.level;
    compare(where, direction(&helper), direction(nullptr), kSameBits);
  }
}

}  // namespace

int main() {
  test_ordered_reduction();
  for (const Table* const* level = usable_levels(); *level; ++level) test_two_loop(**level);
  return summary();
}
