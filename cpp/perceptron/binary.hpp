// The perceptron of two classes: what a pass needs to know of it.
#pragma once
#include "perceptron/binary_filter.hpp"
#include "perceptron/screening.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Rows>
class BinaryPerceptron {
 public:
  static constexpr double kNormFactor = 1;
  BinaryPerceptron(const Rows& rows, OnlinePass& pass)
      : rows_(rows), pass_(pass), filter_(rows, pass.v) {
    if (!pass.screening || pass.screening->signs_known) return;
    for (int64_t i = 0; i < rows.n; ++i) pass.screening->sign[i] = pass.y[i] < 0 ? -1 : 1;
    pass.screening->signs_known = true;
  }

  double values() const { return row_values(rows_); }
  // Rows in order stream in so fast that to pick a few of them takes as long, unless most are
  // left out; rows in random order cost a wait each.
  double break_even() const { return pass_.order ? 0.1 + kValuesPerCheck / (values() + 1) : 0.5; }
  using Label = double;
  Label label(int64_t i) const { return sign_of(pass_, i); }
  void prefetch_label(int64_t i) const { prefetch_sign(pass_, i); }

  // Reads the rows of a list, two places further those to be read soon, until one is not proven
  // to be right; returns its place.
  template <bool kFetches>
  int64_t certified_prefix(const int64_t* row, const double* y, int64_t count) {
    return filter_.template certified_prefix<kFetches>(row, y, count);
  }
  // Whether that row is right after all.
  bool is_correct(int64_t i, double y) { return filter_.is_correct(i, y); }

  // Margins at any weights, or less, and |x|^2.
  class Margins {
   public:
    Margins(BinaryPerceptron& problem, const double* w)
        : products_(problem.rows_, w), y_(problem.pass_.y), bias_(w[problem.rows_.d]) {}
    double margin(int64_t i, double& square) const {
      return products_.lower_bound(i, y_[i], square) + y_[i] * bias_;
    }

   private:
    BoundedProducts<Rows> products_;
    const double* y_;
    double bias_;
  };

  // Returns how many times the row was added.
  double update(int64_t i, double y, int64_t visit, double weight, double& margin) {
    const double change = change_of(pass_, visit, weight, y);
    margin = filter_.update(i, y, change, pass_.v);
    if (pass_.sum) add(rows_, i, *pass_.area * change, pass_.lag);
    if (pass_.intercept) pass_.v[rows_.d] += change;
    return change;
  }

 private:
  const Rows& rows_;
  OnlinePass& pass_;
  BinaryFilter<Rows> filter_;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
