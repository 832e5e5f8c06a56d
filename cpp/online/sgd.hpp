// One online pass: rows in a given order, an update after every batch of them.
//
//   a = w.x + b, m = y*a            for each row of the batch, at the same weights
//   w <- w * max(0, 1 - 2*step*l2)
//   (w, b) <- (w, b) - step * mean of weight * slope(m) * y * (x, 1)
//   w <- w nearer to 0 by step * l1, and no further: when w is next read
//
// The weights are kept as scale * v, so that the decay is one multiplication and a sparse
// row costs only its nonzeros.
#pragma once
#include "losses/margin.hpp"
#include "online/fold.hpp"
#include "perceptron/binary.hpp"
#include "perceptron/pass.hpp"
#include "rows/checked_order.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Loss, class Rows>
inline void online(const Rows& rows, OnlinePass& pass) {
  const int64_t d = rows.d;
  double* const v = pass.v;
  auto at = [&](int64_t i) { return pass.order ? pass.order[i] : i; };
  CheckedOrder order(pass.order, pass.count, rows.n);
  int64_t watched = 0;
  int64_t& done = pass.position;
  double room[1], *slopes = pass.batch == 1 ? room : new double[pass.batch];
  for (int64_t t = 0; done < pass.count && pass.updates < pass.max_updates; ++t) {
    const int64_t size = pass.count - done < pass.batch ? pass.count - done : pass.batch;
    if (!order.valid_before(done + size + kFarAhead)) {
      pass.flaw = kNoSuchRow;
      break;
    }
    const double step = pass.steps[pass.constant_step ? 0 : t];
    bool moves = false;
    for (int64_t b = 0; b < size; ++b) {
      const int64_t i = at(done + b);
      if (pass.received) receive_row(rows, i, v, pass.received, *pass.cumulative);
      const double product = dot(rows, i, v, prefetch_targets(done + b, pass.count, at));
      const double m = pass.y[i] * (*pass.scale * product + v[d]);
      const double weight = pass.weight ? pass.weight[i] : 1.0;
      const Point<double> point = point_at<Loss>(m);
      if (weight != 0) pass.loss_sum += weight * point.value;
      if (!(m > 0)) pass.mistakes += weight;
      slopes[b] = weight != 0 ? weight * point.slope * pass.y[i] : 0;
      moves |= slopes[b] != 0;
    }
    if (pass.l2 != 0) decay(pass, d, 1 - 2 * step * pass.l2);
    for (int64_t b = 0; moves && b < size; ++b) {
      if (slopes[b] == 0) continue;
      const int64_t i = at(done + b);
      const double change = -step * pass.weight_scale * slopes[b] / double(size);
      add(rows, i, change / *pass.scale, v);
      if (pass.sum) add(rows, i, *pass.area * (change / *pass.scale), pass.lag);
      if (pass.intercept) v[d] += change;
      if (pass.log) pass.log[pass.updates] = i;
      ++pass.updates;
    }
    if (pass.received) *pass.cumulative += step * pass.l1 / *pass.scale;
    if (pass.sum) {
      *pass.area += *pass.scale;
      pass.sum[d] += v[d];
    }
    done += size;
    watched += size;
    if (watched >= kStopInterval) {
      watched = 0;
      if ((pass.stopped = pass.should_stop())) break;
    }
  }
  if (pass.batch != 1) delete[] slopes;
}

template <class Rows>
void online_pass(const Rows& rows, OnlinePass& pass) {
  if (LossId(pass.loss) == LossId::perceptron && plain_steps(pass)) {
    BinaryPerceptron<Rows> problem(rows, pass);
    return PerceptronPass(rows, pass, problem).run();
  }
  with_loss(pass.loss, [&](auto loss) { online<decltype(loss)>(rows, pass); });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
