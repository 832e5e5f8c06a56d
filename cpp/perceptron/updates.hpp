// What one mistake of the perceptron changes in a pass, and what is counted.
#pragma once
#include "abi/passes.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// An offset is no part of the bounds by which rows are left unread.
inline bool plain_steps(const OnlinePass& pass) {
  return pass.batch == 1 && pass.l2 == 0 && !pass.received && *pass.scale == 1 && !pass.offset;
}

// The running sum takes in the weights after the rows before visit t.
inline void count_rows(OnlinePass& pass, int64_t d, int64_t t) {
  if (pass.sum) {
    for (; pass.position < t; ++pass.position) {
      *pass.area += 1;
      for (int64_t c = 0; c < pass.k; ++c)
        pass.sum[(c + 1) * (d + 1) - 1] += pass.v[(c + 1) * (d + 1) - 1];
    }
  }
  pass.position = t;
}

// Labels of two classes, from where they take least room.
inline double sign_of(const OnlinePass& pass, int64_t i) {
  return pass.screening ? double(pass.screening->sign[i]) : pass.y[i];
}
inline void prefetch_sign(const OnlinePass& pass, int64_t i) {
  if (pass.screening) __builtin_prefetch(pass.screening->sign + i);
  else __builtin_prefetch(pass.y + i);
}

// The number of a row's class. One that is out of range ends the pass as flawed; until it does, 0
// stands for it.
inline int64_t label_of(OnlinePass& pass, int64_t i) {
  const int64_t label = pass.label[i];
  if (uint64_t(label) < uint64_t(pass.k)) return label;
  pass.flaw = kNoSuchClass;
  return 0;
}

inline double weight_of(const OnlinePass& pass, int64_t i) {
  return pass.weight ? pass.weight[i] : 1.0;
}

// What a row of this label is added times if it is mistaken at this visit.
inline double change_of(const OnlinePass& pass, int64_t visit, double weight, double y) {
  const double step = pass.steps[pass.constant_step ? 0 : visit];
  return -step * pass.weight_scale * (weight * -1.0 * y);
}

// What is known of an update: row i was mistaken by this margin.
inline void count_update(OnlinePass& pass, int64_t i, double weight, double margin) {
  pass.loss_sum += weight * -margin;
  if (pass.log) pass.log[pass.updates] = i;
  ++pass.updates;
}

}  // namespace separatrix::SEPARATRIX_LEVEL
