// Losses over more than two classes: one row of weights per class, all scores of a row at once.
//
// A loss turns the scores s[0..k) of a row of class d, and the best rival of that class, into its
// value and the derivatives by the scores. (Crammer and Singer 2001.) A sum over columns also takes
// the -1 and +1 of rows that have any number of labels.
#pragma once
#include "losses/margin.hpp"

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
  using Margin = Loss;
  static double at(const double* s, int64_t k, int64_t d, int64_t, double* slope) {
    return sum(s, k, slope, [&](int64_t c) { return c == d ? 1.0 : -1.0; });
  }
  static double at(const double* s, int64_t k, const int8_t* labels, double* slope) {
    return sum(s, k, slope, [&](int64_t c) { return double(labels[c]); });
  }

 private:
  template <class Sign>
  static double sum(const double* s, int64_t k, double* slope, Sign&& sign) {
    double sum = 0;
    for (int64_t c = 0; c < k; ++c) {
      const double y = sign(c);
      const Point<double> point = point_at<Loss>(y * s[c]);
      slope[c] = y * point.slope;
      sum += point.value;
    }
    return sum;
  }
};

template <class Loss>
constexpr bool kOfColumns = requires { typename Loss::Margin; };

// Whether the scores are right for all labels of a row.
inline bool all_right(const double* s, int64_t k, const int8_t* labels) {
  bool right = true;
  for (int64_t c = 0; c < k; ++c) right &= double(labels[c]) * s[c] > 0;
  return right;
}

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

}  // namespace separatrix::SEPARATRIX_LEVEL
