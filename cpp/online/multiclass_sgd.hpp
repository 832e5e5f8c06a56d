// One online pass of a loss over more than two classes, as in online/sgd.hpp.
#pragma once
#include "losses/multiclass.hpp"
#include "online/fold.hpp"
#include "perceptron/multiclass.hpp"
#include "rows/checked_order.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Loss, class Rows>
inline void online_joint(const Rows& rows, OnlinePass& pass) {
  const int64_t d = rows.d, k = pass.k, stride = d + 1;
  auto at = [&](int64_t i) { return pass.order ? pass.order[i] : i; };
  CheckedOrder order(pass.order, pass.count, rows.n);
  int64_t watched = 0;
  int64_t& done = pass.position;
  double* const scores = new double[k];
  double* const slopes = new double[k * pass.batch];
  for (int64_t t = 0; done < pass.count && pass.updates < pass.max_updates; ++t) {
    const int64_t size = pass.count - done < pass.batch ? pass.count - done : pass.batch;
    if (!order.valid_before(done + size + kFarAhead)) {
      pass.flaw = kNoSuchRow;
      break;
    }
    const double step = pass.steps[pass.constant_step ? 0 : t];
    for (int64_t b = 0; b < size; ++b) {
      const int64_t i = at(done + b);
      prefetch_rows(rows, prefetch_targets(done + b, pass.count, at));
      for (int64_t c = 0; c < k; ++c) {
        double* const v = pass.v + c * stride;
        if (pass.received)
          receive_row(rows, i, v, pass.received + c * stride, *pass.cumulative);
        scores[c] = *pass.scale * dot(rows, i, v) + v[d];
      }
      const double weight = pass.weight ? pass.weight[i] : 1.0;
      double* slope = slopes + b * k;
      const int64_t label = label_of(pass, i), rival = best_rival(scores, k, label);
      const double value = Loss::at(scores, k, label, rival, slope);
      if (weight != 0) pass.loss_sum += weight * value;
      if (!(scores[label] > scores[rival])) pass.mistakes += weight;
      for (int64_t c = 0; c < k; ++c) slope[c] = weight != 0 ? weight * slope[c] : 0;
    }
    if (pass.l2 != 0) decay(pass, d, 1 - 2 * step * pass.l2);
    for (int64_t b = 0; b < size; ++b) {
      const int64_t i = at(done + b);
      bool moved = false;
      for (int64_t c = 0; c < k; ++c) {
        const double slope = slopes[b * k + c];
        if (slope == 0) continue;
        moved = true;
        const double change = -step * pass.weight_scale * slope / double(size);
        double* v = pass.v + c * stride;
        add(rows, i, change / *pass.scale, v);
        if (pass.sum) add(rows, i, *pass.area * (change / *pass.scale), pass.lag + c * stride);
        if (pass.intercept) v[d] += change;
      }
      if (moved && pass.log) pass.log[pass.updates] = i;
      pass.updates += moved;
    }
    if (pass.received) *pass.cumulative += step * pass.l1 / *pass.scale;
    if (pass.sum) {
      *pass.area += *pass.scale;
      for (int64_t c = 0; c < k; ++c) pass.sum[c * stride + d] += pass.v[c * stride + d];
    }
    done += size;
    watched += size;
    if (watched >= kStopInterval) {
      watched = 0;
      if ((pass.stopped = pass.should_stop())) break;
    }
  }
  delete[] scores;
  delete[] slopes;
}

template <class Rows>
void online_joint_pass(const Rows& rows, OnlinePass& pass) {
  if (JointId(pass.loss) == JointId::perceptron && plain_steps(pass)) {
    double* const scores = new double[pass.k];
    MulticlassPerceptron<Rows> problem(rows, pass, scores);
    PerceptronPass(rows, pass, problem).run();
    delete[] scores;
    return;
  }
  with_joint_loss(pass.loss, [&](auto loss) { online_joint<decltype(loss)>(rows, pass); });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
