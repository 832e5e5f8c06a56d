// Online passes of a loss over more than two classes, or over several labels.
#pragma once
#include "losses/multiclass.hpp"
#include "online/batches.hpp"
#include "perceptron/multiclass.hpp"
#include "simd/buffer.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

struct Evaluated {
  double value;
  bool right;
};

// The loss of a row from its scores, and its slopes.
using Evaluate = Evaluated (*)(OnlinePass&, int64_t, const double*, double*);
template <class Loss>
Evaluated evaluated(OnlinePass& pass, int64_t i, const double* scores, double* slope) {
  const int64_t k = pass.k;
  if constexpr (kOfColumns<Loss>)
    if (pass.labels) {
      const int8_t* const labels = pass.labels + i * k;
      return {Loss::at(scores, k, labels, slope), all_right(scores, k, labels)};
    }
  const int64_t label = label_of(pass, i), rival = best_rival(scores, k, label);
  return {Loss::at(scores, k, label, rival, slope), scores[label] > scores[rival]};
}

// The loss is called through a pointer: the rest is then compiled once for all of them.
template <class Rows>
inline void online_joint(const Rows& rows, OnlinePass& pass, Evaluate evaluate) {
  const int64_t d = rows.d, k = pass.k, stride = d + 1;
  const Buffer<double> scores(k), slopes(k * pass.batch);
  each_batch(
      rows, pass,
      [&](int64_t b, int64_t i, const auto& targets) SEPARATRIX_INLINE {
        prefetch_rows(rows, targets);
        for (int64_t c = 0; c < k; ++c) {
          double* const v = pass.v + c * stride;
          if (pass.received)
            receive_row(rows, i, v, pass.received + c * stride, *pass.cumulative);
          scores[c] = *pass.scale * dot(rows, i, v) + v[d];
        }
        const double weight = pass.weight ? pass.weight[i] : 1.0;
        double* const slope = slopes + b * k;
        const auto [value, right] = evaluate(pass, i, scores, slope);
        if (weight != 0) pass.loss_sum += weight * value;
        if (!right) pass.mistakes += weight;
        for (int64_t c = 0; c < k; ++c) slope[c] = weight != 0 ? weight * slope[c] : 0;
      },
      [&](int64_t b, int64_t i, double rate, double size) SEPARATRIX_INLINE {
        bool moved = false;
        for (int64_t c = 0; c < k; ++c) {
          const double slope = slopes[b * k + c];
          if (slope == 0) continue;
          moved = true;
          add_change(rows, pass, i, c, rate * slope / size);
        }
        return moved;
      });
}

template <class Rows>
void online_joint_pass(const Rows& rows, OnlinePass& pass) {
  if (JointId(pass.loss) == JointId::perceptron && plain_steps(pass)) {
    const Buffer<double> scores(pass.k);
    MulticlassPerceptron<Rows> problem(rows, pass, scores);
    return PerceptronPass(rows, pass, problem).run();
  }
  with_joint_loss(pass.loss, [&](auto loss) { online_joint(rows, pass, evaluated<decltype(loss)>); });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
