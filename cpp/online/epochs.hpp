// Several online passes in a row, and what they remember of rows from one to the next.
#pragma once
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "online/fold.hpp"

namespace separatrix {

// Owns what ScreeningState points to.
class OwnedScreeningState {
 public:
  OwnedScreeningState(int64_t n, int64_t size)
      : angle_margin_(static_cast<float*>(std::calloc(size_t(n) + 1, sizeof(float))), &std::free),
        sign_(size_t(n)), vectors_(size_t(3 * size)) {
    if (!angle_margin_) throw std::bad_alloc();
    view = ScreeningState{};
    view.angle_margin = angle_margin_.get();
    view.sign = sign_.data();
    view.n = n;
    view.size = size;
    view.reference = vectors_.data();
    view.mean = view.reference + size;
    view.sum = view.mean + size;
    view.stride = int64_t(0.618 * double(n)) + 1;
    view.rebuild_cost = 0.5;
  }
  ScreeningState view;

  size_t bytes() const {
    return size_t(view.n) * (sizeof(float) + 1) + 8 * vectors_.size();
  }

 private:
  // Pages that are never written take no memory: if no row is skipped, nothing is stored.
  std::unique_ptr<float[], void (*)(void*)> angle_margin_;
  std::vector<int8_t> sign_;
  std::vector<double> vectors_;
};

// The order is that of several passes. What stands at the end of each is left in its row of
// `ends`: loss, mistakes, updates, the weights and, where it is kept, their sum. A pass without
// an update is the last.
template <class Rows, class Loop>
OnlinePass several_epochs(const Rows& view, Loop loop, OnlinePass all, int64_t passes,
                          double* ends) {
  const int64_t size = all.k * (view.d + 1), count = all.count / passes;
  OnlinePass pass = all;
  pass.count = count;
  for (int64_t p = 0; p < passes; ++p) {
    pass.loss_sum = pass.mistakes = 0;
    pass.updates = pass.position = 0;
    loop(view, pass);
    all.position += pass.position;
    all.flaw = pass.flaw;
    if ((all.stopped = pass.stopped || all.should_stop()) || all.flaw) break;
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
