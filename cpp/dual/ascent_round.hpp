// Epochs of dual coordinate ascent one after another, each in a random order of its own, until the
// gap that they meet is small enough.
//
// Problem, input: see coordinate_ascent.hpp. Output: alphas and weights moved on, and the rows that
// are still active.
// Algorithm: rows that will stay at a bound are left out. Of the others a few hold most of the gap,
// soon after the start, and come again between epochs: a choice by parts of the gap (Dünner, Parnell
// and Jaggi 2017). Where the alphas inside their bounds are known but crawl, steps in a subspace
// help: see subspace_step.hpp.
#pragma once
#include "dual/coordinate_ascent.hpp"
#include "dual/subspace_step.hpp"
#include "rows/permutation.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Rows>
class RoundOfEpochs {
 public:
  RoundOfEpochs(const Rows& rows, AscentRound& round)
      : rows_(rows), round_(round), pass_(round.epoch), subspace_(rows, round),
        room_(2 * rows.n + 1), row_gap_(rows.n), kept_(Buffer<bool>::zeros(rows.n)) {}

  void run() {
    bool crawls = false;
    while (round_.epochs < round_.most_epochs && !round_.reached) {
      const double before = round_.gap;
      const bool helped = round_.subspace && (crawls || subspace_.remembers()) &&
                          subspace_.identified();
      if (helped) subspace_.start();
      epoch();
      if ((round_.stopped = pass_.stopped)) return;
      const bool known = before > 0 && before < __builtin_inf();
      const double fall = known && round_.gap < before ? round_.gap / before : 1;
      crawls = known && fall > kCrawling;
      // This epoch is expected to reduce the gap by about the same factor as the last one.
      const double left = kSurprise * fall < 1 ? kSurprise * fall : 1;
      const double gap = round_.gap * left;
      const bool near = pass_.offset || gap <= round_.enough;  // without an offset J(0) <= 1
      round_.reached = near && gap <= round_.enough * dual();
      if (!round_.reached && known && fall > kLeftByFast) visit_again();
      if (round_.stopped) return;
      if (helped) subspace_.take();
      else if (subspace_.remembers()) subspace_.forget();
      shrink(helped);
    }
  }

 private:
  void epoch() {
    pass_.row_gap = row_gap_;
    sweep(pass_, round_.active, round_.n_active, order_number(0), room_);
    ++round_.epochs;
    round_.gap = pass_.gap;
    const double most = double(pass_.n_active > 0 ? pass_.n_active : 1);
    if (LossId(pass_.loss) != LossId::logistic)
      pass_.shrink_margin = round_.careful * pass_.projected_gradient / most;
  }

  // Rows that stand out by their part of the gap, until they hold kSettled of what the others do, or
  // have cost an epoch.
  void visit_again() {
    const double least = round_.stands_out * pass_.gap / double(pass_.n_active);
    // Less than a third of the rows are, unless parts of the gap are negative, which takes alphas
    // out of their bounds or negative weights: there is room for three times a third, and no more.
    int64_t *const again = room_ + rows_.n, count = 0, visits = 0;
    double theirs = 0;
    for (int64_t t = 0; t < pass_.n_active; ++t) {
      if (!(row_gap_[t] > least)) continue;
      if (3 * (count + 1) > rows_.n) return;
      again[count++] = pass_.order[t];
      theirs += row_gap_[t];
    }
    const double others = pass_.gap - theirs;
    CoordinateEpoch pass = pass_;
    pass.row_gap = nullptr;
    pass.shrink_margin = __builtin_inf();
    for (uint64_t number = 1; theirs > kSettled * others && visits < pass_.n_active; ++number) {
      sweep(pass, again, count, order_number(number), again + count);
      if ((round_.stopped = pass.stopped)) return;
      visits += count;
      theirs = pass.gap;
    }
  }

  // Each epoch has the orders of its number plus multiples of 2^32: the first is its own.
  uint64_t order_number(uint64_t number) const {
    return round_.first_order + uint64_t(round_.epochs) + (number << 32);
  }

  // Each of the rows once; `order` has room for twice as many and one.
  void sweep(CoordinateEpoch& pass, const int64_t* rows, int64_t count, uint64_t number,
             int64_t* order) {
    draw_numbered_order(count, round_.block_rows, round_.blocks_per_group, round_.seed, number,
                        order + count, order);
    for (int64_t t = 0; t < count; ++t) order[t] = rows[order[t]];
    pass.order = order;
    pass.count = count;
    pass.n_active = 0;
    pass.projected_gradient = pass.gap = 0;
    coordinate_epoch(rows_, pass);
    round_.visits += count;
  }

  double dual() const {
    double sum = 0;
    for (int64_t i = 0; i < rows_.n; ++i) {
      const double weight = pass_.weight ? pass_.weight[i] : 1.0;
      sum += weight * neg_conjugate(pass_.alpha[i]);
      if (pass_.offset) sum -= weight * pass_.alpha[i] * pass_.y[i] * pass_.offset[i];
    }
    return pass_.inv_weight_sum * sum - 0.5 * dot(pass_.w, pass_.w, rows_.d) / pass_.inv_2l2;
  }
  // -phi*(-alpha).
  double neg_conjugate(double alpha) const {
    switch (LossId(pass_.loss)) {
      case LossId::hinge: return alpha;
      case LossId::squared_hinge: return alpha * (1 - 0.25 * alpha);
      default: return entropy(alpha) + entropy(1 - alpha);
    }
  }
  static double entropy(double share) {
    return share > 0x1p-1022 ? -share * log_normal(share) : 0;
  }

  // Rows to visit again, in the order in which they lie; what a remembered step did to the weights
  // stays in memory, and so does its row.
  void shrink(bool helped) {
    for (int64_t t = 0; t < pass_.n_active; ++t) kept_[pass_.order[t]] = true;
    int64_t count = 0;
    for (int64_t t = 0; t < round_.n_active; ++t) {
      const int64_t i = round_.active[t];
      if (kept_[i] || (helped && subspace_.remembers(i))) round_.active[count++] = i;
      kept_[i] = false;
    }
    round_.n_active = count;
  }

  const Rows& rows_;
  AscentRound& round_;
  CoordinateEpoch& pass_;
  SubspaceStep<Rows> subspace_;
  const Buffer<int64_t> room_;
  const Buffer<double> row_gap_;  // of the rows of the last epoch, in its order
  const Buffer<bool> kept_;
};

template <class Rows>
void ascent_round(const Rows& rows, AscentRound& round) {
  RoundOfEpochs<Rows>(rows, round).run();
}

}  // namespace separatrix::SEPARATRIX_LEVEL
