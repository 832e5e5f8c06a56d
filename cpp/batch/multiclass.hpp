// Value and gradient of a loss over more than two classes or several labels, in one read of the rows.
#pragma once
#include <type_traits>
#include "batch/class_panels.hpp"
#include "batch/column_losses.hpp"
#include "batch/float32_sums.hpp"
#include "batch/softmax_rows.hpp"
#include "batch/tiles.hpp"
#include "losses/multiclass.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Sums in Real; what the loss makes of a row's scores is always in double.
template <class Loss, class Real, class Rows>
inline void batch_joint(const Rows& rows, BatchPass& pass) {
  const int64_t k = pass.k;
  const ClassScores<Rows, Real> many(rows, pass.w, k, pass.in_lines);
  ClassGradients<Rows, Real> sums(rows, pass.gradient ? k : 0, pass.gradient, pass.in_lines);
  const WidenedTile<Rows, Real> wide(rows);
  const int64_t width = many.width();
  const auto scores = Buffer<Real>::zeros(2 * kClassTileRows * width);
  Real* const slopes = scores + kClassTileRows * width;
  const Buffer<double> score(2 * k);
  double* const slope = score + k;
  SoftmaxRows softmax(std::is_same_v<Loss, Softmax> ? k : 0);
  ColumnLosses columns(k);
  const auto right = [&](int64_t i) {
    if (pass.labels) return all_right(score, k, pass.labels + i * k);
    const int64_t label = pass.label[i];
    return score[label] > score[best_rival(score, k, label)];
  };
  const auto add_tile = [&](int64_t first, int64_t count) {
    const auto tile = wide.tile(first, count);
    many.tile(tile, after(rows, first + count), scores);
    double loss_sum = 0, mistakes = 0;
    if constexpr (std::is_same_v<Loss, Softmax>) {
      Sum losses = {}, missed = {};
      for (int64_t i = 0; i < count; i += kLanes)
        softmax.evaluate(scores + i * width, width, pass.label + first + i,
                         pass.weight ? pass.weight + first + i : nullptr,
                         count - i < kLanes ? count - i : kLanes, slopes + i * width, losses,
                         missed);
      loss_sum = losses.total();
      mistakes = missed.total();
    } else if constexpr (kOfColumns<Loss>) {
      const double* const weight = pass.weight ? pass.weight + first : nullptr;
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < k; ++c) score[c] = double(scores[i * width + c]);
        if (!right(first + i)) mistakes += weight ? weight[i] : 1.0;
      }
      const auto evaluate = [&](const auto& signs) {
        return columns.template evaluate<typename Loss::Margin>(scores + 0, width, signs, weight,
                                                                count, slopes);
      };
      loss_sum = pass.labels ? evaluate(LabelSigns{pass.labels + first * k, k})
                             : evaluate(ClassSigns{pass.label + first});
    } else {
      for (int64_t i = 0; i < count; ++i) {
        const double weight = pass.weight ? pass.weight[first + i] : 1.0;
        for (int64_t c = 0; c < k; ++c) score[c] = double(scores[i * width + c]);
        const int64_t label = pass.label[first + i], rival = best_rival(score, k, label);
        const double value = Loss::at(score, k, label, rival, slope);
        if (weight != 0) {  // as if absent otherwise, even where its value overflows
          loss_sum += weight * value;
          if (!(score[label] > score[rival])) mistakes += weight;
        }
        Real* const to = slopes + i * width;
        for (int64_t c = 0; c < k; ++c) to[c] = weight != 0 ? Real(weight * slope[c]) : Real(0);
      }
    }
    pass.loss_sum += loss_sum;
    pass.mistakes += mistakes;
    if (pass.gradient) sums.add(tile, slopes);
  };
  pass.stopped = !each_tile(rows, kClassTileRows, pass.should_stop, add_tile);
}

template <class Rows>
void batch_joint_pass(const Rows& rows, BatchPass& pass) {
  with_joint_loss(pass.loss, [&](auto loss) {
    using Loss = decltype(loss);
    if constexpr (kHasFloat32Sums<Rows>)
      if (pass.float32_sums) return batch_joint<Loss, float>(rows, pass);
    batch_joint<Loss, double>(rows, pass);
  });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
