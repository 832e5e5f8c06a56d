// The perceptron of many classes: what a pass needs to know of it.
#pragma once
#include "losses/multiclass.hpp"
#include "perceptron/multiclass_filter.hpp"
#include "perceptron/pass.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// The margin is the score of the true class over the best of the others.
template <class Rows>
class MulticlassPerceptron {
 public:
  static constexpr double kNormFactor = 0x1.6a09e667f3bcdp0;  // sqrt(2)
  MulticlassPerceptron(const Rows& rows, OnlinePass& pass, double* scores)
      : rows_(rows), pass_(pass), scores_(scores), filter_(rows, pass) {}

  double values() const {
    return row_values(rows_) * double(pass_.k) * MulticlassFilter<Rows>::kCostShare;
  }
  double break_even() const { return 0.05 + kValuesPerCheck / (values() + 1); }
  using Label = int64_t;
  Label label(int64_t i) const { return label_of(pass_, i); }
  void prefetch_label(int64_t i) const { __builtin_prefetch(pass_.label + i); }

  template <bool kFetches>
  int64_t certified_prefix(const int64_t* row, const int64_t* labels, int64_t count) {
    for (int64_t p = 0; p < count; ++p) {
      if constexpr (kFetches) prefetch_rows(rows_, prefetch_targets(row + p));
      double bound = filter_.lower_bound(row[p], labels[p]);
      if (!(bound > 0)) bound = margin(row[p], labels[p]);
      filter_.on_outcome(bound > 0);
      if (!(bound > 0)) return p;
    }
    return count;
  }
  bool is_correct(int64_t, Label) const { return false; }

  class Margins {
   public:
    Margins(MulticlassPerceptron& problem, const double* w) : problem_(problem), w_(w) {}
    double margin(int64_t i, double& square) const {
      const double* const scores = problem_.score(i, w_);
      const int64_t label = problem_.label(i);
      square = squared_norm(problem_.rows_, i);
      return scores[label] - scores[best_rival(scores, problem_.pass_.k, label)];
    }

   private:
    MulticlassPerceptron& problem_;
    const double* w_;
  };

  double update(int64_t i, Label label, int64_t visit, double weight, double& margin) {
    const double change = change_of(pass_, visit, weight, 1.0);
    margin = margin_;
    move(i, label, change);
    move(i, rival_, -change);
    return change;
  }

 private:
  double margin(int64_t i, Label label) {
    score(i, pass_.v);
    rival_ = best_rival(scores_, pass_.k, label);
    return margin_ = scores_[label] - scores_[rival_];
  }

  const double* score(int64_t i, const double* w) {
    dot_all(rows_, i, w, pass_.k, scores_);
    for (int64_t c = 0; c < pass_.k; ++c) scores_[c] += w[c * (rows_.d + 1) + rows_.d];
    return scores_;
  }

  void move(int64_t i, int64_t c, double change) {
    double* const v = pass_.v + c * (rows_.d + 1);
    add(rows_, i, change, v);
    if (pass_.sum) add(rows_, i, *pass_.area * change, pass_.lag + c * (rows_.d + 1));
    if (pass_.intercept) v[rows_.d] += change;
    filter_.on_update(c, change);
  }

  const Rows& rows_;
  OnlinePass& pass_;
  double* scores_;
  MulticlassFilter<Rows> filter_;
  int64_t rival_ = 0;
  double margin_ = 0;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
