// Several online passes in a row, and what they remember of rows from one to the next.
#pragma once
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "abi/views.hpp"

namespace separatrix {

// Owns what RowMemory points to.
class OwnedMemory {
 public:
  OwnedMemory(int64_t n, int64_t size)
      : clearance_(static_cast<float*>(std::calloc(size_t(n) + 1, sizeof(float))), &std::free),
        sign_(size_t(n)), vectors_(size_t(3 * size)) {
    if (!clearance_) throw std::bad_alloc();
    view = RowMemory{};
    view.clearance = clearance_.get();
    view.sign = sign_.data();
    view.n = n;
    view.size = size;
    view.reference = vectors_.data();
    view.mean = view.reference + size;
    view.sum = view.mean + size;
    view.stride = int64_t(0.618 * double(n)) + 1;
    view.price = 0.5;
  }
  RowMemory view;

  size_t bytes() const {
    return size_t(view.n) * (sizeof(float) + 1) + 8 * vectors_.size();
  }

 private:
  // Pages that nobody writes to take no memory: where no row is skipped, no notes are taken.
  std::unique_ptr<float[], void (*)(void*)> clearance_;
  std::vector<int8_t> sign_;
  std::vector<double> vectors_;
};

// Scale, area and lag go into v and sum, with the bits of OnlineWeights.fold in loops/online.py.
inline void fold(const OnlinePass& pass, int64_t d) {
  for (int64_t c = 0; c < pass.k; ++c) {
    double* const v = pass.v + c * (d + 1);
    for (int64_t j = 0; pass.sum && j < d; ++j) {
      double& lag = pass.lag[c * (d + 1) + j];
      pass.sum[c * (d + 1) + j] += *pass.area * v[j] - lag;
      lag = 0;
    }
    for (int64_t j = 0; j < d; ++j) v[j] *= *pass.scale;
  }
  *pass.scale = 1;
  *pass.area = 0;
}

// The order is that of several passes. What stands at the end of each is left in its row of
// `ends`: loss, mistakes, updates, the weights and, where it is kept, their sum. A pass without
// an update is the last.
template <class Rows, class Loop>
OnlinePass several_passes(const Rows& view, Loop loop, OnlinePass all, int64_t passes,
                          double* ends) {
  const int64_t size = all.k * (view.d + 1), count = all.count / passes;
  OnlinePass pass = all;
  pass.count = count;
  for (int64_t p = 0; p < passes; ++p) {
    pass.loss_sum = pass.mistakes = 0;
    pass.updates = pass.position = 0;
    loop(view, pass);
    all.position += pass.position;
    if ((all.stopped = pass.stopped || all.should_stop())) break;
    fold(pass, view.d);
    *ends++ = pass.loss_sum;
    *ends++ = pass.mistakes;
    *ends++ = double(pass.updates);
    for (int64_t j = 0; j < size; ++j) *ends++ = pass.v[j];
    for (int64_t j = 0; pass.sum && j < size; ++j) *ends++ = pass.sum[j];
    if (!pass.updates) break;
    pass.order += count;
    if (pass.log) pass.log += pass.updates;
  }
  return all;
}

}  // namespace separatrix
