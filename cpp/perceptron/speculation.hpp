// Speculation: mistaken rows that are found before the weights are exact.
//
// Where many rows are mistaken, the exact sum and addition of each hold up the next. Here a copy of
// the weights in float, as the rows are, runs ahead and takes in a mistaken row at once. The
// exact weights follow, a few rows at a time, on another thread if there is one. With every
// addition the copy may drift away from them by a rounding; a row that is not clear of zero by more
// than that, and by the errors of both sums, has to wait for the exact weights. So no decision
// changes, and the weights have the bits of the plain loop.
#pragma once
#include "perceptron/filter.hpp"
#include "perceptron/updates.hpp"
#include "threads/helper_thread.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kSpeculated = 32;    // visits whose mistakes are followed together
constexpr int64_t kInFlight = 4;  // pieces under way, at most
constexpr int kCommittedRows = 3;      // rows added at once: their sums stay in registers
constexpr double kSmallestFactor = 0x1p-100;  // factor

// Rows in double precision give sums that nearly always decide, and take as long to read twice.
template <class Rows>
class SpeculativePass {
 public:
  static constexpr bool kEnabled = false;
  SpeculativePass(const Rows&, OnlinePass&) {}
};

template <>
class SpeculativePass<DenseRows<float>> {
 public:
  static constexpr bool kEnabled = true;
  SpeculativePass(const DenseRows<float>& rows, OnlinePass& pass)
      : rows_(rows), pass_(pass), error_bound_(rows) {}
  ~SpeculativePass() { delete[] copy_; }
  SpeculativePass(const SpeculativePass&) = delete;
  SpeculativePass& operator=(const SpeculativePass&) = delete;

  bool on() const { return on_; }

  // Begins at weights that are exact.
  void begin() {
    if (!copy_) copy_ = new float[size_t(rows_.d)];
    if (pass_.helper) pass_.helper->set_task(&SpeculativePass::commit_task, this);
    posted_ = 0;
    on_ = true;
    resync();
  }

  // Whether the last row was neither surely right nor surely mistaken.
  bool uncertain() const { return uncertain_; }

  // Reads the rows of visits t, t + 1, ..., at most kSpeculated, after which there are kFarAhead
  // more, until one is uncertain; returns how many before it. `moves` counts the rows that change
  // the weights.
  int64_t speculate(int64_t t, int64_t& moves) {
    if (pass_.helper) pass_.helper->drain(kInFlight - 1);
    Mistakes& found = mistakes_[posted_ % kInFlight];
    const int64_t decided = pass_.order ? decide<true>(t, found) : decide<false>(t, found);
    moves += found.count;
    if (found.count) {
      ++posted_;
      if (pass_.helper) pass_.helper->post();
      else commit(found);
    }
    if (error_bound_.is_coarse(drift_, norm_above_)) {
      drain();
      resync();
    }
    return decided;
  }

  // The exact weights take in all that was found.
  void drain() {
    if (on_ && pass_.helper) pass_.helper->drain(0);
  }
  void end() {
    drain();
    on_ = false;
  }

 private:
  // Visits of mistaken rows, and how many times each is added.
  struct Mistakes {
    int64_t count, visit[kSpeculated];
    double change[kSpeculated];
  };

  void resync() {
    narrow(pass_.v, copy_, rows_.d);
    bias_ = pass_.v[rows_.d];
    drift_ = 0;
    measure();
  }

  template <bool kOrder>
  int64_t decide(int64_t t, Mistakes& found) {
    const auto at = [order = pass_.order](int64_t visit) { return kOrder ? order[visit] : visit; };
    double label[kSpeculated];
    for (int64_t p = 0; p < kSpeculated; ++p) label[p] = sign_of(pass_, at(t + p));
    if (kOrder && t + kSpeculated + kLabelsAhead <= pass_.count)
      for (int64_t p = 0; p < kSpeculated; ++p) prefetch_sign(pass_, at(t + p + kLabelsAhead));
    // There is room for longer weights from the start, twice as much as was needed before: to make
    // it with every addition would hold up the next decision.
    const double most = 2 * needed_ + norm_above_ / 16, then = norm_above_ + most;
    error_bound_.set_norms(then, drift_ + error_bound_.of_additions(kSpeculated, then, most));
    // Of its own: what is stored below might change memory.
    const ErrorBound<float> error_bound = error_bound_;
    double bias = bias_, added = 0, last = 0;
    int64_t count = 0, visit = t;
    uncertain_ = false;
    for (; visit < t + kSpeculated && added <= most; ++visit) {
      const int64_t i = at(visit);
      const float *const x[] = {row(rows_, i)};
      const float *const near[] = {row(rows_, at(visit + kNearAhead))};
      const float *const far[] = {row(rows_, at(visit + kFarAhead))};
      float product[1], square[1];
      dot_and_norm2<1, kOrder, float>(x, copy_, rows_.d, near, far, product, square);
      const double y = label[visit - t];
      const double margin = y * (double(product[0]) + bias);
      const double wrong_by = error_bound.of_margin(square[0]);
      if (margin > wrong_by) continue;
      const double weight = weight_of(pass_, i), change = change_of(pass_, visit, weight, y);
      if (weight == 0 && margin < -wrong_by) continue;
      // A factor too small for a float would be lost, and not only rounded.
      uncertain_ = !(margin < -wrong_by && __builtin_fabs(change) > kSmallestFactor);
      if (uncertain_) break;
      found.visit[count] = visit;
      found.change[count++] = change;
      add(x[0], float(change));
      if (pass_.intercept) bias += change;
      added += __builtin_fabs(change) * error_bound.norm_above(square[0]);
      last = square[0];
    }
    bias_ = bias;
    needed_ = added < 0.9 * needed_ ? 0.9 * needed_ : added;
    norm_above_ += added;
    drift_ += error_bound.of_additions(count, norm_above_, added);
    found.count = count;
    if (!(norm_above_ < 2 * measured_)) {
      error_bound_.set_typical(last);
      measure();
    }
    return visit - t;
  }

  // The copy takes in a row.
  void add(const float* x, float times) {
    constexpr int64_t kCount = sizeof(Floats) / sizeof(float);
    const Floats all = times - Floats{};
    float* const copy = copy_;
    const int64_t d = rows_.d;
    const auto take = [&](int64_t at) SEPARATRIX_INLINE {
      const Floats sum = fma(all, load_pack<Floats>(x + at), load_pack<Floats>(copy + at));
      std::memcpy(copy + at, &sum, sizeof sum);
    };
    int64_t j = 0;
    for (; j + 4 * kCount <= d; j += 4 * kCount)
      unrolled<4>([&](auto p) SEPARATRIX_INLINE { take(j + p * kCount); });
    for (; j + kCount <= d; j += kCount) take(j);
    for (; j < d; ++j) copy[j] += times * x[j];
  }

  void measure() {
    const double square = dot(copy_, copy_, rows_.d) + bias_ * bias_;
    measured_ = norm_above_ = 1.001 * __builtin_sqrt(square) + drift_;
  }

  static void commit_task(void* of, int64_t number) {
    auto& self = *static_cast<SpeculativePass*>(of);
    self.commit(self.mistakes_[number % kInFlight]);
  }

  void commit(const Mistakes& found) {
    const int64_t d = rows_.d;
    int64_t i[kSpeculated];
    const float* x[kSpeculated];
    double product[kSpeculated];
    for (int64_t m = 0; m < found.count; ++m) {
      i[m] = pass_.order ? pass_.order[found.visit[m]] : found.visit[m];
      x[m] = row(rows_, i[m]);
    }
    int64_t m = 0;
    for (; m + kCommittedRows <= found.count; m += kCommittedRows)
      dot_then_add<kCommittedRows, float>(x + m, found.change + m, pass_.v, d, product + m);
    for (; m < found.count; ++m)
      dot_then_add<1, float>(x + m, found.change + m, pass_.v, d, product + m);
    for (m = 0; m < found.count; ++m) {
      const double weight = weight_of(pass_, i[m]);
      count_rows(pass_, d, found.visit[m]);
      pass_.mistakes += weight;
      count_update(pass_, i[m], weight, sign_of(pass_, i[m]) * (product[m] + pass_.v[d]));
      if (pass_.sum) add_scaled(*pass_.area * found.change[m], x[m], pass_.lag, d);
      if (pass_.intercept) pass_.v[d] += found.change[m];
    }
  }

  const DenseRows<float>& rows_;
  OnlinePass& pass_;
  bool on_ = false;
  float* copy_ = nullptr;  // of the weights, in the precision of the rows
  double bias_ = 0;        // exact
  double drift_ = 0;       // the copy is off by no more
  double measured_ = 0, norm_above_ = 0;  // |(w, b)| when last measured, and at most now
  double needed_ = 0;      // lengths of what is added in a piece, in sum
  bool uncertain_ = false;   // the last piece ended at a row that waits for the exact weights
  ErrorBound<float> error_bound_;     // what a margin may be wrong by
  Mistakes mistakes_[kInFlight];
  int64_t posted_ = 0;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
