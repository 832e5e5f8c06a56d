// Mistaken rows that are found before the weights are exact.
//
// Where many rows are mistaken, the exact sum and addition of each hold up the next. Here a copy of
// the weights in float, as the rows are, runs ahead and takes in a mistaken row at once. The
// exact weights follow, a few rows at a time, on another thread if there is one. With every
// addition the copy may drift away from them by a rounding; a row that is not clear of zero by more
// than that, and by the errors of both sums, has to wait for the exact weights. So no decision
// changes, and the weights have the bits of the plain loop.
#pragma once
#include "threads/helper_thread.hpp"
#include "perceptron/filter.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kPiece = 32;    // visits whose mistakes are followed together
constexpr int64_t kUnderWay = 4;  // pieces under way, at most
constexpr int kTogether = 3;      // rows added at once: their sums stay in registers
constexpr double kSmallest = 0x1p-100;  // factor

// The running sum takes in the weights after the rows before visit t.
inline void count_rows(OnlinePass& pass, int64_t d, int64_t t) {
  if (pass.sum) {
    for (; pass.position < t; ++pass.position) {
      *pass.area += 1;
      for (int64_t c = 0; c < pass.k; ++c)
        pass.sum[(c + 1) * (d + 1) - 1] += pass.v[(c + 1) * (d + 1) - 1];
    }
  }
  pass.position = t;
}

// Labels of two classes, from where they take least room.
inline double sign_of(const OnlinePass& pass, int64_t i) {
  return pass.memory ? double(pass.memory->sign[i]) : pass.y[i];
}
inline void prefetch_sign(const OnlinePass& pass, int64_t i) {
  if (pass.memory) __builtin_prefetch(pass.memory->sign + i);
  else __builtin_prefetch(pass.y + i);
}

inline double weight_of(const OnlinePass& pass, int64_t i) {
  return pass.weight ? pass.weight[i] : 1.0;
}

// What a row of this label is added times if it is mistaken at this visit.
inline double change_of(const OnlinePass& pass, int64_t visit, double weight, double y) {
  const double step = pass.steps[pass.constant_step ? 0 : visit];
  return -step * pass.weight_scale * (weight * -1.0 * y);
}

// What is known of an update: row i was mistaken by this margin.
inline void count_update(OnlinePass& pass, int64_t i, double weight, double margin) {
  pass.loss_sum += weight * -margin;
  if (pass.log) pass.log[pass.updates] = i;
  ++pass.updates;
}

// Rows in double precision give sums that nearly always decide, and take as long to read twice.
template <class Rows>
class Forerun {
 public:
  static constexpr bool kRuns = false;
  Forerun(const Rows&, OnlinePass&) {}
};

template <>
class Forerun<DenseRows<float>> {
 public:
  static constexpr bool kRuns = true;
  Forerun(const DenseRows<float>& rows, OnlinePass& pass)
      : rows_(rows), pass_(pass), slack_(rows) {}
  ~Forerun() { delete[] copy_; }
  Forerun(const Forerun&) = delete;
  Forerun& operator=(const Forerun&) = delete;

  bool on() const { return on_; }

  // Begins at weights that are exact.
  void begin() {
    if (!copy_) copy_ = new float[size_t(rows_.d)];
    if (pass_.beside) pass_.beside->follow(&Forerun::follow, this);
    given_ = 0;
    on_ = true;
    renew();
  }

  // Whether the last row was neither surely right nor surely mistaken.
  bool unclear() const { return unclear_; }

  // Reads the rows of visits t, t + 1, ..., at most kPiece, after which there are kAhead more, until
  // one is unclear; returns how many before it. `moves` counts the rows that change the weights.
  int64_t run(int64_t t, int64_t& moves) {
    if (pass_.beside) pass_.beside->wait(kUnderWay - 1);
    Mistakes& found = mistakes_[given_ % kUnderWay];
    const int64_t decided = pass_.order ? find<true>(t, found) : find<false>(t, found);
    moves += found.count;
    if (found.count) {
      ++given_;
      if (pass_.beside) pass_.beside->give();
      else settle(found);
    }
    if (slack_.shows(drift_, longest_)) {
      catch_up();
      renew();
    }
    return decided;
  }

  // The exact weights take in all that was found.
  void catch_up() {
    if (on_ && pass_.beside) pass_.beside->wait(0);
  }
  void end() {
    catch_up();
    on_ = false;
  }

 private:
  // Visits of mistaken rows, and how many times each is added.
  struct Mistakes {
    int64_t count, visit[kPiece];
    double change[kPiece];
  };

  void renew() {
    narrow(pass_.v, copy_, rows_.d);
    bias_ = pass_.v[rows_.d];
    drift_ = 0;
    measure();
  }

  template <bool kOrder>
  int64_t find(int64_t t, Mistakes& found) {
    const auto at = [order = pass_.order](int64_t visit) { return kOrder ? order[visit] : visit; };
    double label[kPiece];
    for (int64_t p = 0; p < kPiece; ++p) label[p] = sign_of(pass_, at(t + p));
    if (kOrder && t + kPiece + kSoon <= pass_.count)
      for (int64_t p = 0; p < kPiece; ++p) prefetch_sign(pass_, at(t + p + kSoon));
    // There is room for longer weights from the start, twice as much as was needed before: to make
    // it with every addition would hold up the next decision.
    const double most = 2 * needed_ + longest_ / 16, then = longest_ + most;
    slack_.allow(then, drift_ + slack_.of_additions(kPiece, then, most));
    const Slack<float> slack = slack_;  // of its own: what is stored below might change memory
    double bias = bias_, added = 0, last = 0;
    int64_t count = 0, visit = t;
    unclear_ = false;
    for (; visit < t + kPiece && added <= most; ++visit) {
      const int64_t i = at(visit);
      const float *const x[] = {row(rows_, i)}, *const near[] = {row(rows_, at(visit + kNear))},
                         *const far[] = {row(rows_, at(visit + kAhead))};
      float product[1], square[1];
      multiply_and_square<1, kOrder, float>(x, copy_, rows_.d, near, far, product, square);
      const double y = label[visit - t];
      const double margin = y * (double(product[0]) + bias), wrong_by = slack.of(square[0]);
      if (margin > wrong_by) continue;
      const double weight = weight_of(pass_, i), change = change_of(pass_, visit, weight, y);
      if (weight == 0 && margin < -wrong_by) continue;
      // A factor too small for a float would be lost, and not only rounded.
      unclear_ = !(margin < -wrong_by && __builtin_fabs(change) > kSmallest);
      if (unclear_) break;
      found.visit[count] = visit;
      found.change[count++] = change;
      add(x[0], float(change));
      if (pass_.intercept) bias += change;
      added += __builtin_fabs(change) * slack.norm(square[0]);
      last = square[0];
    }
    bias_ = bias;
    needed_ = added < 0.9 * needed_ ? 0.9 * needed_ : added;
    longest_ += added;
    drift_ += slack.of_additions(count, longest_, added);
    found.count = count;
    if (!(longest_ < 2 * measured_)) {
      slack_.expect(last);
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
    measured_ = longest_ = 1.001 * __builtin_sqrt(square) + drift_;
  }

  static void follow(void* of, int64_t number) {
    auto& self = *static_cast<Forerun*>(of);
    self.settle(self.mistakes_[number % kUnderWay]);
  }

  void settle(const Mistakes& found) {
    const int64_t d = rows_.d;
    int64_t i[kPiece];
    const float* x[kPiece];
    double product[kPiece];
    for (int64_t m = 0; m < found.count; ++m) {
      i[m] = pass_.order ? pass_.order[found.visit[m]] : found.visit[m];
      x[m] = row(rows_, i[m]);
    }
    int64_t m = 0;
    for (; m + kTogether <= found.count; m += kTogether)
      dot_then_add<kTogether, float>(x + m, found.change + m, pass_.v, d, product + m);
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
  double measured_ = 0, longest_ = 0;  // |(w, b)| when last measured, and at most now
  double needed_ = 0;      // lengths of what is added in a piece, in sum
  bool unclear_ = false;   // the last piece ended at a row that waits for the exact weights
  Slack<float> slack_;     // what a margin may be wrong by
  Mistakes mistakes_[kUnderWay];
  int64_t given_ = 0;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
