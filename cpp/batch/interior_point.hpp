// Steps of an interior point method for the hinge, until rounding begins to matter.
//
// Problem: the pairs `alpha, slack` and `1 - alpha, xi` of solvers/dual/interior_point.py, all
// positive, whose products are to become 0.
// Input: rows, a point, the variables in which features are centred and scaled, and the share of J at
// which to end. Output: the point moved on.
// Algorithm: Mehrotra's predictor and corrector, as in that file. Each step takes one sum of products
// of features, with a Cholesky factor of it. The last digits, which rounding touches, are not
// computed here; a step that is too short or not finite is undone and ends the loop.
#pragma once
#include "abi/passes.hpp"
#include "batch/gram.hpp"
#include "batch/products.hpp"
#include "simd/buffer.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr double kShortOf = 0.995;        // share of the way to a bound
constexpr double kShortestStep = 1e-3;    // a shorter one is left to the caller
constexpr int64_t kMostInteriorSteps = 60;

template <class Rows>
class InteriorPoints {
 public:
  InteriorPoints(const Rows& rows, InteriorPass& pass)
      : rows_(rows), pass_(pass), n_(rows.n), d_(rows.d), width_(rows.d + 1),
        room_(Buffer<double>::zeros(12 * rows.n + width_ * width_ + 6 * width_)) {
    double* next = room_;
    const auto take = [&](int64_t size) {
      double* const own = next;
      next += size;
      return own;
    };
    double** const of_rows[] = {&curvature_, &coefficient_, &first_, &second_,
                                &d_alpha_, &d_slack_, &d_xi_, &turn_};
    for (double** each : of_rows) *each = take(n_);
    for (double*& each : before_) each = take(n_);
    factor_ = take(width_ * width_);
    double** const of_weights[] = {&gradient_, &rest_, &direction_, &before_w_, &u_,
                                   &inverse_scale_};
    for (double** each : of_weights) *each = take(width_);
    for (int64_t j = 0; j < width_; ++j) inverse_scale_[j] = 1 / pass.scale[j];
  }

  void run() {
    if (!measure()) return;
    while (pass_.steps < kMostInteriorSteps && !near_end()) {
      keep();
      if (!step() || !measure()) return restore();
      ++pass_.steps;
    }
  }

 private:
  // The gradient by the weights at these alphas, J as the pairs have it, and their mean product.
  bool measure() {
    for (int64_t i = 0; i < n_; ++i) coefficient_[i] = -pass_.share[i] * pass_.alpha[i] * pass_.y[i];
    if (!sum(gradient_)) return false;
    double square = 0, losses = 0;
    for (int64_t j = 0; j < d_; ++j) {
      square += pass_.w[j] * pass_.w[j];
      gradient_[j] += 2 * pass_.l2 * pass_.w[j];
    }
    if (!pass_.intercept) gradient_[d_] = 0;
    for (int64_t i = 0; i < n_; ++i) losses += pass_.share[i] * pass_.xi[i];
    objective_ = losses + pass_.l2 * square;
    mean_ = complementarity(0);
    return mean_ > 0 && mean_ < __builtin_inf() && objective_ < __builtin_inf();
  }

  // Whether the duality gap is small: what the products leave of it, and the gradient.
  bool near_end() const {
    double square = 0;
    for (int64_t j = 0; j < d_; ++j) square += gradient_[j] * gradient_[j];
    const double bias = gradient_[d_] < 0 ? -gradient_[d_] : gradient_[d_];
    return 2 * mean_ + square / (4 * pass_.l2) + bias <= pass_.enough * objective_;
  }

  bool step() {
    for (int64_t i = 0; i < n_; ++i) {
      curvature_[i] = pass_.slack[i] / pass_.alpha[i] + pass_.xi[i] / pass_.upper_slack[i];
      coefficient_[i] = pass_.share[i] / curvature_[i];
      first_[i] = -pass_.alpha[i] * pass_.slack[i];
      second_[i] = -pass_.upper_slack[i] * pass_.xi[i];
    }
    if (!factorise() || !move()) return false;
    const double reached = complementarity(length()) / mean_;
    const double aim = mean_ * reached * reached * reached;
    for (int64_t i = 0; i < n_; ++i) {
      first_[i] += aim - d_alpha_[i] * d_slack_[i];
      second_[i] += aim + d_alpha_[i] * d_xi_[i];
    }
    if (!move()) return false;
    const double most = kShortOf * length();
    if (!(most > kShortestStep)) return false;
    for (int64_t j = 0; j < width_; ++j) pass_.w[j] += most * direction_[j];
    for (int64_t i = 0; i < n_; ++i) {
      pass_.alpha[i] += most * d_alpha_[i];
      pass_.upper_slack[i] -= most * d_alpha_[i];
      pass_.slack[i] += most * d_slack_[i];
      pass_.xi[i] += most * d_xi_[i];
    }
    return true;
  }

  // The lower triangle of a Cholesky factor of Newton's matrix.
  bool factorise() {
    for (int64_t j = 0; j < width_ * width_; ++j) factor_[j] = 0;
    if (!gram(rows_, coefficient_, pass_.mean, inverse_scale_, factor_, pass_.should_stop)) {
      pass_.stopped = true;
      return false;
    }
    for (int64_t j = 0; j < d_; ++j)
      factor_[j * width_ + j] += 2 * pass_.l2 * inverse_scale_[j] * inverse_scale_[j];
    if (!pass_.intercept) {
      for (int64_t j = 0; j < d_; ++j) factor_[d_ * width_ + j] = 0;
      factor_[d_ * width_ + d_] = 1;
    }
    for (int64_t a = 0; a < width_; ++a) {
      double* const row = factor_ + a * width_;
      for (int64_t b = 0; b <= a; ++b) {
        const double* const other = factor_ + b * width_;
        const double left = row[b] - dot(row, other, b);
        if (b < a) row[b] = left / other[b];
        else if (left > 0) row[a] = __builtin_sqrt(left);
        else return false;
      }
    }
    return true;
  }

  // Newton's move for the required changes of the products.
  bool move() {
    for (int64_t i = 0; i < n_; ++i) {
      const double hoped = first_[i] / pass_.alpha[i] - second_[i] / pass_.upper_slack[i];
      d_alpha_[i] = hoped;
      coefficient_[i] = pass_.share[i] * pass_.y[i] * hoped / curvature_[i];
    }
    if (!sum(rest_)) return false;
    solve();
    if (!scores(rows_, direction_, 1, turn_, pass_.should_stop)) {
      pass_.stopped = true;
      return false;
    }
    for (int64_t i = 0; i < n_; ++i) {
      const double turn = pass_.share[i] > 0 ? pass_.y[i] * turn_[i] : 0;
      d_alpha_[i] = (d_alpha_[i] - turn) / curvature_[i];
      d_xi_[i] = (second_[i] + pass_.xi[i] * d_alpha_[i]) / pass_.upper_slack[i];
      d_slack_[i] = d_xi_[i] + turn;
    }
    return true;
  }

  // direction: where the model with the gradient, less `rest`, has its minimum.
  void solve() {
    const double bias = pass_.intercept ? rest_[d_] - gradient_[d_] : 0;
    for (int64_t j = 0; j < d_; ++j)
      u_[j] = (rest_[j] - gradient_[j] - bias * pass_.mean[j]) * inverse_scale_[j];
    u_[d_] = bias * inverse_scale_[d_];
    for (int64_t a = 0; a < width_; ++a) {
      const double* const row = factor_ + a * width_;
      u_[a] = (u_[a] - dot(row, u_, a)) / row[a];
    }
    for (int64_t a = width_ - 1; a >= 0; --a) {
      u_[a] /= factor_[a * width_ + a];
      for (int64_t b = 0; b < a; ++b) u_[b] -= factor_[a * width_ + b] * u_[a];
    }
    for (int64_t j = 0; j < width_; ++j) direction_[j] = u_[j] * inverse_scale_[j];
    direction_[d_] -= dot(direction_, pass_.mean, d_);
  }

  // out = sum of coefficient * (x, 1).
  bool sum(double* out) {
    for (int64_t j = 0; j < width_; ++j) out[j] = 0;
    pass_.stopped = !transpose_product(rows_, coefficient_, 1, out, pass_.should_stop);
    return !pass_.stopped;
  }

  // The mean product of the pairs after a part of the move.
  double complementarity(double part) const {
    double sum = 0;
    for (int64_t i = 0; i < n_; ++i) {
      const double change = part * d_alpha_[i];
      const double lower = (pass_.alpha[i] + change) * (pass_.slack[i] + part * d_slack_[i]);
      const double upper = (pass_.upper_slack[i] - change) * (pass_.xi[i] + part * d_xi_[i]);
      sum += pass_.share[i] * (lower + upper);
    }
    return 0.5 * sum;
  }

  // Distance to the first bound along the move, 1 at most; 0 if it is not a number.
  double length() const {
    double least = 1;
    const auto limit = [&least](double at, double change) {
      const double share = -change > at ? at / -change : 1;
      least = share < least ? share : least;
    };
    for (int64_t i = 0; i < n_; ++i) {
      if (!(d_alpha_[i] - d_alpha_[i] == 0 && d_slack_[i] - d_slack_[i] == 0)) return 0;
      limit(pass_.alpha[i], d_alpha_[i]);
      limit(pass_.upper_slack[i], -d_alpha_[i]);
      limit(pass_.slack[i], d_slack_[i]);
      limit(pass_.xi[i], d_xi_[i]);
    }
    return least;
  }

  void keep() {
    const double* const at[] = {pass_.alpha, pass_.upper_slack, pass_.slack, pass_.xi};
    for (int pair = 0; pair < 4; ++pair)
      for (int64_t i = 0; i < n_; ++i) before_[pair][i] = at[pair][i];
    for (int64_t j = 0; j < width_; ++j) before_w_[j] = pass_.w[j];
  }
  void restore() {
    double* const at[] = {pass_.alpha, pass_.upper_slack, pass_.slack, pass_.xi};
    for (int pair = 0; pair < 4; ++pair)
      for (int64_t i = 0; i < n_; ++i) at[pair][i] = before_[pair][i];
    for (int64_t j = 0; j < width_; ++j) pass_.w[j] = before_w_[j];
  }

  const Rows& rows_;
  InteriorPass& pass_;
  const int64_t n_, d_, width_;
  const Buffer<double> room_;
  // (n) each: of Newton's system, of the wish, of the move.
  double *curvature_, *coefficient_, *first_, *second_, *d_alpha_, *d_slack_, *d_xi_, *turn_;
  double* before_[4];
  double* factor_;  // (d + 1, d + 1)
  double *gradient_, *rest_, *direction_, *before_w_, *u_, *inverse_scale_;  // (d + 1) each
  double objective_ = 0, mean_ = 0;
};

template <class Rows>
void interior_points(const Rows& rows, InteriorPass& pass) {
  InteriorPoints<Rows>(rows, pass).run();
}

}  // namespace separatrix::SEPARATRIX_LEVEL
