// Sums over all rows, at every level this machine runs.
#include "by_hand.hpp"

namespace {

using namespace separatrix;
using namespace separatrix::tests;

void test_batch(const Problem& p, int loss, const double* weight, Near near = kClose) {
  test("batch, loss " + std::to_string(loss), p, near, [&](auto& loops, auto& rows) {
    Numbers slopes(p.d + 1, kFiller), curvatures(p.n);
    BatchPass bare{loss, p.y.data(), {}, {}, 1, weight, p.w.data(), {}, false, {}, false, never, 0, 0, false};
    BatchPass full = bare;
    full.gradient = slopes.data(), full.curvature = curvatures.data();
    loops.batch(rows, full);
    loops.batch(rows, bare);
    return join({full.loss_sum, full.mistakes, bare.loss_sum, bare.mistakes}, slopes, curvatures);
  });
}

// As many classes as leave panels of every width, some filled up.
void test_softmax(const Problem& p, int64_t k, const double* weight) {
  const Numbers w = uniforms(k * (p.d + 1));
  std::vector<int64_t> label(p.n);
  for (int64_t& number : label) number = below(k);
  for (const bool float32_sums : {false, true}) {
    const std::string kind = float32_sums ? "softmax, float32 sums, of " : "softmax of ";
    const std::string what = kind + std::to_string(k);
    test(what, p, float32_sums ? kFloat32 : kClose, [&](auto& loops, auto& rows) {
      Numbers slopes(k * (p.d + 1), kFiller);
      BatchPass bare{int(JointId::softmax), {}, label.data(), {}, k, weight, w.data(), {},
                     false, {}, float32_sums, never, 0, 0, false};
      BatchPass full = bare;
      full.gradient = slopes.data();
      loops.batch_joint(rows, full);
      loops.batch_joint(rows, bare);
      if (float32_sums) full.mistakes = bare.mistakes = 0;  // rounding may turn them
      return join({full.loss_sum, full.mistakes, bare.loss_sum, bare.mistakes}, slopes);
    });
  }
}

// Of one class against the others, or of labels of which a row may have any number.
void test_columns(const Problem& p, int64_t k, int loss, bool several, const double* weight) {
  const Numbers w = uniforms(k * (p.d + 1));
  std::vector<int64_t> label(p.n);
  for (int64_t& number : label) number = below(k);
  std::vector<int8_t> labels(p.n * k);
  for (int8_t& sign : labels) sign = below(3) ? -1 : 1;
  const std::string what = (several ? "labels, " : "against the rest, ") + std::to_string(k) +
                           ", loss " + std::to_string(loss);
  test(what, p, kClose, [&](auto& loops, auto& rows) {
    Numbers slopes(k * (p.d + 1), kFiller);
    BatchPass bare{int(JointId::columns) + loss, {}, several ? nullptr : label.data(),
                   several ? labels.data() : nullptr, k, weight, w.data(), {},
                   false, {}, false, never, 0, 0, false};
    BatchPass full = bare;
    full.gradient = slopes.data();
    loops.batch_joint(rows, full);
    loops.batch_joint(rows, bare);
    return join({full.loss_sum, full.mistakes, bare.loss_sum, bare.mistakes}, slopes);
  });
}

// Sums in float where rows are; of a loss without jumps, so that rounding cannot change much.
void test_float32_sums(const Problem& p, const double* weight) {
  test("batch, float32 sums", p, kFloat32, [&](auto& loops, auto& rows) {
    Numbers slopes(p.d + 1, kFiller), curvatures(p.n);
    BatchPass pass{int(LossId::logistic), p.y.data(), {}, {}, 1, weight, p.w.data(), slopes.data(),
                   false, curvatures.data(), true, never, 0, 0, false};
    loops.batch(rows, pass);
    return join({pass.loss_sum}, slopes, curvatures);
  });
}

void test_products(const Problem& p, int64_t k, const double* weight) {
  const Numbers w = uniforms(k * (p.d + 1)), a = uniforms(p.n * k, 1, true);
  const char* const what = "scores, transpose_product, squared_norms, hessian_product, moments";
  test(what, p, kClose, [&](auto& loops, auto& rows) {
    Numbers scores(p.n * k), sums(k * (p.d + 1), kFiller), product(k * (p.d + 1), kFiller);
    Numbers sum(k * p.d, kFiller), squares(p.d, kFiller), norms(p.n);
    std::vector<int64_t> group(p.n);
    for (int64_t i = 0; i < p.n; ++i) group[i] = i * i % k;
    loops.scores(rows, w.data(), k, scores.data(), never);
    loops.transpose_product(rows, a.data(), k, sums.data(), never);
    loops.squared_norms(rows, norms.data(), never);
    loops.hessian_product(rows, p.weight.data(), w.data(), k, product.data(), never);
    loops.moments(rows, weight, group.data(), k, nullptr, sum.data(), squares.data(), never);
    return join(scores, sums, product, sum, squares, norms);
  });
}

// Many weights at once, on rows and labels such that some are right by some of them.
void test_many(const Problem& p, int64_t m, int64_t k, const double* weight,
               bool several = false) {
  const Numbers w = uniforms(m * k * (p.d + 1)), mean = uniforms(p.d), factor = uniforms(p.d + 1);
  std::vector<int64_t> label(p.n);
  for (int64_t& number : label) number = below(k);
  std::vector<int8_t> labels(p.n * k);
  for (int8_t& sign : labels) sign = below(2) ? -1 : 1;
  test("weighted_correct, max_standardised_norm2, gram", p, kClose, [&](auto& loops, auto& rows) {
    Numbers correct(m, kFiller), square(1), products((p.d + 1) * (p.d + 1), kFiller);
    loops.weighted_correct(rows, k == 1 ? p.y.data() : nullptr, k == 1 ? nullptr : label.data(),
                           several ? labels.data() : nullptr, weight, w.data(), m, k, correct.data(), never);
    loops.max_standardised_norm2(rows, weight, mean.data(), factor.data(), square[0], never);
    loops.gram(rows, p.weight.data(), mean.data(), factor.data(), products.data(), never);
    return join(correct, square, products);
  });
}

// With no features the bias is the margin, and nothing else hides what a loss gives there.
void test_margin(double m, int loss, Near near) {
  Problem p(1, {}, {m});
  p.y = {1};
  test_batch(p, loss, nullptr, near);
}

void test_margins() {
  for (int loss = 0; loss < 6; ++loss) {
    for (double m : {0.0, 1.0, std::nextafter(1, 2), std::nextafter(1, 0), 5e-324, 1e3, 1e6,
                     HUGE_VAL, std::nan(""), std::nan("1954")})
      for (double sign : {1, -1}) test_margin(sign * m, loss, kClose);
    Problem p(2, {std::nan(""), 0.5}, {1, 0.5});
    p.weight = {0, 1};  // a row without weight is as if absent, whatever is in it
    test_batch(p, loss, p.weight.data());
  }
  for (double m = -40; m <= 40; m += 1 / 33.0) test_margin(m, 1, kCloseValue);
}

void test_shape(int64_t n, int64_t d) {
  const Problem p = random_problem(n, d);
  for (int loss = 0; loss < 6; ++loss) {
    test_batch(p, loss, nullptr);
    test_batch(p, loss, p.weight.data());
  }
  test_float32_sums(p, nullptr);
  test_float32_sums(p, p.weight.data());
  test_products(p, 1, nullptr);
  test_products(p, 3, p.weight.data());
  for (int64_t k : {2, 3, 5, 8, 10, 11, 13, 27})
    test_softmax(p, k, k % 2 ? p.weight.data() : nullptr);
  for (int64_t k : {2, 3, 8, 11, 27})
    for (int loss = 0; loss < 6; ++loss)
      test_columns(p, k, loss, (k + loss) % 2 == 0, loss % 3 ? p.weight.data() : nullptr);
  test_columns(p, 300, 1, true, p.weight.data());
  if (d > 100) return;  // products of all features with all others
  test_many(p, 1, 1, nullptr);
  test_many(p, 11, 1, p.weight.data());
  test_many(p, 3, 4, p.weight.data());
  test_many(p, 3, 2, p.weight.data(), true);
}

// One epoch of coordinate descent on a quadratic, every u_j by the formula of its own minimum.
void test_coordinate_descent(const Table& table, int64_t m) {
  const Numbers a = uniforms(m * m);
  Numbers hessian(m * m), thresholds = uniforms(m), u = uniforms(m, 3), slope = uniforms(m, 2);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < m; ++j)
      for (int64_t r = 0; r < m; ++r) hessian[i * m + j] += a[r * m + i] * a[r * m + j];
  for (double& threshold : thresholds) threshold = std::abs(threshold);
  std::vector<Real> best(u.begin(), u.end()), slopes(slope.begin(), slope.end());
  Real gain = 0;
  for (int64_t j = 0; j < m; ++j) {
    const Real curvature = hessian[j * m + j], free = best[j] - slopes[j] / curvature;
    const Real size = std::max<Real>(std::abs(free) - thresholds[j] / curvature, 0);
    const Real change = (free < 0 ? -size : size) - best[j];
    best[j] += change;
    gain += curvature * change * change / 2;
    for (int64_t i = 0; i < m; ++i) slopes[i] += change * hessian[j * m + i];
  }
  QuadraticDescent on{{1, 0.0, never}, hessian.data(), thresholds.data(), m, u.data(),
                      slope.data()};
  table.coordinate_descent(on);
  const std::string where = std::string("coordinate descent, ") + table.level;
  compare(where, join(u, slope, Numbers{on.gain}),
          join(Numbers(best.begin(), best.end()), Numbers(slopes.begin(), slopes.end()),
               Numbers{double(gain)}),
          Near{1e-9, 1e-9});
}

// Epochs over columns that are stored as rows, over weights that are not 0 and over all. Every
// weight costs a square, or the curvature along a column that is constant would be its rounding.
void test_column_descent(int64_t m, int64_t n) {
  const Problem p = random_problem(m, n);
  Numbers h = uniforms(n), ridge = uniforms(m), thresholds = uniforms(m), w = uniforms(m, 3, true);
  const Numbers slopes = uniforms(n, 2);
  double total = 0;
  for (double& each : h) total += each = std::abs(each);
  for (double& each : ridge) each = 0.5 + std::abs(each);
  for (int64_t j = 0; j < m; ++j) thresholds[j] = j % 3 ? std::abs(thresholds[j]) : 0;
  for (const bool bias : {false, true})
    test(bias ? "column descent, bias" : "column descent", p, Near{1e-9, 1e-9},
         [&](auto& loops, auto& rows) {
           Numbers products(m), squares(m), at = w, slope = slopes;
           loops.column_curvatures(rows, h.data(), total, bias, products.data(), squares.data(),
                                   never);
           ColumnDescent on{{2, 0.0, never}, h.data(), bias ? total : 0, products.data(),
                            squares.data(), ridge.data(), thresholds.data(), false, at.data(),
                            slope.data(), 0.25};
           loops.column_descent(rows, on);
           const Numbers first = join(at, slope, Numbers{on.shift, on.gain, double(on.epochs)});
           on.zeros = true, on.max_epochs = 3, on.enough = 1e-3;
           loops.column_descent(rows, on);
           return join(first, products, squares, at, slope,
                       Numbers{on.shift, on.gain, double(on.epochs)});
         });
}

// One epoch by blocks of one and of two: the length of a block of two by bisection.
void test_block_coordinate_descent(const Table& table, int64_t pairs) {
  const int64_t m = 1 + 2 * pairs;
  Numbers hessian(m * m), thresholds{0}, u = uniforms(m, 3), slope = uniforms(m, 2), pull(m);
  std::vector<int64_t> starts{0, 1};
  for (int64_t b = 0; b < pairs; ++b) {
    starts.push_back(starts.back() + 2);
    thresholds.push_back(0.5 + 0.3 * b);
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < m; ++j)
      hessian[i * m + j] = i == j ? 2.0 + i : (i + 1) / 2 == (j + 1) / 2 ? 0 : 0.1;
  std::vector<Real> best(u.begin(), u.end()), slopes(slope.begin(), slope.end());
  Real gain = 0;
  for (int64_t b = 0; b <= pairs; ++b) {
    std::vector<Real> here;
    Real size = 0, low = 0, high = 1e6;
    for (int64_t j = starts[b]; j < starts[b + 1]; ++j) {
      here.push_back(hessian[j * m + j] * best[j] - slopes[j]);
      size += here.back() * here.back();
    }
    const auto below = [&](int64_t j, Real r) { return hessian[j * m + j] * r + thresholds[b]; };
    for (int i = 0; i < 200; ++i) {
      const Real r = (low + high) / 2;
      Real square = 0;
      for (int64_t j = starts[b]; j < starts[b + 1]; ++j) {
        const Real share = here[j - starts[b]] / below(j, r);
        square += share * share;
      }
      (square > 1 ? low : high) = r;
    }
    const Real r = std::sqrt(size) <= thresholds[b] ? 0 : high;
    for (int64_t j = starts[b]; j < starts[b + 1]; ++j) {
      const Real change = (r > 0 ? r * here[j - starts[b]] / below(j, r) : 0) - best[j];
      best[j] += change;
      gain += hessian[j * m + j] * change * change / 2;
      for (int64_t i = 0; i < m; ++i) slopes[i] += change * hessian[j * m + i];
    }
  }
  BlockDescent on{{1, 0.0, never}, hessian.data(), m, starts.data(), thresholds.data(), pairs + 1,
                  u.data(), slope.data(), pull.data()};
  table.block_coordinate_descent(on);
  const std::string where = std::string("block coordinate descent, ") + table.level;
  compare(where, join(u, slope, Numbers{on.gain}),
          join(Numbers(best.begin(), best.end()), Numbers(slopes.begin(), slopes.end()),
               Numbers{double(gain)}),
          Near{1e-9, 1e-9});
}

}  // namespace

int main() {
  for (const Table* const* level = usable_levels(); *level; ++level)
    std::printf("level %s\n", (*level)->level);
  for (const Table* const* level = usable_levels(); *level; ++level)
    for (const int64_t m : {1, 2, 3, 8, 17, 40}) test_coordinate_descent(**level, m);
  for (const Table* const* level = usable_levels(); *level; ++level)
    for (const int64_t pairs : {1, 2, 9}) test_block_coordinate_descent(**level, pairs);
  for (const int64_t m : {0, 1, 3, 20})
    for (const int64_t n : {1, 7, 8, 17, 64}) test_column_descent(m, n);
  test_margins();
  each_shape(test_shape);
  return summary();
}
