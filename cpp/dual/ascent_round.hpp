// Epochs of dual coordinate ascent one after another, each in a random order of its own, until the
// gap that they meet is small enough.
//
// Problem, input: see coordinate_ascent.hpp. Output: alphas and weights moved on, and the rows that
// are still active.
// Algorithm: where the loss has a kink, and the alphas inside their bounds are known but crawl, an
// epoch is taken for a direction: with the two steps before it spans a space in which the highest
// point of the dual is known without a look at the rows. This is conjugate gradients with an epoch
// for their preconditioner, but bounds may come and go.
#pragma once
#include "dual/coordinate_ascent.hpp"
#include "rows/permutation.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Rows>
class RoundOfEpochs {
 public:
  RoundOfEpochs(const Rows& rows, AscentRound& round)
      : rows_(rows), round_(round), pass_(round.epoch), room_(new int64_t[size_t(2 * rows.n + 1)]),
        kept_(new bool[size_t(rows.n)]()) {
    for (int64_t t = 0; t < round.n_active && round.subspace; ++t)
      remembers_ |= step(0, round.active[t]) != 0 || step(1, round.active[t]) != 0;
  }
  ~RoundOfEpochs() {
    delete[] room_;
    delete[] kept_;
    delete[] alphas_;
    delete[] moves_;
  }
  RoundOfEpochs(const RoundOfEpochs&) = delete;
  RoundOfEpochs& operator=(const RoundOfEpochs&) = delete;

  void run() {
    double fall = 0;
    while (round_.epochs < round_.most_epochs && !round_.reached) {
      const double before = round_.gap;
      const bool helped = round_.subspace && (fall > kCrawling || remembers_) && identified();
      if (helped) keep_start();
      epoch();
      if ((round_.stopped = pass_.stopped)) return;
      if (helped) subspace_step();
      else if (remembers_) forget();
      shrink(helped);
      fall = before > 0 && before < __builtin_inf() && round_.gap < before ? round_.gap / before : 1;
      // What this epoch met is gone by the end of it, about as what the last one met was.
      const double left = kSurprise * fall < 1 ? kSurprise * fall : 1;
      round_.reached = round_.gap * left <= round_.enough;
    }
  }

 private:
  // Whether most active rows have alphas inside their bounds: then these are known.
  bool identified() const {
    int64_t inside = 0;
    for (int64_t t = 0; t < round_.n_active; ++t) inside += is_free(pass_.alpha[round_.active[t]]);
    return double(round_.n_active) < round_.identified * double(inside);
  }
  static bool is_free(double alpha) { return alpha > 0 && alpha < 1; }

  // Steps of the alphas and what they did to the weights: the last (0) and the one before (1).
  double& step(int ago, int64_t i) const { return round_.step_history[ago * rows_.n + i]; }
  double* weight_step(int ago) const { return round_.weight_history + ago * (rows_.d + 1); }

  void epoch() {
    int64_t *const order = room_, *const blocks = room_ + rows_.n;
    draw_numbered_order(round_.n_active, round_.block_rows, round_.blocks_per_group, round_.seed,
                        round_.first_order + uint64_t(round_.epochs), blocks, order);
    for (int64_t t = 0; t < round_.n_active; ++t) order[t] = round_.active[order[t]];
    pass_.order = order;
    pass_.count = round_.n_active;
    pass_.n_active = 0;
    pass_.projected_gradient = pass_.gap = 0;
    coordinate_epoch(rows_, pass_);
    ++round_.epochs;
    round_.gap = pass_.gap;
    const double most = double(pass_.n_active > 0 ? pass_.n_active : 1);
    if (LossId(pass_.loss) != LossId::logistic)
      pass_.shrink_margin = round_.careful * pass_.projected_gradient / most;
  }

  // Rows to visit again, in the order in which they lie; what a remembered step did to the weights
  // stays in memory, and so does its row.
  void shrink(bool helped) {
    for (int64_t t = 0; t < pass_.n_active; ++t) kept_[pass_.order[t]] = true;
    int64_t count = 0;
    for (int64_t t = 0; t < round_.n_active; ++t) {
      const int64_t i = round_.active[t];
      if (kept_[i] || (helped && remembers_ && step(1, i) != 0)) round_.active[count++] = i;
      kept_[i] = false;
    }
    round_.n_active = count;
  }

  void keep_start() {
    const int64_t d = rows_.d;
    if (!moves_) {
      alphas_ = new double[size_t(2 * rows_.n)];
      moves_ = new double[size_t(3 * (d + 1))];
    }
    for (int64_t t = 0; t < round_.n_active; ++t) alphas_[t] = pass_.alpha[round_.active[t]];
    for (int64_t j = 0; j < d; ++j) moves_[j] = pass_.w[j];
    started_ = round_.n_active;
  }

  void forget() {
    for (int64_t i = 0; i < 2 * rows_.n; ++i) round_.step_history[i] = 0;
    for (int64_t j = 0; j < 2 * (rows_.d + 1); ++j) round_.weight_history[j] = 0;
    remembers_ = false;
  }

  double weight(int64_t i) const { return pass_.weight ? pass_.weight[i] : 1.0; }
  // Of weights, as the dual has it.
  double product(const double* v, const double* u) const {
    return dot(v, u, rows_.d) / pass_.inv_2l2;
  }

  // On to the highest point in the space of three steps, back into the bounds.
  void subspace_step() {
    const int64_t d = rows_.d, count = started_;
    double* const w = pass_.w;
    double *const start_w = moves_, *const last = moves_ + d + 1, *const change = last + d + 1;
    for (int64_t j = 0; j < d; ++j) last[j] = w[j] - start_w[j];
    const double* const moves[3] = {last, weight_step(0), weight_step(1)};
    double curvatures[3][3], slopes[3] = {}, lengths[3];
    for (int64_t t = 0; t < count; ++t) {
      const int64_t i = round_.active[t];
      slopes[0] += weight(i) * (pass_.alpha[i] - alphas_[t]);
      slopes[1] += weight(i) * step(0, i);
      slopes[2] += weight(i) * step(1, i);
    }
    for (int a = 0; a < 3; ++a) {
      slopes[a] = pass_.inv_weight_sum * slopes[a] - product(moves[a], w);
      for (int b = 0; b <= a; ++b) curvatures[a][b] = curvatures[b][a] = product(moves[a], moves[b]);
    }
    solve(curvatures, slopes, lengths);
    const double gain = lengths[0] * slopes[0] + lengths[1] * slopes[1] + lengths[2] * slopes[2];
    if (0.5 * gain <= kGainRounding * product(w, w)) {
      round_.subspace = false;  // gains near rounding are not seen
      return forget();
    }
    double linear = 0, *const there = alphas_ + rows_.n;
    for (int64_t j = 0; j < d; ++j)
      change[j] = lengths[0] * moves[0][j] + lengths[1] * moves[1][j] + lengths[2] * moves[2][j];
    for (int64_t t = 0; t < count; ++t) {
      const int64_t i = round_.active[t];
      const double here = pass_.alpha[i];
      const double wanted = here + (lengths[0] * (here - alphas_[t]) + lengths[1] * step(0, i) +
                                    lengths[2] * step(1, i));
      there[t] = !is_free(here) ? here : wanted > 1 ? 1 : wanted > 0 ? wanted : 0;
      linear += weight(i) * (there[t] - here);
      if (there[t] != wanted) {
        const double p = weight(i) * pass_.inv_weight_sum * pass_.y[i];
        add(rows_, i, p * (there[t] - wanted) * pass_.inv_2l2, change);
      }
    }
    const bool higher = pass_.inv_weight_sum * linear >
                        product(change, w) + 0.5 * product(change, change);
    for (int64_t j = 0; j < d; ++j) {
      if (higher) w[j] += change[j];
      weight_step(1)[j] = weight_step(0)[j];
      weight_step(0)[j] = w[j] - start_w[j];
    }
    for (int64_t t = 0; t < count; ++t) {
      const int64_t i = round_.active[t];
      if (higher) pass_.alpha[i] = there[t];
      step(1, i) = step(0, i);
      step(0, i) = pass_.alpha[i] - alphas_[t];
    }
    remembers_ = true;
    ++round_.subspace_steps;
  }

  // lengths: where the gradient of a quadratic with these slopes at 0 vanishes; 0 for a direction
  // that hardly adds to those before it.
  static void solve(const double (&curvatures)[3][3], const double (&slopes)[3],
                    double (&lengths)[3]) {
    double scale[3], factor[3][3] = {}, pivot[3] = {}, rest[3] = {};
    for (int a = 0; a < 3; ++a) {
      scale[a] = curvatures[a][a] > 0 ? 1 / __builtin_sqrt(curvatures[a][a]) : 0;
      pivot[a] = scale[a] > 0 ? 1 : 0;
      rest[a] = slopes[a] * scale[a];
      for (int b = 0; b < a; ++b) {
        if (pivot[b] <= 0) continue;
        double value = curvatures[a][b] * scale[a] * scale[b];
        for (int c = 0; c < b; ++c) value -= factor[a][c] * factor[b][c] * pivot[c];
        factor[a][b] = value / pivot[b];
        pivot[a] -= factor[a][b] * value;
        rest[a] -= factor[a][b] * rest[b];
      }
      if (pivot[a] <= kDependent) pivot[a] = 0;
    }
    for (int a = 2; a >= 0; --a) {
      lengths[a] = pivot[a] > 0 ? rest[a] / pivot[a] : 0;
      for (int b = a + 1; b < 3 && pivot[a] > 0; ++b) lengths[a] -= factor[b][a] * lengths[b];
    }
    for (int a = 0; a < 3; ++a) lengths[a] *= scale[a];
  }

  const Rows& rows_;
  AscentRound& round_;
  CoordinateEpoch& pass_;
  int64_t* const room_;
  bool* const kept_;
  double *alphas_ = nullptr, *moves_ = nullptr;
  int64_t started_ = 0;
  bool remembers_ = false;
};

template <class Rows>
void ascent_round(const Rows& rows, AscentRound& round) {
  RoundOfEpochs<Rows>(rows, round).run();
}

}  // namespace separatrix::SEPARATRIX_LEVEL
