// The cumulative penalty: an L1 penalty that weights receive late, and all of it.
//
// After every batch each weight is due step * l1 nearer to 0, and no further. With u the sum of
// these and q what a weight has received, a weight above 0 is due u + q, one below u - q: so it can
// wait until the weight is read, and what crossed 0 and back is made good. Weights are scale * v, and
// u and q in units of v: then a decay, which changes the scale alone, leaves nothing to be caught up.
// Tsuruoka, Tsujii and Ananiadou, Stochastic gradient descent training for L1-regularized log-linear
// models with cumulative penalty, ACL 2009.
//
// Static, as abi/rows.hpp says.
#pragma once
#include "abi/passes.hpp"
#include "abi/rows.hpp"

namespace separatrix {

// One weight receives what it is due; without branches, so that compilers take several at once.
static inline void receive(double& v, double& q, double u) {
  const double sign = v < 0 ? -1 : 1, size = sign * v;
  const double owed = u + sign * q, due = owed > 0 ? owed : 0;
  const bool stays = size > due;
  const double left = size - (stays ? due : size);  // not a number stays that
  q = stays ? -sign * u : q - v;  // at 0, where it may be owed more
  v = sign * left + 0.0;          // no -0
}

// The weights that a row reads receive what they are due of an L1 penalty.
template <class Value>
static inline void receive_row(const DenseRows<Value>& rows, int64_t, double* __restrict v,
                               double* __restrict q, double u) {
  for (int64_t j = 0; j < rows.d; ++j) receive(v[j], q[j], u);
}
template <class Value, class Index>
static inline void receive_row(const CsrRows<Value, Index>& rows, int64_t i, double* v, double* q,
                               double u) {
  for (Index at = rows.indptr[i]; at < rows.indptr[i + 1]; ++at)
    receive(v[rows.indices[at]], q[rows.indices[at]], u);
}

static inline void receive_all(const OnlinePass& pass, int64_t d) {
  for (int64_t c = 0; c < pass.k; ++c) {
    double *__restrict const v = pass.v + c * (d + 1);
    double *__restrict const q = pass.received + c * (d + 1);
    for (int64_t j = 0; j < d; ++j) receive(v[j], q[j], *pass.cumulative);
  }
}

}  // namespace separatrix
