// One online pass: rows in a given order, an update after every batch of them.
//
//   scores of each row of the batch, at the same weights, and the slopes of its loss
//   w <- w * max(0, 1 - 2*step*l2)
//   (w, b) <- (w, b) - step * mean of weight * slope * (x, 1)
//   w <- w nearer to 0 by step * l1, and no further: when w is next read
//
// The weights are kept as scale * v, so that the decay is one multiplication and a sparse
// row costs only its nonzeros.
#pragma once
#include "online/fold.hpp"
#include "rows/checked_order.hpp"
#include "rows/prefetch.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// visit(b, i, targets) evaluates row i, the b-th of a batch, and fetches others at the targets;
// update(b, i, rate, size) adds rate * slope / size times the row, and says whether that is not 0.
template <class Rows, class Visit, class Update>
inline void each_batch(const Rows& rows, OnlinePass& pass, Visit&& visit, Update&& update) {
  const int64_t d = rows.d;
  const auto at = [&](int64_t t) { return pass.order ? pass.order[t] : t; };
  CheckedOrder order(pass.order, pass.count, rows.n);
  int64_t watched = 0;
  int64_t& done = pass.position;
  for (int64_t t = 0; done < pass.count && pass.updates < pass.max_updates; ++t) {
    const int64_t size = pass.count - done < pass.batch ? pass.count - done : pass.batch;
    if (!order.valid_before(done + size + kFarAhead)) {
      pass.flaw = kNoSuchRow;
      return;
    }
    const double step = pass.steps[pass.constant_step ? 0 : t];
    for (int64_t b = 0; b < size; ++b)
      visit(b, at(done + b), prefetch_targets(done + b, pass.count, at));
    if (pass.l2 != 0) decay(pass, d, 1 - 2 * step * pass.l2);
    for (int64_t b = 0; b < size; ++b) {
      const int64_t i = at(done + b);
      const bool moved = update(b, i, -step * pass.weight_scale, double(size));
      if (moved && pass.log) pass.log[pass.updates] = i;
      pass.updates += moved;
    }
    if (pass.received) *pass.cumulative += step * pass.l1 / *pass.scale;
    if (pass.sum) {
      *pass.area += *pass.scale;
      for (int64_t c = 0; c < pass.k; ++c)
        pass.sum[c * (d + 1) + d] += pass.v[c * (d + 1) + d];
    }
    done += size;
    watched += size;
    if (watched >= kStopInterval) {
      watched = 0;
      if ((pass.stopped = pass.should_stop())) return;
    }
  }
}

// The weights of class c get `change` times a row more.
template <class Rows>
inline void add_change(const Rows& rows, OnlinePass& pass, int64_t i, int64_t c, double change) {
  double *const v = pass.v + c * (rows.d + 1);
  add(rows, i, change / *pass.scale, v);
  if (pass.sum)
    add(rows, i, *pass.area * (change / *pass.scale), pass.lag + c * (rows.d + 1));
  if (pass.intercept) v[rows.d] += change;
}

}  // namespace separatrix::SEPARATRIX_LEVEL
