// How many rows each of many weights finds the class of.
#pragma once
#include "batch/products.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Of rows with several labels, those for which all are right.
template <class Rows>
bool weighted_correct(const Rows& rows, const double* y, const int64_t* label,
                      const int8_t* labels, const double* weight, const double* weights, int64_t m,
                      int64_t k, double* correct, ShouldStop stop) {
  return each_score(rows, weights, m * k, stop, [&](int64_t i, const double* scores) {
    const double c = weight ? weight[i] : 1.0;
    if (y) {  // without a branch on the sign of a score
      const double if_positive = y[i] > 0 ? c : 0.0, if_negative = y[i] > 0 ? 0.0 : c;
      for (int64_t a = 0; a < m; ++a) correct[a] += scores[a] >= 0 ? if_positive : if_negative;
      return;
    }
    for (int64_t a = 0; labels && a < m; ++a, scores += k) {
      bool right = true;
      for (int64_t b = 0; b < k; ++b) right &= (scores[b] >= 0) == (labels[i * k + b] > 0);
      correct[a] += right ? c : 0.0;
    }
    for (int64_t a = 0; !labels && a < m; ++a, scores += k) {
      int64_t best = 0;
      for (int64_t b = 1; b < k; ++b) best = scores[b] > scores[best] ? b : best;
      correct[a] += best == label[i] ? c : 0.0;
    }
  });
}

}  // namespace separatrix::SEPARATRIX_LEVEL
