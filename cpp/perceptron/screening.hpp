// Safe screening: rows that need not be read, as a bound proves them right (the idea of El Ghaoui,
// Viallon and Rabbani 2012 and of Ndiaye, Fercoq, Gramfort and Salmon 2017, here for mistakes of
// the perceptron and not for features of the lasso; docs/compiled.md derives the bounds).
//
// Weights W are rotated from a reference W0 by some angle. A row that clears the plane of W0 by a
// larger angle, asin(m / (|W0| |(x, 1)|)), is right at W. For k classes, W are all weights
// in one vector and the row's norm is sqrt(2) |(x, 1)|: the gap of two scores is its product with
// (e_d - e_r) x (x, 1).
//
// Weights near convergence move around a centre and are nearer to it than to each other. So the
// reference is the mean of the weights in a round of n visits, and a rebuild stores for every row
// by how much it clears the reference. It is used until the mean of a later round would leave so
// many more rows unread that another rebuild pays off. All bounds are rounded to the safe side and
// allow for the error of the plain loop's score: no update is missed, and the weights have the bits
// of the plain loop.
#pragma once
#include "abi/passes.hpp"
#include "rows/products.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr double kSmallestNorm = 1e-20, kLargestNorm = 1e+20;  // whose squares are harmless
constexpr double kNoAngle = 8;          // an angle that nothing clears
constexpr double kRoundDown = 1 - 1e-6;
constexpr double kValuesPerCheck = 4;   // what it costs to look up a row's angle, in values read
constexpr int64_t kMostSamples = 32;    // of the weights in a round
constexpr double kSamplingCost = 0.02;  // of a sample, at most: in reads of the rows since the last
constexpr int64_t kMostRowsSampled = 4, kVisitsPerRowSampled = 128;  // of one sample

// Relative to |w| |x|, twice a bound on the error of a product of d values.
inline double rounding(int64_t d, double unit) { return 2 * unit * (double(d) + 16); }

template <class Rows, class Problem>
class SafeScreening {
 public:
  SafeScreening(const Rows& rows, Problem& problem, ScreeningState* state, const double* w)
      : rows_(rows), problem_(problem), state_(state), w_(w),
        break_even_(problem.break_even() < 0.95 ? problem.break_even() : 0.95) {
    if (!state) return;
    const double values = problem.values() + 1, size = double(state->size);
    rounding_ = 2 * rounding(state->size, 0x1p-53);
    measure_after_ = int64_t(size / values + 0.5);
    sample_interval_ = int64_t(3 * size / (kSamplingCost * values)) + 1;
    if (sample_interval_ < state->n / kMostSamples) sample_interval_ = state->n / kMostSamples;
    measure();
  }

  bool on() const { return state_ && state_->active; }

  void prefetch_angle_margin(int64_t i) const { __builtin_prefetch(state_->angle_margin + i); }

  // Lists the visits first to last of an order, or of the rows as they lie, whose rows are not
  // known to be right at the weights of now, and returns how many; before_visit(t) is called before
  // each visit of an order. Nothing is known of rows that do not exist: they are listed too.
  template <class BeforeVisit>
  int64_t active_visits(const int64_t* order, int64_t first, int64_t last, int64_t* visit,
                        BeforeVisit&& before_visit) {
    const float* const angle_margin = state_->angle_margin;
    const auto limit = float(angle_ * (1 + 1e-6));
    const auto n = uint64_t(state_->n);
    int64_t count = 0, t = first;
    if (order)
      for (; t < last; ++t) {
        before_visit(t);
        visit[count] = t;
        const auto i = uint64_t(order[t]);
        count += !(angle_margin[i < n ? i : n] > limit);
      }
    for (; t + kComparedAtOnce <= last; t += kComparedAtOnce)
      for (uint32_t left = not_above(angle_margin + t, limit); left != 0; left &= left - 1)
        visit[count++] = t + __builtin_ctz(left);
    for (; t < last; ++t) {
      visit[count] = t;
      count += !(angle_margin[t] > limit);
    }
    return count;
  }

  // Recomputes the angles of all rows if that is due. Only before a pass: later, rows left out
  // would have to be checked again, and after the last pass angles are not needed.
  bool rebuild(ShouldStop should_stop) {
    if (!state_ || !state_->rebuild_due) return true;
    ScreeningState& m = *state_;
    m.rebuild_due = false;
    m.saved = 0;
    m.rebuild_cost *= 2;
    const Margins margins(problem_, m.mean);
    for (int64_t i = 0; i < m.n; ++i) {
      if (i % kStopInterval == 0 && should_stop()) return m.active = false;
      m.angle_margin[i] = angle_margin(i, margins, m.mean_norm);
    }
    std::memcpy(m.reference, m.mean, 8 * size_t(m.size));
    m.reference_norm = m.mean_norm;
    m.active = true;
    measure();
    return true;
  }

  // Row i was added to the weights `times` times. Lengths and angles are recomputed when that costs
  // no more than the rows read meanwhile; in between they are bounded by the distance moved.
  void on_update(int64_t i, double times) {
    if (!on()) return;
    if (++updates_ >= measure_after_) return measure();
    const double norm =
        (1 + 1e-5) * Problem::kNormFactor * __builtin_sqrt(1 + squared_norm(rows_, i));
    const double way = (times < 0 ? -times : times) * norm, turn = way / norm_below_;
    norm_below_ -= way;
    if (!(turn < 0.5 && norm_below_ > kSmallestNorm)) return measure();
    angle_ += turn * (1 + turn * turn);  // above the arc sine
  }

  // Counts visits, and those of them that skipped the row.
  void on_visits(int64_t count, int64_t skipped) {
    if (!state_) return;
    ScreeningState& m = *state_;
    m.visits += count;
    m.screened += skipped;
    m.screened_total += skipped;
    m.since_sample += count;
    if (m.since_sample >= sample_interval_) sample();
    if (m.visits >= m.n) end_round();
  }

 private:
  using Margins = typename Problem::Margins;

  // Bit l says that the l-th of kComparedAtOnce numbers is no larger than a limit.
  static constexpr int64_t kComparedAtOnce = 32;
  static uint32_t not_above(const float* number, float limit) {
    typedef float Four __attribute__((vector_size(16)));
    typedef uint32_t Bits __attribute__((vector_size(16)));
    Bits found = {};
    unrolled<kComparedAtOnce / 4>([&](auto part) SEPARATRIX_INLINE {
      Four four;
      std::memcpy(&four, number + 4 * part, sizeof four);
      found |= ~(Bits)(four > limit) & (uint32_t(1) << 4 * part);
    });
    return found[0] | found[1] << 1 | found[2] << 2 | found[3] << 3;
  }

  // Sine of the angle by which a row clears the plane of weights of this length, or less.
  float angle_margin(int64_t i, const Margins& margins, double norm_of_reference) const {
    double square;
    const double margin = margins.margin(i, square);
    const double norm_of_row = Problem::kNormFactor * __builtin_sqrt(1 + square);
    const double sine = margin / (norm_of_row * norm_of_reference);
    return float((sine - rounding_) * kRoundDown - rounding_);
  }

  // 0 where it is so short or so long that squares cannot be relied upon.
  double norm(const double* of) const {
    const double found = __builtin_sqrt(dot(of, of, state_->size));
    return found > kSmallestNorm && found < kLargestNorm ? found : 0;
  }

  // Upper bound on the angle from there to the weights, just measured.
  double angle(const double* from, double from_norm) const {
    const double cosine = dot(from, w_, state_->size) / (from_norm * norm_below_) - rounding_;
    if (!(cosine > 0 && from_norm > 0 && norm_below_ > 0)) return kNoAngle;
    return cosine < 1 ? __builtin_acos(cosine) * (1 + 1e-9) + rounding_ : rounding_;
  }

  void measure() {
    updates_ = 0;
    angle_ = kNoAngle;
    if (!state_->active) return;
    norm_below_ = norm(w_);
    angle_ = angle(state_->reference, state_->reference_norm);
  }

  // The weights go into the mean of this round; and some rows show how many would be left out with
  // the mean of the round before as reference.
  void sample() {
    ScreeningState& m = *state_;
    for (int64_t j = 0; j < m.size; ++j) m.sum[j] += w_[j];
    ++m.samples;
    if (m.mean_norm > 0) {
      norm_below_ = norm(w_);
      const double apart = angle(m.mean, m.mean_norm);
      const Margins margins(problem_, m.mean);
      const int64_t some = m.since_sample / kVisitsPerRowSampled + 1;
      for (int64_t s = some < kMostRowsSampled ? some : kMostRowsSampled; s > 0; --s) {
        m.place = (m.place + m.stride) % m.n;
        ++m.rows_sampled;
        m.rows_clear += angle_margin(m.place, margins, m.mean_norm) > apart;
      }
    }
    measure();
    m.since_sample = 0;
  }

  // What a round costs of which this share is left out, in reads of all its rows.
  double cost(double share) const { return (1 - share) / (1 - break_even_); }

  void end_round() {
    ScreeningState& m = *state_;
    const double share = double(m.screened) / double(m.visits);
    const double now = m.active ? cost(share) : 1;
    if (m.rows_sampled) m.saved += now - cost(double(m.rows_clear) / double(m.rows_sampled));
    if (m.saved < 0) m.saved = 0;
    if (now >= 1 && !m.always) m.active = false;
    if (m.samples) {
      for (int64_t j = 0; j < m.size; ++j) {
        m.mean[j] = m.sum[j] / double(m.samples);
        m.sum[j] = 0;
      }
      m.mean_norm = norm(m.mean);
      m.rebuild_due = m.mean_norm > 0 && (m.saved >= m.rebuild_cost || (m.always && !m.active));
    }
    m.visits = m.screened = m.rows_sampled = m.rows_clear = m.samples = 0;
  }

  const Rows& rows_;
  Problem& problem_;
  ScreeningState* state_;
  const double* w_;
  double break_even_;        // the share of rows that must be left out for screening to pay
  double rounding_ = 0;
  double norm_below_ = 0;    // at most |W|
  double angle_ = kNoAngle;  // at least the angle from the reference to the weights
  int64_t updates_ = 0, measure_after_ = 1;  // since the last measurement, and most of them
  int64_t sample_interval_ = 1;              // visits
};

}  // namespace separatrix::SEPARATRIX_LEVEL
