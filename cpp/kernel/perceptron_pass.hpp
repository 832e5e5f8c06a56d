// Passes of the kernel perceptron (Aizerman, Braverman and Rozonoer 1964): scores of all rows are
// kept, and a mistake adds its row of the kernel matrix to them.
#pragma once
#include "kernel/gaussian.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// The largest score among the rivals of a class, of equal ones the first; a NaN beats all.
inline int64_t best_rival(const double* scores, int64_t stride, int64_t k, int64_t of) {
  int64_t best = -1;
  double largest = 0;
  for (int64_t c = 0; c < k; ++c) {
    const double score = scores[c * stride];
    if (c == of || (best >= 0 && !(score > largest) && score == score)) continue;
    best = c;
    largest = score;
  }
  return best;
}

// How wrong row i is with these scores, and its best rival if there are more than two classes.
struct Violation {
  double amount;
  int64_t rival;
};
inline Violation violation_of(const KernelPass& pass, const double* scores, int64_t stride,
                              int64_t i) {
  if (pass.y) return {-pass.y[i] * scores[0], -1};
  const int64_t rival = best_rival(scores, stride, pass.k, pass.label[i]);
  return {scores[rival * stride] - scores[pass.label[i] * stride], rival};
}

// Whether order[at] is a row, of a class, that exist; if not, the pass is flawed.
inline bool is_visit(KernelPass& pass, int64_t at) {
  const int64_t i = pass.order[at];
  if (uint64_t(i) >= uint64_t(pass.n)) pass.flaw = kNoSuchRow;
  else if (pass.label && uint64_t(pass.label[i]) >= uint64_t(pass.k)) pass.flaw = kNoSuchClass;
  return !pass.flaw;
}

// Books a mistake at pass.position, and calls add(column, factor) for each column it changes.
template <class Add>
inline void update(KernelPass& pass, int64_t i, Violation found, Add&& add) {
  const double size = pass.steps[pass.constant_step ? 0 : pass.position] * pass.factor[i];
  const auto change = [&](int64_t c, double sign) {
    const int64_t at = c * pass.n + i;
    pass.coefficients[at] += sign * size;
    pass.late[at] += double(pass.visits + pass.position) * (sign * size);
    pass.counts[at] += sign > 0 ? 1 : -1;
    add(c, sign * size);
  };
  if (pass.y) {
    change(0, pass.y[i]);
  } else {
    change(pass.label[i], 1.0);
    change(found.rival, -1.0);
  }
  pass.totals[0] += pass.weight[i] * found.amount;
  pass.totals[1] += pass.weight[i];
  int64_t* const entry = pass.log + 3 * pass.updates++;
  entry[0] = pass.position;
  entry[1] = i;
  entry[2] = found.rival;
}

// Goes on to the end, through the last allowed update, or to a mistake whose kernel row is not
// at hand.
inline void kernel_pass(KernelPass& pass) {
  while (pass.position < pass.count && pass.updates < pass.max_updates) {
    if (!is_visit(pass, pass.position)) return;
    const int64_t i = pass.order[pass.position];
    const Violation found = violation_of(pass, pass.scores + i, pass.n, i);
    if (!(found.amount < 0)) {
      if (pass.slot[i] < 0 || pass.slot[i] >= pass.capacity) return;
      if ((pass.stopped = pass.should_stop())) return;
      const double* const row = pass.kept + pass.slot[i] * pass.n;
      pass.last_used[pass.slot[i]] = pass.visits + pass.position + 1;
      update(pass, i, found, [&](int64_t c, double factor) {
        add_scaled(factor, row, pass.scores + c * pass.n, pass.n);
      });
    }
    ++pass.position;
  }
}

// Visits the rows of the block, which are the next ones in the order, against themselves. What
// a mistake changes is added to `local`, the block's own scores (k, width), at once; to those
// of all rows it is added later, by gaussian_update, in the same order and so with the same bits.
inline void gaussian_scan(KernelPass& pass, const GaussianBlock& block, double bias, double* local,
                          double* kernel, int64_t width) {
  const int64_t first = pass.position, line = (block.d + 1) * kPanel;
  for (int64_t t = 0; t < block.m; ++t) {
    if (!is_visit(pass, first + t)) return;
    for (int64_t c = 0; c < pass.k; ++c)
      local[c * width + t] = pass.scores[c * pass.n + pass.order[first + t]];
  }
  square_rows(block);
  for (int64_t p = 0; p * kPanel < width; ++p) make_panel(block, p, block.panel + p * line);
  for (int64_t t = 0; t < block.m && pass.updates < pass.max_updates; ++t, ++pass.position) {
    const int64_t i = pass.order[pass.position];
    const Violation found = violation_of(pass, local + t, width, i);
    if (found.amount < 0) continue;
    if ((pass.stopped = pass.should_stop())) return;
    const int64_t start = t / kPanel * kPanel;
    for (int64_t p = t / kPanel; p * kPanel < width; ++p) {
      Doubles values[1][kPieces];
      gaussian_tile(block, block.rows + t * block.d, block.row_squares + t,
                    block.panel + p * line, values);
      for (int v = 0; v < kPieces; ++v)
        store(kernel + p * kPanel + v * kWidth, values[0][v] + bias);
    }
    const double* const row = kernel + start;
    update(pass, i, found, [&](int64_t c, double factor) {
      add_scaled(factor, row, local + c * width + start, width - start);
    });
  }
}

// Adds what the mistakes changed, one after another, to the scores of the rows of some panels.
// The kernel rows of the mistakes stand in `kept`, or are computed from the block's rows, in
// this order, and those that have a place are stored there.
inline bool gaussian_update(const GaussianBlock& block, const KernelUpdates& updates) {
  square_rows(block);
  int64_t since = 0;
  for (int64_t p = updates.first_panel; p < updates.last_panel; ++p) {
    double fresh[kMostUpdates][kPanel];
    panel_tiles(block, p, [&](int64_t first, const auto& values) {
      for (size_t r = 0; r < sizeof values / sizeof values[0]; ++r)
        for (int v = 0; v < kPieces; ++v)
          store(fresh[first + r] + v * kWidth, values[r][v] + updates.bias);
    });
    const int64_t at = p * kPanel, left = block.n - at < kPanel ? block.n - at : kPanel;
    int64_t next = 0;
    for (int64_t u = 0; u < updates.count; ++u) {
      const bool kept = updates.ready[u];
      double* const slot = updates.kept + updates.slot[u] * block.n + at;
      const double* const row = kept ? slot : fresh[next++];
      if (!kept && updates.slot[u] >= 0)
        for (int64_t c = 0; c < left; ++c) slot[c] = row[c];
      for (int64_t e = 2 * u; e < 2 * u + 2; ++e) {
        if (updates.column[e] < 0) continue;
        double* const to = updates.scores + updates.column[e] * block.n + at;
        if (left < kPanel) {
          add_scaled(updates.factor[e], row, to, left);
          continue;
        }
        const Doubles factor = splat<Doubles>(updates.factor[e]);
        unrolled<kPieces>([&](auto v) SEPARATRIX_INLINE {
          store(to + v * kWidth, fma(factor, load(row + v * kWidth), load(to + v * kWidth)));
        });
      }
    }
    since += (block.m + 1) * kPanel;
    if (since >= kKernelStopInterval) {
      since = 0;
      if (block.should_stop()) return false;
    }
  }
  return true;
}

}  // namespace separatrix::SEPARATRIX_LEVEL
