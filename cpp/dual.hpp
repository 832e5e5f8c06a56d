// Dual coordinate ascent for the hinge: one alpha at a time, each to its best value.
//
// With p a row's share of all weight, w = sum of p*alpha*y*x / (2*l2) at any time. A change of
// one alpha by t moves its own margin by t*p*(|x|^2/(2*l2) + 1/(2*rho)), where the bias is held
// near where it stood by rho*(b - b_0)^2: so that one alpha can move without another.
//
// A row that sits at a bound, and whose margin says that it will stay, is left out of `kept`
// (shrinking, as in LIBLINEAR: Hsieh, Chang, Lin, Keerthi, Sundararajan 2008).
#pragma once
#include "online.hpp"
#include "rows.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Rows>
void dual_pass(const Rows& rows, DualPass& pass) {
  const int64_t d = rows.d;
  double* const w = pass.w;
  for (int64_t t = 0; t < pass.count; ++t) {
    const int64_t i = pass.order[t];
    prefetch_ahead(rows, t, pass.count, [&](int64_t u) { return pass.order[u]; });
    const double p = pass.weight ? pass.weight[i] * pass.share : pass.share;
    const double before = pass.alpha[i], y = pass.y[i];
    const double lack = 1 - y * (dot(rows, i, w) + w[d]);  // the slope of the dual, over p
    pass.gap += p * ((lack > 0 ? lack : 0) - before * lack);
    // The rows behind in `order` have been read: their places may be taken.
    if (before <= 0 ? lack < -pass.safe : before >= 1 && lack > pass.safe) continue;
    pass.order[pass.kept++] = i;
    if (before <= 0 ? lack > 0 : before < 1 || lack < 0)  // a slope that it can follow
      pass.slope += lack > 0 ? lack : -lack;
    const double bend = p * (pass.square[i] * pass.give + pass.bias_give);
    double after = bend > 0 ? before + lack / bend : lack > 0 ? 1.0 : lack < 0 ? 0.0 : before;
    after = after > 1 ? 1 : after > 0 ? after : 0;
    if (after != before) {
      const double change = p * (after - before) * y;
      add(rows, i, change * pass.give, w);
      w[d] += change * pass.bias_give;
      pass.alpha[i] = after;
    }
    if (t % kPatience == kPatience - 1 && (pass.stopped = pass.should_stop())) break;
  }
}

}  // namespace separatrix::SEPARATRIX_LEVEL
