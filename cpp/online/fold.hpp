// The scale and the running sum of online weights, put into the weights and the sum themselves.
//
// Used by the loops when the scale gets small and by callers that make several passes at once, so
// it is static, as abi/rows.hpp explains.
#pragma once
#include "abi/passes.hpp"
#include "online/cumulative_l1.hpp"

namespace separatrix {

// Scale, area and lag go into v and sum, with the bits of OnlineWeights.fold in loops/online.py.
static inline void fold(const OnlinePass& pass, int64_t d) {
  if (pass.received) {
    receive_all(pass, d);
    for (int64_t j = 0; j < pass.k * (d + 1); ++j) pass.received[j] *= *pass.scale;
    *pass.cumulative *= *pass.scale;
  }
  for (int64_t c = 0; c < pass.k; ++c) {
    double* const v = pass.v + c * (d + 1);
    for (int64_t j = 0; pass.sum && j < d; ++j) {
      double& lag = pass.lag[c * (d + 1) + j];
      pass.sum[c * (d + 1) + j] += *pass.area * v[j] - lag;
      lag = 0;
    }
    for (int64_t j = 0; j < d; ++j) v[j] *= *pass.scale;
  }
  *pass.scale = 1;
  *pass.area = 0;
}

// An L2 penalty's step.
static inline void decay(OnlinePass& pass, int64_t d, double factor) {
  *pass.scale *= factor > 0 ? factor : 0;
  if (*pass.scale < (pass.sum ? kSmallestScaleOfSum : kSmallestScale)) fold(pass, d);
}

}  // namespace separatrix
