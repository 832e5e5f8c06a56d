// Rows that need not be read.
//
// Seen from a reference W0, weights W have turned by some angle. A row that clears the plane of W0
// by more, by the angle asin(m / (|W0| |(x, 1)|)), is right at W. For k classes, W are all weights
// in one vector and the row's norm is sqrt(2) |(x, 1)|: the gap of two scores is its product with
// (e_d - e_r) x (x, 1).
//
// Weights that settle wander about some middle, and are nearer to it than to each other: so the
// reference is the mean of the weights in a round of n visits, and a survey notes of every row by
// how much it clears it. It lasts until the mean of a later round would leave so many more rows
// unread that another survey pays. All bounds are rounded to the safe side, with room for the error
// of the score that the plain loop would compute: no update is missed, and the weights have the
// bits of the plain loop.
#pragma once
#include "rows/products.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr double kShortest = 1e-20, kLongest = 1e+20;  // lengths whose squares are harmless
constexpr double kNever = 8;                           // an angle that nothing clears
constexpr double kRoundDown = 1 - 1e-6;
constexpr int64_t kLooks = 32;       // looks at the weights in a round, at most
constexpr double kUpkeep = 0.02;     // what a look may cost, in reads of the rows since the last
constexpr int64_t kMostSampled = 4, kSampled = 128;  // rows of a look: one in so many visits

// Relative to |w| |x|, twice a bound on the error of a product of d values.
inline double rounding(int64_t d, double unit) { return 2 * unit * (double(d) + 16); }

template <class Rows, class Problem>
class Skipping {
 public:
  Skipping(const Rows& rows, Problem& problem, RowMemory* memory, const double* w)
      : rows_(rows), problem_(problem), memory_(memory), w_(w),
        worth_(problem.worth() < 0.95 ? problem.worth() : 0.95) {
    if (!memory) return;
    const double values = problem.values() + 1, size = double(memory->size);
    slack_ = 2 * rounding(memory->size, 0x1p-53);
    fresh_ = int64_t(size / values + 0.5);
    between_ = int64_t(3 * size / (kUpkeep * values)) + 1;
    if (between_ < memory->n / kLooks) between_ = memory->n / kLooks;
    measure();
  }

  bool on() const { return memory_ && memory_->skips; }

  void prefetch_note(int64_t i) const { __builtin_prefetch(memory_->clearance + i); }

  // Lists the visits first to last of an order, or of the rows as they lie, whose rows are not
  // known to be right at the weights of now, and returns how many; soon(t) is told before each
  // visit of an order.
  template <class Soon>
  int64_t unknown(const int64_t* order, int64_t first, int64_t last, int64_t* visit, Soon&& soon) {
    const float* const clearance = memory_->clearance;
    const auto limit = float(turned_ * (1 + 1e-6));
    int64_t count = 0, t = first;
    if (order)
      for (; t < last; ++t) {
        soon(t);
        visit[count] = t;
        count += !(clearance[order[t]] > limit);
      }
    for (; t + kTested <= last; t += kTested)
      for (uint32_t left = unclear(clearance + t, limit); left != 0; left &= left - 1)
        visit[count++] = t + __builtin_ctz(left);
    for (; t < last; ++t) {
      visit[count] = t;
      count += !(clearance[t] > limit);
    }
    return count;
  }

  // Notes of all rows are made anew if that is due. Only before a pass: rows that were already
  // left out would have to be looked at again, and after the last pass nobody needs it.
  bool survey(ShouldStop should_stop) {
    if (!memory_ || !memory_->due) return true;
    RowMemory& m = *memory_;
    m.due = false;
    m.loss = 0;
    m.price *= 2;
    const Seen seen(problem_, m.mean);
    for (int64_t i = 0; i < m.n; ++i) {
      if (i % kPatience == 0 && should_stop()) return m.skips = false;
      m.clearance[i] = clearance(i, seen, m.mean_length);
    }
    std::memcpy(m.reference, m.mean, 8 * size_t(m.size));
    m.reference_length = m.mean_length;
    m.skips = true;
    measure();
    return true;
  }

  // Row i was added to the weights, so many times. Lengths and angles are computed anew when
  // that costs no more than the rows read meanwhile, and bounded by the way gone in between.
  void moved(int64_t i, double times) {
    if (!on()) return;
    if (++moves_ >= fresh_) return measure();
    const double norm =
        (1 + 1e-5) * Problem::kNormFactor * __builtin_sqrt(1 + squared_norm(rows_, i));
    const double way = (times < 0 ? -times : times) * norm, turn = way / shortest_;
    shortest_ -= way;
    if (!(turn < 0.5 && shortest_ > kShortest)) return measure();
    turned_ += turn * (1 + turn * turn);  // above the arc sine
  }

  // Whether the weights are looked at when so many more rows have gone by.
  bool looks(int64_t count) const { return memory_ && memory_->since_look + count >= between_; }

  // So many rows went by, of them so many unread.
  void visited(int64_t count, int64_t skipped) {
    if (!memory_) return;
    RowMemory& m = *memory_;
    m.visits += count;
    m.skipped += skipped;
    m.skipped_ever += skipped;
    m.since_look += count;
    if (m.since_look >= between_) look();
    if (m.visits >= m.n) end_round();
  }

 private:
  using Seen = typename Problem::Seen;

  // Bit l says that the l-th of kTested numbers is no larger than a limit.
  static constexpr int64_t kTested = 32;
  static uint32_t unclear(const float* number, float limit) {
    typedef float Four __attribute__((vector_size(16)));
    typedef uint32_t Bits __attribute__((vector_size(16)));
    Bits found = {};
    unrolled<kTested / 4>([&](auto part) SEPARATRIX_INLINE {
      Four four;
      std::memcpy(&four, number + 4 * part, sizeof four);
      found |= ~(Bits)(four > limit) & (uint32_t(1) << 4 * part);
    });
    return found[0] | found[1] << 1 | found[2] << 2 | found[3] << 3;
  }

  // Sine of the angle by which a row clears the plane of weights of this length, or less.
  float clearance(int64_t i, const Seen& seen, double length) const {
    double square;
    const double margin = seen.margin(i, square);
    const double sine = margin / (Problem::kNormFactor * __builtin_sqrt(1 + square) * length);
    return float((sine - slack_) * kRoundDown - slack_);
  }

  // 0 where it is so short or so long that squares cannot be relied upon.
  double length(const double* of) const {
    const double found = __builtin_sqrt(dot(of, of, memory_->size));
    return found > kShortest && found < kLongest ? found : 0;
  }

  // Upper bound on the angle from there to the weights, just measured.
  double angle(const double* from, double from_length) const {
    const double cosine = dot(from, w_, memory_->size) / (from_length * shortest_) - slack_;
    if (!(cosine > 0 && from_length > 0 && shortest_ > 0)) return kNever;
    return cosine < 1 ? __builtin_acos(cosine) * (1 + 1e-9) + slack_ : slack_;
  }

  void measure() {
    moves_ = 0;
    turned_ = kNever;
    if (!memory_->skips) return;
    shortest_ = length(w_);
    turned_ = angle(memory_->reference, memory_->reference_length);
  }

  // The weights go into the mean of this round; and some rows show how many would be left out with
  // the mean of the round before as reference.
  void look() {
    RowMemory& m = *memory_;
    for (int64_t j = 0; j < m.size; ++j) m.sum[j] += w_[j];
    ++m.looks;
    if (m.mean_length > 0) {
      shortest_ = length(w_);
      const double turned = angle(m.mean, m.mean_length);
      const Seen seen(problem_, m.mean);
      const int64_t some = m.since_look / kSampled + 1;
      for (int64_t s = some < kMostSampled ? some : kMostSampled; s > 0; --s) {
        m.place = (m.place + m.stride) % m.n;
        ++m.sampled;
        m.clear += clearance(m.place, seen, m.mean_length) > turned;
      }
    }
    measure();
    m.since_look = 0;
  }

  // What a round costs of which this share is left out, in reads of all its rows.
  double cost(double share) const { return (1 - share) / (1 - worth_); }

  void end_round() {
    RowMemory& m = *memory_;
    const double share = double(m.skipped) / double(m.visits);
    const double now = m.skips ? cost(share) : 1;
    if (m.sampled) m.loss += now - cost(double(m.clear) / double(m.sampled));
    if (m.loss < 0) m.loss = 0;
    if (now >= 1 && !m.always) m.skips = false;
    if (m.looks) {
      for (int64_t j = 0; j < m.size; ++j) {
        m.mean[j] = m.sum[j] / double(m.looks);
        m.sum[j] = 0;
      }
      m.mean_length = length(m.mean);
      m.due = m.mean_length > 0 && (m.loss >= m.price || (m.always && !m.skips));
    }
    m.visits = m.skipped = m.sampled = m.clear = m.looks = 0;
  }

  const Rows& rows_;
  Problem& problem_;
  RowMemory* memory_;
  const double* w_;
  double worth_;            // the share of rows that must be left out for the notes to pay
  double slack_ = 0;
  double shortest_ = 0;     // at most |W|
  double turned_ = kNever;  // at least the angle from the reference to the weights
  int64_t moves_ = 0, fresh_ = 1;  // updates since the last measurement, and most of them
  int64_t between_ = 1;     // visits between two looks
};

}  // namespace separatrix::SEPARATRIX_LEVEL
