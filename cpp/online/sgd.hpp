// Online passes of a loss of one margin m = y (w.x + b).
#pragma once
#include "losses/margin.hpp"
#include "online/batches.hpp"
#include "perceptron/binary.hpp"
#include "perceptron/pass.hpp"
#include "simd/buffer.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Loss, class Rows>
inline void online(const Rows& rows, OnlinePass& pass) {
  const int64_t d = rows.d;
  double* const v = pass.v;
  double one[1];
  const Buffer<double> more(pass.batch == 1 ? 0 : pass.batch);
  double* const slopes = pass.batch == 1 ? one : more;
  each_batch(
      rows, pass,
      [&](int64_t b, int64_t i, const auto& targets) SEPARATRIX_INLINE {
        if (pass.received) receive_row(rows, i, v, pass.received, *pass.cumulative);
        const double product = dot(rows, i, v, targets);
        double score = *pass.scale * product + v[d];
        if (pass.offset) score += pass.offset[i];
        const double m = pass.y[i] * score;
        const double weight = pass.weight ? pass.weight[i] : 1.0;
        const Point<double> point = point_at<Loss>(m);
        if (weight != 0) pass.loss_sum += weight * point.value;
        if (!(m > 0)) pass.mistakes += weight;
        slopes[b] = weight != 0 ? weight * point.slope * pass.y[i] : 0;
      },
      [&](int64_t b, int64_t i, double rate, double size) SEPARATRIX_INLINE {
        if (slopes[b] == 0) return false;
        add_change(rows, pass, i, 0, rate * slopes[b] / size);
        return true;
      });
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
