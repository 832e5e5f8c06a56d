// Filters of the perceptron change no bit, at any level this machine runs.
#include "by_hand.hpp"

namespace {

using namespace separatrix;
using namespace separatrix::tests;

// Random labels, so that many rows are mistaken: passes over all rows against passes over one.
template <class Rows>
void test_passes(const LoopsFor<Rows>& loops, const Rows& rows, double step, bool averaged) {
  const Numbers start = uniforms(rows.d + 1), weight = uniforms(rows.n, 1, true);
  Numbers y(rows.n);
  for (double& sign : y) sign = below(2) ? 1 : -1;
  const auto after = [&](int64_t at_once) {
    Numbers v = start, sum(rows.d + 1), lag(rows.d + 1), met(4);
    std::vector<int64_t> logs;
    double scale = 1, area = 0;
    for (int64_t first = 0; first < 3 * rows.n; first += at_once) {
      std::vector<int64_t> order(at_once), log(at_once);
      for (int64_t i = 0; i < at_once; ++i) order[i] = (first + i) * 7 % rows.n;
      OnlinePass pass{0, y.data(), nullptr, nullptr, 1, averaged ? weight.data() : nullptr, 0.75,
                      order.data(), at_once, &step, true, 0, 1, true, 1 << 30, v.data(), &scale,
                      averaged ? sum.data() : nullptr, lag.data(), &area, 0, nullptr, nullptr,
                      log.data(), nullptr, never, met[0], met[1], 0, 0, false};
      loops.online(rows, pass);
      met = {pass.loss_sum, pass.mistakes, met[2] + double(pass.updates), 0};
      logs.insert(logs.end(), log.begin(), log.begin() + pass.updates);
    }
    return join(met, v, sum, lag, logs);
  };
  const Numbers expected = after(1), found = after(rows.n);
  const bool same = expected.size() == found.size() &&
                    std::equal(expected.begin(), expected.end(), found.begin(), kSameBits);
  ++(same ? passed : failed);
  if (!same) std::printf("passes: d %d step %g\n", int(rows.d), step);
}

void test_passes() {
  const int64_t n = 1000;
  for (const Table* const* level = usable_levels(); *level; ++level)
    for (int64_t d : {1, 2, 7, 16, 33, 100, 250})
      for (double step : {1e-30, 1e-9, 1e-3, 1.0, 1e15, 1e30, 1e300})
        for (bool averaged : {false, true}) {
          const Numbers values = uniforms(n * d);
          const std::vector<float> floats(values.begin(), values.end());
          test_passes((*level)->dense_double, DenseRows<double>{values.data(), n, d}, step,
                      averaged);
          test_passes((*level)->dense_float, DenseRows<float>{floats.data(), n, d}, step,
                      averaged);
        }
}

// Many classes at a step so small that margins stay within the rounding of floats: a pass over all
// rows, most of which are known to be right from sums in float, against passes over one.
template <class Rows>
void test_multiclass_filter(const LoopsFor<Rows>& loops, const Rows& rows, int64_t k) {
  Numbers start = uniforms(k * (rows.d + 1), 1e-6);
  const Numbers shared = uniforms(rows.d + 1);
  for (size_t j = 0; j < start.size(); ++j) start[j] += shared[j % shared.size()];
  Numbers scores(rows.n * k);
  std::vector<int64_t> label(rows.n), log(rows.n);
  loops.scores(rows, start.data(), k, scores.data(), never);
  for (int64_t i = 0; i < rows.n; ++i) {
    const double* const s = scores.data() + i * k;
    label[i] = below(5) ? std::max_element(s, s + k) - s : below(k);
  }
  const auto weights_after = [&](int64_t at_once) {
    Numbers v = start;
    double scale = 1, area = 0, step = 1e-9;
    for (int64_t first = 0; first < 4 * rows.n; first += at_once) {
      std::vector<int64_t> order(at_once);
      for (int64_t i = 0; i < at_once; ++i) order[i] = (first + i) % rows.n;
      OnlinePass pass{int(JointId::perceptron), {}, label.data(), nullptr, k, nullptr, 1.0, order.data(),
                      at_once, &step, true, 0, 1, true, 1 << 30, v.data(), &scale, nullptr,
                      nullptr, &area, 0, nullptr, nullptr, log.data(), nullptr, never, 0, 0, 0,
                      0, false};
      loops.online_joint(rows, pass);
    }
    return v;
  };
  const Numbers expected = weights_after(1), found = weights_after(rows.n);
  const bool same = std::equal(expected.begin(), expected.end(), found.begin(), kSameBits);
  ++(same ? passed : failed);
  if (!same) std::printf("multiclass filter: k %d d %d\n", int(k), int(rows.d));
}

void test_multiclass_filter() {
  for (const Table* const* level = usable_levels(); *level; ++level)
    for (int64_t d : {1, 5, 16, 40, 100})
      for (int64_t k : {3, 5, 8, 14}) {
        const Numbers values = uniforms(300 * d);
        const std::vector<float> floats(values.begin(), values.end());
        test_multiclass_filter((*level)->dense_double, DenseRows<double>{values.data(), 300, d}, k);
        test_multiclass_filter((*level)->dense_float, DenseRows<float>{floats.data(), 300, d}, k);
      }
}

}  // namespace

int main() {
  test_passes();
  test_multiclass_filter();
  return summary();
}
