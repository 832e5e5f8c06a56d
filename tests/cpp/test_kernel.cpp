// The Gaussian kernel and the kernel perceptron, at every level this machine runs.
#include "by_hand.hpp"

namespace {

using namespace separatrix;
using namespace separatrix::tests;

// Kernel values, and sums of them, against the formula.
void test_gaussian(const Table& table, int64_t m, int64_t n, int64_t d) {
  const Numbers rows = uniforms(m * d), reference = uniforms(n * d), shift = uniforms(d);
  const int64_t k = 3, width = (n + kPanel - 1) / kPanel * kPanel;
  Numbers room(m + (d + 1) * kPanel), out(m * n), coefficients(k * width), sums(m * k * kPanel);
  for (int64_t at = 0; at < k * width; ++at)
    if (at % width < n) coefficients[at] = uniforms(1)[0];
  std::vector<int64_t> slots(m);
  for (int64_t i = 0; i < m; ++i) slots[i] = m - 1 - i;
  const GaussianBlock block{rows.data(), m, d, reference.data(), nullptr, n, shift.data(),
                            room.data(), room.data() + m, 0.7, never};
  table.gaussian_rows(block, slots.data(), out.data());
  table.gaussian_sums(block, coefficients.data(), k, width, sums.data());
  Numbers wanted(m * n), wanted_sums(m * k), found_sums(m * k);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Real square = 0;
      for (int64_t a = 0; a < d; ++a)
        square += std::pow(rows[i * d + a] - (Real(reference[j * d + a]) - shift[a]), 2);
      const Real value = std::exp(Real(-0.7) * square);
      wanted[slots[i] * n + j] = double(value);
      for (int64_t c = 0; c < k; ++c)
        wanted_sums[i * k + c] += double(value * coefficients[c * width + j]);
    }
  for (int64_t at = 0; at < m * k * kPanel; ++at) found_sums[at / kPanel] += sums[at];
  const std::string where = std::string("gaussian, ") + table.level;
  compare(where + " rows", out, wanted, kClose);
  compare(where + " sums", found_sums, wanted_sums, kClose);
}

void test_exp_neg(const Table& table) {
  Numbers values, wanted;
  for (double x = -1; x < 800; x += 0.37) {
    values.push_back(x);
    wanted.push_back(x > 708 ? 0.0 : double(std::exp(-Real(std::max(x, 0.0)))));
  }
  table.exp_neg_all(values.data(), int64_t(values.size()), -1.0);
  compare(std::string("exp_neg, ") + table.level, values, wanted, Near{0, 1e-15});
}

// One pass over rows whose kernel matrix is at hand. Its entries are small integers: sums of them
// are exact, and no rounding excuses another update.
void test_pass(const Table& table, int64_t n, int64_t max_updates) {
  Numbers kernel(n * n), y(n), weight(n, 0.5), factor(n, 2.0);
  for (int64_t i = 0; i < n; ++i) {
    y[i] = below(2) ? 1 : -1;
    for (int64_t j = 0; j <= i; ++j) kernel[i * n + j] = kernel[j * n + i] = double(below(5) - 2);
  }
  std::vector<int64_t> order(n), slot(n), last_used(n), counts(n), log(3 * n), wanted_log;
  for (int64_t i = 0; i < n; ++i) order[i] = i * 7 % n, slot[i] = n - 1 - i;
  Numbers kept(n * n), scores(n), alpha(n), late(n), totals(2), wanted(n), wanted_alpha(n);
  for (int64_t i = 0; i < n; ++i)
    std::copy_n(kernel.data() + i * n, n, kept.data() + slot[i] * n);
  const double step = 0.25;
  KernelPass pass{y.data(), nullptr, n, 1, weight.data(), factor.data(), order.data(), n, &step,
                  true, n, kept.data(), slot.data(), last_used.data(), scores.data(),
                  alpha.data(), late.data(), counts.data(), 0, max_updates, never, totals.data(),
                  log.data(), 0, 0, false};
  table.kernel_pass(pass);
  int64_t updates = 0, t = 0;
  for (; t < n && updates < max_updates; ++t) {
    const int64_t i = order[t];
    if (y[i] * wanted[i] > 0) continue;
    wanted_alpha[i] += y[i] * 0.5;
    for (int64_t j = 0; j < n; ++j) wanted[j] += y[i] * 0.5 * kernel[i * n + j];
    for (int64_t entry : {t, i, int64_t(-1)}) wanted_log.push_back(entry);
    ++updates;
  }
  log.resize(size_t(3 * pass.updates));
  const std::string where = std::string("kernel pass, ") + table.level;
  compare(where + " scores", scores, wanted, kSameBits);
  compare(where + " alpha", alpha, wanted_alpha, kSameBits);
  const bool same = pass.position == t && pass.updates == updates && log == wanted_log;
  ++(same ? passed : failed);
  if (!same) std::printf("FAILED: %s: position, updates or log\n", where.c_str());
}

}  // namespace

int main() {
  for (const Table* const* level = usable_levels(); *level; ++level) {
    for (int64_t m : {0, 1, 3, 4, 9})
      for (int64_t n : {1, 7, 8, 30})
        for (int64_t d : {0, 1, 5, 40}) test_gaussian(**level, m, n, d);
    test_exp_neg(**level);
    for (int64_t most : {3, 1000})
      for (int64_t n : {1, 8, 50}) test_pass(**level, n, most);
  }
  return summary();
}
