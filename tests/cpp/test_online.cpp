// Online passes of every loss, at every level this machine runs.
#include "by_hand.hpp"

#include "online/fold.hpp"

namespace {

using namespace separatrix;
using namespace separatrix::tests;

// `decay` is 2 * step * l2 at the longest step; the bits of `code` switch the other options. With
// an L1 penalty there is no sum of the weights.
void test_online(const Problem& p, int loss, int batch, double decay, int code, Near near) {
  auto flag = [&](int bit) { return bool(code >> bit & 1); };
  // Small enough for the squared loss to descend; a power of two, so that sums may be exact.
  const double step = std::exp2(-std::ceil(std::log2(double(p.d + 4))));
  const int64_t count = flag(0) ? 2 * p.n : p.n;
  std::vector<int64_t> order(count);
  Numbers steps(count + 1, step);
  for (int64_t i = 0; i < count; ++i) order[i] = i % p.n, steps[i] /= double(1 + i % 2);
  std::shuffle(order.begin(), order.end(), generator);
  char what[99];
  std::snprintf(what, 99, "online, loss %d batch %d decay %g code %d", loss, batch, decay, code);
  test(what, p, near, [&](auto& loops, auto& rows) {
    Numbers v = p.w, sum(p.d + 1, kFiller), lag(p.d + 1), received(p.d + 1);
    std::vector<int64_t> log(count);
    // Half of the weights' size is in the scale from the start; or none, where there is no decay
    // and the perceptron has a loop of its own.
    double scale = decay == 0 ? 1 : 0.5, area = 0, cumulative = 0;
    for (int64_t j = 0; j < p.d; ++j) v[j] /= scale;
    OnlinePass pass{loss, p.y.data(), {}, {}, 1, flag(1) ? p.weight.data() : nullptr,
                    flag(1) ? 0.5 : 1.0, flag(0) ? order.data() : nullptr, count, steps.data(),
                    flag(2), decay / (2 * step), batch, flag(3), flag(4) ? p.n / 2 : 1 << 30,
                    v.data(), &scale, flag(5) && !flag(7) ? sum.data() : nullptr, lag.data(),
                    &area, flag(7) ? 0.3 : 0, &cumulative, flag(7) ? received.data() : nullptr,
                    flag(6) ? log.data() : nullptr, nullptr, never, 0, 0, 0, 0, false};
    loops.online(rows, pass);
    if (flag(7)) fold(pass, p.d);
    for (int64_t j = 0; j < p.d; ++j) sum[j] += area * v[j] - lag[j], v[j] *= scale;
    return join({pass.loss_sum, pass.mistakes, double(pass.updates), double(pass.position),
                 cumulative}, v, sum, received, log);
  });
}

// With no features the bias is the margin, and nothing else hides what a loss gives there.
void test_margin(double m, int loss, int code, Near near) {
  Problem p(1, {}, {m});
  p.y = {1};
  test_online(p, loss, 1, 0, code, near);
}

void test_margins() {
  for (int loss = 0; loss < 6; ++loss)
    for (double m : {0.0, 1.0, std::nextafter(1, 2), std::nextafter(1, 0), 5e-324, 1e3, 1e6,
                     HUGE_VAL, std::nan(""), std::nan("1954")})
      for (double sign : {1, -1}) test_margin(sign * m, loss, 8, kClose);
  for (double m = -40; m <= 40; m += 1 / 33.0) test_margin(m, 1, 0, kCloseValue);
}

// The rules of online/rules.hpp, for one row of weights or several. Updated rows are not compared: a
// margin within rounding of 1 may be one or none.
void test_rule(const Problem& p, RuleId rule, int64_t k, int code, Near near) {
  auto flag = [&](int bit) { return bool(code >> bit & 1); };
  const int64_t count = flag(0) ? 2 * p.n : p.n, size = k * (p.d + 1);
  std::vector<int64_t> order(count), label(p.n);
  for (int64_t i = 0; i < count; ++i) order[i] = i % p.n;
  for (int64_t& number : label) number = below(k);
  std::shuffle(order.begin(), order.end(), generator);
  const bool winnow = rule == RuleId::winnow;
  Numbers start = uniforms(size, 0.5);
  if (winnow) for (double& w : start) w = std::abs(w) + 0.25;
  char what[99];
  std::snprintf(what, 99, "rule %d k %d code %d", int(rule), int(k), code);
  test(what, p, near, [&](auto& loops, auto& rows) {
    Numbers v = start, variance(size, 1), lag(size);
    RulePass pass{int(rule), k == 1 ? p.y.data() : nullptr, k == 1 ? nullptr : label.data(), k,
                  flag(1) ? p.weight.data() : nullptr, flag(0) ? order.data() : nullptr, count,
                  winnow ? 1.25 : 0.75, flag(2) && !winnow, 1 << 30, v.data(),
                  rule == RuleId::arow ? variance.data() : nullptr, flag(3) ? lag.data() : nullptr,
                  0, nullptr, never, 0, 0, 0, 0, false};
    loops.online_rule(rows, pass);
    return join({pass.loss_sum, pass.mistakes, double(pass.position), flag(3) ? pass.area : 0}, v,
                variance, lag);
  });
}

void test_rules(int64_t n, int64_t d) {
  if (n > 5 && d > 33) return;
  Problem p = random_problem(n, d);
  for (int code = 0; code < 16; ++code) {
    for (int64_t k : {1, 2, 4})
      for (RuleId rule : {RuleId::passive_aggressive_1, RuleId::passive_aggressive_2, RuleId::arow})
        test_rule(p, rule, k, code, {1e-8, 1e-8});
    test_rule(p, RuleId::winnow, 1, code, {1e-8, 1e-8});
  }
}

// Sums of small integers are exact: no rounding excuses another order or another update.
void test_exact_perceptron() {
  Numbers integers(80 * 17);
  for (double& value : integers) value = double(below(7) - 3);
  const Problem p(80, integers, Numbers(18));
  for (int at = 0; at < 256; ++at) test_online(p, 0, 1 + at % 2, 0, at / 2, kSameBits);
}

void test_shape(int64_t n, int64_t d) {
  const Problem p = random_problem(n, d);
  const int codes = n == 5 && d == 17 ? 256 : 1;  // one shape sees every combination of options
  for (int loss = 0; loss < 6; ++loss)
    // Decays that fold the scale never, after many batches, after a few, and at every one.
    for (double decay : {0.0, 0.1, 0.99, 1.0, 3.0})
      for (int at = 0; at < 2 * codes; ++at)
        test_online(p, loss, 1 + at % 2 * 2, decay, int(codes > 1 ? at / 2 : below(256)), kClose);
}

}  // namespace

int main() {
  test_margins();
  test_exact_perceptron();
  each_shape(test_shape);
  each_shape(test_rules);
  return summary();
}
