// Losses over more than two classes: one row of weights per class, all scores of a row at once.
//
// A joint loss turns the scores s[0..k) of a row of class d, and the best rival of that class, into
// its value and the derivatives by the scores. Everything else is as in online/sgd.hpp and batch/value_gradient.hpp.
#pragma once
#include "batch/value_gradient.hpp"
#include "losses/margin.hpp"
#include "online/sgd.hpp"
#include "perceptron/multiclass_filter.hpp"
#include "rows/products.hpp"
#include "rows/prefetch.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// The class with the largest score besides d; the first on a tie. A NaN wins, so that it shows.
inline int64_t best_rival(const double* s, int64_t k, int64_t d) {
  int64_t best = d == 0 ? 1 : 0;
  for (int64_t c = best + 1; c < k; ++c)
    if (c != d && !(s[c] <= s[best]) && s[best] == s[best]) best = c;
  return best;
}

struct Softmax {
  static double at(const double* s, int64_t k, int64_t d, int64_t rival, double* slope) {
    const int64_t largest = s[d] > s[rival] ? d : rival;
    const double top = s[largest];
    int64_t done = 0;
    for (; done + kWidth <= k; done += kWidth)
      store(slope + done, exp_negative(load(s + done) - top));
    for (; done < k; ++done) slope[done] = exp_negative(s[done] - top);
    double rest = 0;  // the sum without its largest term, which is exactly 1 unless it is NaN
    for (int64_t c = 0; c < k; ++c) rest += c == largest ? 0.0 : slope[c];
    const double sum = slope[largest] + rest;
    for (int64_t c = 0; c < k; ++c) slope[c] /= sum;
    // 1 - p_d without cancellation where p_d is nearly 1
    slope[d] = largest == d ? -rest / sum : slope[d] - 1.0;
    return top - s[d] + __builtin_log1p(rest);
  }
};

struct JointPerceptron {
  static double at(const double* s, int64_t k, int64_t d, int64_t rival, double* slope) {
    for (int64_t c = 0; c < k; ++c) slope[c] = 0;
    if (s[d] > s[rival]) return 0;
    slope[rival] = 1;
    slope[d] = -1;
    return s[rival] - s[d];
  }
};

struct CrammerSinger {
  static double at(const double* s, int64_t k, int64_t d, int64_t rival, double* slope) {
    for (int64_t c = 0; c < k; ++c) slope[c] = 0;
    const double gap = 1.0 + s[rival] - s[d];
    if (gap <= 0) return 0;
    slope[rival] = 1;
    slope[d] = -1;
    return gap;
  }
};

template <class Loss>
struct Columns {
  static double at(const double* s, int64_t k, int64_t d, int64_t, double* slope) {
    double sum = 0;
    for (int64_t c = 0; c < k; ++c) {
      const double y = c == d ? 1.0 : -1.0;
      const Point<double> point = point_at<Loss>(y * s[c]);
      slope[c] = y * point.slope;
      sum += point.value;
    }
    return sum;
  }
};

template <class F>
inline void with_joint_loss(int id, F&& f) {
  switch (JointId(id)) {
    case JointId::softmax: return f(Softmax{});
    case JointId::perceptron: return f(JointPerceptron{});
    case JointId::crammer_singer: return f(CrammerSinger{});
    default:
      return with_loss(id - int(JointId::columns),
                       [&](auto loss) { f(Columns<decltype(loss)>{}); });
  }
}

// The perceptron of many classes, for the loop in perceptron/pass.hpp: its margin is the score of the
// true class over the best of the others.
template <class Rows>
class ManyClasses {
 public:
  static constexpr double kNormFactor = 0x1.6a09e667f3bcdp0;  // sqrt(2)
  struct Runner {
    static constexpr bool kRuns = false;
    Runner(const Rows&, OnlinePass&) {}
  };
  ManyClasses(const Rows& rows, OnlinePass& pass, double* scores)
      : rows_(rows), pass_(pass), scores_(scores), rough_(rows, pass) {}

  double values() const {
    return row_values(rows_) * double(pass_.k) * RoughMargins<Rows>::kShare;
  }
  double worth() const { return 0.05 + kValuesOfNote / (values() + 1); }
  using Label = int64_t;
  Label label(int64_t i) const { return pass_.label[i]; }
  void prefetch_label(int64_t i) const { __builtin_prefetch(pass_.label + i); }

  template <bool kFetches>
  int64_t proven(const int64_t* row, const int64_t* labels, int64_t count) {
    for (int64_t p = 0; p < count; ++p) {
      if constexpr (kFetches) prefetch_rows(rows_, soon(row + p));
      double bound = rough_.bound(row[p], labels[p]);
      if (!(bound > 0)) bound = margin(row[p], labels[p]);
      rough_.seen(bound > 0);
      if (!(bound > 0)) return p;
    }
    return count;
  }
  bool right(int64_t, Label) const { return false; }

  class Seen {
   public:
    Seen(ManyClasses& problem, const double* w) : problem_(problem), w_(w) {}
    double margin(int64_t i, double& square) const {
      const double* const scores = problem_.score(i, w_);
      const int64_t label = problem_.label(i);
      square = squared_norm(problem_.rows_, i);
      return scores[label] - scores[best_rival(scores, problem_.pass_.k, label)];
    }

   private:
    ManyClasses& problem_;
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
    rough_.moved(c, change);
  }

  const Rows& rows_;
  OnlinePass& pass_;
  double* scores_;
  RoughMargins<Rows> rough_;
  int64_t rival_ = 0;
  double margin_ = 0;
};

template <class Loss, class Rows>
inline void online_joint(const Rows& rows, OnlinePass& pass) {
  const int64_t d = rows.d, k = pass.k, stride = d + 1;
  auto at = [&](int64_t i) { return pass.order ? pass.order[i] : i; };
  int64_t watched = 0;
  int64_t& done = pass.position;
  double* const scores = new double[k];
  double* const slopes = new double[k * pass.batch];
  for (int64_t t = 0; done < pass.count && pass.updates < pass.max_updates; ++t) {
    const int64_t size = pass.count - done < pass.batch ? pass.count - done : pass.batch;
    const double step = pass.steps[pass.constant_step ? 0 : t];
    for (int64_t b = 0; b < size; ++b) {
      const int64_t i = at(done + b);
      prefetch_rows(rows, soon(done + b, pass.count, at));
      for (int64_t c = 0; c < k; ++c) {
        const double* v = pass.v + c * stride;
        scores[c] = *pass.scale * dot(rows, i, v) + v[d];
      }
      const double weight = pass.weight ? pass.weight[i] : 1.0;
      double* slope = slopes + b * k;
      const int64_t label = pass.label[i], rival = best_rival(scores, k, label);
      const double value = Loss::at(scores, k, label, rival, slope);
      if (weight != 0) pass.loss_sum += weight * value;
      if (!(scores[label] > scores[rival])) pass.mistakes += weight;
      for (int64_t c = 0; c < k; ++c) slope[c] = weight != 0 ? weight * slope[c] : 0;
    }
    if (pass.l2 != 0) decay(pass, d, 1 - 2 * step * pass.l2);
    for (int64_t b = 0; b < size; ++b) {
      const int64_t i = at(done + b);
      bool moved = false;
      for (int64_t c = 0; c < k; ++c) {
        const double slope = slopes[b * k + c];
        if (slope == 0) continue;
        moved = true;
        const double change = -step * pass.weight_scale * slope / double(size);
        double* v = pass.v + c * stride;
        add(rows, i, change / *pass.scale, v);
        if (pass.sum) add(rows, i, *pass.area * (change / *pass.scale), pass.lag + c * stride);
        if (pass.intercept) v[d] += change;
      }
      if (moved && pass.log) pass.log[pass.updates] = i;
      pass.updates += moved;
    }
    if (pass.sum) {
      *pass.area += *pass.scale;
      for (int64_t c = 0; c < k; ++c) pass.sum[c * stride + d] += pass.v[c * stride + d];
    }
    done += size;
    watched += size;
    if (watched >= kPatience) {
      watched = 0;
      if ((pass.stopped = pass.should_stop())) break;
    }
  }
  delete[] scores;
  delete[] slopes;
}

template <class Rows>
void online_joint_pass(const Rows& rows, OnlinePass& pass) {
  if (JointId(pass.loss) == JointId::perceptron && plain_steps(pass)) {
    double* const scores = new double[pass.k];
    ManyClasses<Rows> problem(rows, pass, scores);
    Rosenblatt(rows, pass, problem).run();
    delete[] scores;
    return;
  }
  with_joint_loss(pass.loss, [&](auto loss) { online_joint<decltype(loss)>(rows, pass); });
}

// Sums in Real; what the loss makes of a row's scores is always in double.
template <class Loss, class Real, class Rows>
inline void batch_joint(const Rows& rows, BatchPass& pass) {
  const int64_t k = pass.k;
  const ManyScores<Rows, Real> many(rows, pass.w, k);
  ManySums<Rows, Real> sums(rows, pass.gradient ? k : 0, pass.gradient);
  const Wide<Rows, Real> wide(rows);
  const int64_t width = many.width();
  Real* const scores = new Real[size_t(2 * kFew * width)]();
  Real* const slopes = scores + kFew * width;
  double* const score = new double[size_t(2 * k)];
  double* const slope = score + k;
  pass.stopped = !each_tile(rows, kFew, pass.should_stop, [&](int64_t first, int64_t count) {
    const auto tile = wide.tile(first, count);
    many.tile(tile, after(rows, first + count), scores);
    double loss_sum = 0, mistakes = 0;
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
    pass.loss_sum += loss_sum;
    pass.mistakes += mistakes;
    if (pass.gradient) sums.add(tile, slopes);
  });
  delete[] scores;
  delete[] score;
}

template <class Rows>
void batch_joint_pass(const Rows& rows, BatchPass& pass) {
  with_joint_loss(pass.loss, [&](auto loss) {
    using Loss = decltype(loss);
    if constexpr (kInFloats<Rows>)
      if (pass.rough) return batch_joint<Loss, float>(rows, pass);
    batch_joint<Loss, double>(rows, pass);
  });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
