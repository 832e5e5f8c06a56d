// What an epoch of dual coordinate ascent finds, taken for a direction.
//
// Problem: the highest point of the dual in the space of three steps: that of the last epoch, and the
// two before it.
// Input: alphas and weights before and after an epoch, the history of both.
// Output: both moved on, and back into their bounds; the history with one step more.
// Algorithm: the dual of a hinge or its square is a quadratic: of three directions its slopes and
// curvatures follow from products of what they do to the weights, without a look at the rows. This
// is conjugate gradients with an epoch for their preconditioner, but bounds may come and go. That of
// the logistic loss takes one of Newton's steps, if it climbs by what the entropies say.
#pragma once
#include "abi/table.hpp"
#include "rows/products.hpp"
#include "simd/buffer.hpp"
#include "simd/exp.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kTogether = 1024;  // weights: of all directions they fit into the nearest cache

template <class Rows>
class SubspaceStep {
 public:
  SubspaceStep(const Rows& rows, AscentRound& round)
      : rows_(rows), round_(round), pass_(round.epoch), newer_(round.weight_history),
        older_(round.weight_history ? round.weight_history + rows.d + 1 : nullptr) {
    for (int64_t t = 0; t < round.n_active && round.subspace; ++t)
      remembers_ |= step(0, round.active[t]) != 0 || step(1, round.active[t]) != 0;
  }
  ~SubspaceStep() {
    if (newer_ > older_) {
      for (int64_t j = 0; j < rows_.d; ++j) {
        const double last = newer_[j];
        newer_[j] = older_[j];
        older_[j] = last;
      }
    }
  }

  bool remembers() const { return remembers_; }
  // Whether what the row's step did to the weights is remembered.
  bool remembers(int64_t i) const { return remembers_ && step(1, i) != 0; }

  // Whether most active rows have alphas inside their bounds: then these are known.
  bool identified() const {
    int64_t inside = 0;
    for (int64_t t = 0; t < round_.n_active; ++t) inside += is_free(pass_.alpha[round_.active[t]]);
    return double(round_.n_active) < round_.identified * double(inside);
  }

  // Before an epoch.
  void start() {
    if (!weights_) {
      alphas_ = Buffer<double>(2 * rows_.n);
      weights_ = Buffer<double>(2 * rows_.d);
    }
    count_ = round_.n_active;
    for (int64_t t = 0; t < count_; ++t) alphas_[t] = pass_.alpha[round_.active[t]];
    for (int64_t j = 0; j < rows_.d; ++j) weights_[j] = pass_.w[j];
  }

  // After it.
  void take() {
    double curvatures[3][3] = {}, slopes[3] = {}, lengths[3];
    measure(curvatures, slopes);
    // Gains near rounding are not seen, and steps as short drown in that of the weights.
    const double least = kGainRounding * dot(pass_.w, pass_.w, rows_.d) / pass_.inv_2l2;
    solve(curvatures, slopes, least, lengths);
    const double gain = lengths[0] * slopes[0] + lengths[1] * slopes[1] + lengths[2] * slopes[2];
    if (0.5 * gain <= least) {
      round_.subspace = false;
      return forget();
    }
    const bool higher = 0.5 * gain + go(lengths) > 0;
    const double *const start = weights_, *const now = higher ? weights_ + rows_.d : pass_.w;
    for (int64_t j = 0; j < rows_.d; ++j) {
      older_[j] = now[j] - start[j];
      pass_.w[j] = now[j];
    }
    double* const last = older_;
    older_ = newer_;
    newer_ = last;
    for (int64_t t = 0; t < count_; ++t) {
      const int64_t i = round_.active[t];
      if (higher) pass_.alpha[i] = alphas_[rows_.n + t];
      step(1, i) = step(0, i);
      step(0, i) = pass_.alpha[i] - alphas_[t];
    }
    remembers_ = true;
    ++round_.subspace_steps;
  }

  void forget() {
    for (int64_t i = 0; i < 2 * rows_.n; ++i) round_.step_history[i] = 0;
    for (int64_t j = 0; j < 2 * (rows_.d + 1); ++j) round_.weight_history[j] = 0;
    remembers_ = false;
  }

 private:
  // Steps of the alphas: the last (0) and the one before (1).
  double& step(int ago, int64_t i) const { return round_.step_history[ago * rows_.n + i]; }
  bool is_free(double alpha) const { return alpha > bottom_ && alpha < top_; }
  // Slope and curvature of phi*(-alpha), turned round: what a step gains but for the weights.
  double slope(double alpha) const {
    if (!logistic_) return 1 - own_ * alpha;
    return is_free(alpha) ? log_normal((1 - alpha) / alpha) : 0;
  }
  double curvature(double alpha) const {
    if (!logistic_) return own_;
    return is_free(alpha) ? 1 / (alpha * (1 - alpha)) : 0;
  }
  // Where an alpha may go: an end of [0, 1] that the logistic loss never gets to is not jumped to.
  double bounded(double here, double wanted) const {
    if (!is_free(here)) return here;
    const double low = logistic_ ? kNearestEnd * here : 0;
    const double high = logistic_ ? 1 - kNearestEnd * (1 - here) : top_;
    return wanted > high ? high : wanted > low ? wanted : low;
  }
  // By how much a step gains more than the quadratic says, but for the weights.
  double beyond_quadratic(double here, double wanted, double there) const {
    const double cut = there - wanted;
    if (!logistic_) return cut * (1 - 0.5 * own_ * (there + wanted));
    if (!is_free(here)) return 0;
    const double more = 1 - there, step = wanted - here;
    const double divergence = there * log_normal(there / here) + more * log_normal(more / (1 - here));
    const double linear = cut != 0 ? cut * slope(here) : 0;
    return linear + 0.5 * curvature(here) * step * step - divergence;
  }
  double share(int64_t i) const {
    return (pass_.weight ? pass_.weight[i] : 1.0) * pass_.inv_weight_sum;
  }

  double offset(int64_t i) const { return pass_.offset ? pass_.offset[i] : 0.0; }

  // Slopes of the dual along the three steps, and its curvatures.
  void measure(double (&curvatures)[3][3], double (&slopes)[3]) const {
    double moved[3][4] = {}, some[4], last[kTogether];
    NoPrefetch nothing;
    for (int64_t from = 0; from < rows_.d; from += kTogether) {
      const int64_t size = rows_.d - from < kTogether ? rows_.d - from : kTogether;
      const double *const w = pass_.w + from, *const start = weights_ + from;
      for (int64_t j = 0; j < size; ++j) last[j] = w[j] - start[j];
      const double* const moves[3] = {last, newer_ + from, older_ + from};
      for (int a = 0; a < 3; ++a) {
        products<4, double, double>(some, {moves[0], moves[1], moves[2], w}, moves[a], size,
                                    nothing);
        for (int b = 0; b < 4; ++b) moved[a][b] += some[b] / pass_.inv_2l2;
      }
    }
    for (int64_t t = 0; t < count_; ++t) {
      const int64_t i = round_.active[t];
      const double p = share(i), alpha = pass_.alpha[i];
      const double steps[3] = {alpha - alphas_[t], step(0, i), step(1, i)};
      const double climb = p * (slope(alpha) - pass_.y[i] * offset(i));
      const double curving = p * curvature(alpha);
      for (int a = 0; a < 3; ++a) {
        slopes[a] += climb * steps[a];
        for (int b = 0; b <= a && curving > 0; ++b)
          curvatures[a][b] += curving * steps[a] * steps[b];
      }
    }
    for (int a = 0; a < 3; ++a) {
      slopes[a] -= moved[a][3];
      for (int b = 0; b <= a; ++b)
        curvatures[a][b] = curvatures[b][a] = curvatures[a][b] + moved[a][b];
    }
  }

  // Where steps of these lengths lead, back into the bounds: what that adds to the gain.
  double go(const double (&lengths)[3]) const {
    const int64_t d = rows_.d;
    double *const alphas = alphas_ + rows_.n, *const w = weights_ + d;
    const double* const start = weights_;
    for (int64_t j = 0; j < d; ++j)
      w[j] = pass_.w[j] + (lengths[0] * (pass_.w[j] - start[j]) + lengths[1] * newer_[j] +
                           lengths[2] * older_[j]);
    double added = 0;
    for (int64_t t = 0; t < count_; ++t) {
      const int64_t i = round_.active[t];
      const double here = pass_.alpha[i];
      const double wanted = here + (lengths[0] * (here - alphas_[t]) + lengths[1] * step(0, i) +
                                    lengths[2] * step(1, i));
      const double there = alphas[t] = bounded(here, wanted), p = share(i);
      if (logistic_ || there != wanted) added += p * beyond_quadratic(here, wanted, there);
      if (there == wanted) continue;
      const double change = p * (there - wanted), y = pass_.y[i];
      const double square = change * pass_.row_norm2[i] * pass_.inv_2l2;
      added -= change * (y * (dot(rows_, i, w) + offset(i)) + 0.5 * square);
      add(rows_, i, y * change * pass_.inv_2l2, w);
    }
    return added;
  }

  // lengths: where the gradient of a quadratic with these slopes at 0 vanishes; 0 for a direction
  // of the least curvature, or that hardly adds to those before it.
  static void solve(const double (&curvatures)[3][3], const double (&slopes)[3], double least,
                    double (&lengths)[3]) {
    double scale[3], factor[3][3] = {}, pivot[3] = {}, rest[3] = {};
    for (int a = 0; a < 3; ++a) {
      scale[a] = curvatures[a][a] > least ? 1 / __builtin_sqrt(curvatures[a][a]) : 0;
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
  const bool squared_ = LossId(pass_.loss) == LossId::squared_hinge;
  const bool logistic_ = LossId(pass_.loss) == LossId::logistic;
  const double own_ = squared_ ? 0.5 : 0;              // curvature of the conjugate, if constant
  const double top_ = squared_ ? __builtin_inf() : 1;  // the highest alpha
  const double bottom_ = logistic_ ? 0x1p-1000 : 0;    // the lowest of which a logarithm is taken
  double *newer_, *older_;  // what the steps before did to the weights
  Buffer<double> alphas_;   // (2, n): of the active rows, before the epoch and after the step
  Buffer<double> weights_;  // (2, d): the same of the weights
  int64_t count_ = 0;
  bool remembers_ = false;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
