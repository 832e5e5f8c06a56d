// Value and gradient of a loss over more than two classes or several labels, in one read of the rows.
#pragma once
#include "batch/class_panels.hpp"
#include "batch/column_losses.hpp"
#include "batch/float32_sums.hpp"
#include "batch/softmax_rows.hpp"
#include "batch/tiles.hpp"
#include "losses/multiclass.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// What a loss makes of the scores of a tile. It does not depend on how rows are stored, so it is
// compiled once for all storages.
template <class Real>
class TileLosses {
 public:
  TileLosses(BatchPass& pass, int64_t width)
      : pass_(pass), width_(width), score_(2 * pass.k), slope_(score_ + pass.k),
        softmax_(JointId(pass.loss) == JointId::softmax ? pass.k : 0), columns_(pass.k) {}

  // From scores (count, width) to weight * derivative, in slopes of the same layout. Loss and
  // mistakes are added to those of the pass.
  [[gnu::noinline]] void evaluate(int64_t first, int64_t count, const Real* scores,
                                  Real* slopes) {
    switch (JointId(pass_.loss)) {
      case JointId::softmax: return of_softmax(first, count, scores, slopes);
      case JointId::perceptron: return of_rivals<JointPerceptron>(first, count, scores, slopes);
      case JointId::crammer_singer: return of_rivals<CrammerSinger>(first, count, scores, slopes);
      default: return of_columns(first, count, scores, slopes);
    }
  }

 private:
  void of_softmax(int64_t first, int64_t count, const Real* scores, Real* slopes) {
    Sum losses = {}, missed = {};
    for (int64_t i = 0; i < count; i += kLanes)
      softmax_.evaluate(scores + i * width_, width_, pass_.label + first + i,
                        pass_.weight ? pass_.weight + first + i : nullptr,
                        count - i < kLanes ? count - i : kLanes, slopes + i * width_, losses,
                        missed);
    pass_.loss_sum += losses.total();
    pass_.mistakes += missed.total();
  }

  void of_columns(int64_t first, int64_t count, const Real* scores, Real* slopes) {
    const double* const weight = pass_.weight ? pass_.weight + first : nullptr;
    double mistakes = 0;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < pass_.k; ++c) score_[c] = double(scores[i * width_ + c]);
      if (!right(first + i)) mistakes += weight ? weight[i] : 1.0;
    }
    const auto evaluate = [&](const auto& signs) {
      return columns_.evaluate(pass_.loss - int(JointId::columns), scores, width_, signs, weight,
                               count, slopes);
    };
    pass_.loss_sum += pass_.labels ? evaluate(LabelSigns{pass_.labels + first * pass_.k, pass_.k})
                                   : evaluate(ClassSigns{pass_.label + first});
    pass_.mistakes += mistakes;
  }

  template <class Loss>
  void of_rivals(int64_t first, int64_t count, const Real* scores, Real* slopes) {
    const int64_t k = pass_.k, width = width_;
    const int64_t* const labels = pass_.label + first;
    const double* const weights = pass_.weight ? pass_.weight + first : nullptr;
    double *const score = score_, *const slope = slope_;
    double loss_sum = 0, mistakes = 0;
    for (int64_t i = 0; i < count; ++i, scores += width, slopes += width) {
      const double weight = weights ? weights[i] : 1.0;
      for (int64_t c = 0; c < k; ++c) score[c] = double(scores[c]);
      const int64_t label = labels[i], rival = best_rival(score, k, label);
      const double value = Loss::at(score, k, label, rival, slope);
      if (weight != 0) {  // as if absent otherwise, even where its value overflows
        loss_sum += weight * value;
        if (!(score[label] > score[rival])) mistakes += weight;
      }
      for (int64_t c = 0; c < k; ++c) slopes[c] = weight != 0 ? Real(weight * slope[c]) : Real(0);
    }
    pass_.loss_sum += loss_sum;
    pass_.mistakes += mistakes;
  }

  bool right(int64_t i) const {
    if (pass_.labels) return all_right(score_, pass_.k, pass_.labels + i * pass_.k);
    const int64_t label = pass_.label[i];
    return score_[label] > score_[best_rival(score_, pass_.k, label)];
  }

  BatchPass& pass_;
  const int64_t width_;
  const Buffer<double> score_;
  double* const slope_;
  SoftmaxRows softmax_;
  ColumnLosses columns_;
};

// Sums in Real; what the loss makes of a row's scores is always in double.
template <class Real, class Rows>
inline void batch_joint(const Rows& rows, BatchPass& pass) {
  const ClassScores<Rows, Real> many(rows, pass.w, pass.k, pass.in_lines);
  ClassGradients<Rows, Real> sums(rows, pass.gradient ? pass.k : 0, pass.gradient, pass.in_lines);
  const WidenedTile<Rows, Real> wide(rows);
  const auto scores = Buffer<Real>::zeros(2 * kClassTileRows * many.width());
  Real* const slopes = scores + kClassTileRows * many.width();
  TileLosses<Real> losses(pass, many.width());
  const auto add_tile = [&](int64_t first, int64_t count) {
    const auto tile = wide.tile(first, count);
    many.tile(tile, after(rows, first + count), scores);
    losses.evaluate(first, count, scores, slopes);
    if (pass.gradient) sums.add(tile, slopes);
  };
  pass.stopped = !each_tile(rows, kClassTileRows, pass.should_stop, add_tile);
}

template <class Rows>
void batch_joint_pass(const Rows& rows, BatchPass& pass) {
  if constexpr (kHasFloat32Sums<Rows>)
    if (pass.float32_sums) return batch_joint<float>(rows, pass);
  batch_joint<double>(rows, pass);
}

}  // namespace separatrix::SEPARATRIX_LEVEL
