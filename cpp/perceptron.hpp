// One pass of the online perceptron: no penalty, an update after every mistaken row.
//
// It gives the bits of the loops in online.hpp and joint.hpp, sooner: only mistaken rows change
// anything, so a row that is known to be right need not be read, or not exactly; and a few rows
// are read at the same weights, those after a mistake again.
#pragma once
#include "losses.hpp"
#include "skip.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kPatience = 512;  // rows between two looks at should_stop

inline bool plain_steps(const OnlinePass& pass) {
  return pass.batch == 1 && pass.l2 == 0 && *pass.scale == 1;
}

template <class Rows>
class TwoClasses {
 public:
  static constexpr int kFlight = 2;  // rows read at a time
  static constexpr double kNormFactor = 1;
  TwoClasses(const Rows& rows, OnlinePass& pass) : rows_(rows), pass_(pass) {}

  double values() const { return row_values(rows_); }
  void prefetch_label(int64_t i) const { __builtin_prefetch(pass_.y + i); }

  void read(const int64_t (&i)[kFlight], int held, double (&margin)[kFlight]) {
    if (held == 2) dot_pair(rows_, i, pass_.v, margin);
    else margin[0] = dot(rows_, i[0], pass_.v);
    for (int b = 0; b < held; ++b) margin[b] = pass_.y[i[b]] * (margin[b] + pass_.v[rows_.d]);
  }

  // Returns how many times the row was added.
  double update(int64_t i, double step, double weight) {
    const double change = -step * pass_.weight_scale * (weight * -1.0 * pass_.y[i]);
    add(rows_, i, change, pass_.v);
    if (pass_.sum) add(rows_, i, *pass_.area * change, pass_.lag);
    if (pass_.intercept) pass_.v[rows_.d] += change;
    return change;
  }

 private:
  const Rows& rows_;
  OnlinePass& pass_;
};

// Margins of rows in float32 where the sign is then certain: half the bytes per weight, twice the
// numbers per instruction and no conversions. Only rows stored so.
template <class Rows, class Problem>
struct Screen {
  Screen(const Rows&, OnlinePass&) {}
  static constexpr bool kUsed = false;
  static constexpr double error = 0;
  double margin(int64_t) const { return 0; }
  bool certain(double, float, double) const { return false; }
  void moved() {}
};

template <>
struct Screen<DenseRows<float>, TwoClasses<DenseRows<float>>> {
  Screen(const DenseRows<float>& rows, OnlinePass& pass)
      : rows(rows), pass(pass), error(rounding(rows.d / 16, 0x1p-24)) {
    moved();
  }
  static constexpr bool kUsed = true;

  double margin(int64_t i) const {
    return pass.y[i] * (dot_single(row(rows, i), pass.memory->single, rows.d) + pass.v[rows.d]);
  }
  // The norm is bounded too, so that no product or sum overflows.
  bool certain(double margin, float inverse_norm, double length) const {
    return inverse_norm > 1e-17f && margin * double(inverse_norm) > error * length;
  }
  void moved() {
    if (!pass.memory) return;
    for (int64_t j = 0; j < rows.d; ++j) pass.memory->single[j] = float(pass.v[j]);
  }

  const DenseRows<float>& rows;
  OnlinePass& pass;
  double error;  // relative to |w| |x|
};

// The running sum takes in the weights after so many rows.
inline void count_rows(OnlinePass& pass, int64_t stride, int64_t count) {
  if (!pass.sum) return;
  for (int64_t r = 0; r < count; ++r) {
    *pass.area += 1;
    for (int64_t c = 0; c < pass.k; ++c)
      pass.sum[(c + 1) * stride - 1] += pass.v[(c + 1) * stride - 1];
  }
}

// The next rows to visit, those left out that are right at the weights of now.
struct Window {
  static constexpr int kRows = 64;
  int64_t row[kRows], when[kRows];
  int64_t count, end;

  template <class At>
  void fill(int64_t from, int64_t last, const Skipping& skipping, At&& at) {
    end = last - from < kRows ? last : from + kRows;
    count = 0;
    for (int64_t t = from; t < end; ++t) {
      const int64_t i = at(t);
      row[count] = i;
      when[count] = t;
      count += !(skipping.on() && skipping.skip(i));
    }
  }
};

template <class Rows, class Problem>
inline void perceptron(const Rows& rows, OnlinePass& pass, Problem problem) {
  constexpr int kFlight = Problem::kFlight;
  const int64_t stride = rows.d + 1;
  Skipping skipping(pass.memory, pass.v, problem.values(), Problem::kNormFactor);
  Screen<Rows, Problem> screen(rows, pass);
  const double error = rounding(rows.d, 0x1p-53);
  auto at = [&](int64_t t) { return pass.order ? pass.order[t] : t; };
  int64_t watched = 0;
  int64_t& done = pass.position;
  Window window;
  auto ahead = [&](int64_t q) {
    const int64_t t = window.when[q];
    if (skipping.on()) {
      if (q + kNear < window.count) prefetch_row<3>(rows, window.row[q + kNear]);
    } else if (pass.order) {  // else the hardware sees what comes
      prefetch_ahead(rows, t, pass.count, at);
    }
    if (pass.order && t + Window::kRows < pass.count) {
      problem.prefetch_label(at(t + Window::kRows));
      skipping.prefetch_note(at(t + Window::kRows));
    }
  };
  while (done < pass.count && pass.updates < pass.max_updates && !pass.stopped) {
    window.fill(done, pass.count, skipping, at);
    const int64_t begin = done;
    int64_t q = 0, asked = 0;
    if (skipping.on()) {  // ask for what will be read in the window after this one
      const int64_t left = pass.count - window.end, far = left < Window::kRows ? left : Window::kRows;
      for (int64_t t = window.end; t < window.end + far; ++t)
        if (!skipping.skip(at(t))) prefetch_row<2>(rows, at(t));
    }
    bool stale = false;  // the weights moved, and rows left out may no longer be right
    while (q < window.count && !stale && pass.updates < pass.max_updates) {
      // A few rows at the same weights; in float32 where that is enough.
      int64_t held[kFlight];
      int flight = 0;
      for (; q + flight < window.count && flight < kFlight; ++flight) {
        if (q + flight == asked) ahead(asked++);
        held[flight] = window.row[q + flight];
      }
      if (screen.kUsed && skipping.inverse_norm(held[0]) != 0) {
        const double margin = screen.margin(held[0]);
        if (screen.certain(margin, skipping.inverse_norm(held[0]), skipping.length())) {
          skipping.passed(held[0], margin, screen.error);
          ++q;
          continue;
        }
        flight = 1;  // a mistake, most likely: what comes after it would be read in vain
      }
      double margin[kFlight];
      problem.read(held, flight, margin);
      for (int b = 0; b < flight; ++b, ++q) {
        const int64_t i = held[b];
        if (pass.memory && skipping.inverse_norm(i) == 0) skipping.learn_norm(rows, i);
        if (margin[b] > 0) {
          if (pass.memory) skipping.passed(i, margin[b], error);
          continue;
        }
        const double weight = pass.weight ? pass.weight[i] : 1.0;
        pass.mistakes += weight;
        if (weight == 0) continue;
        count_rows(pass, stride, window.when[q] - done);
        done = window.when[q];
        pass.loss_sum += weight * -margin[b];
        skipping.moved(i, problem.update(i, pass.steps[pass.constant_step ? 0 : done], weight));
        screen.moved();
        if (pass.log) pass.log[pass.updates] = i;
        ++pass.updates;
        ++q;
        stale = skipping.on();
        break;  // the rows after it are read again
      }
    }
    const bool whole = q == window.count && !stale && pass.updates < pass.max_updates;
    const int64_t end = whole ? window.end : window.when[q - 1] + 1;
    count_rows(pass, stride, end - done);
    done = end;
    skipping.visited(end - begin, end - begin - q);
    watched += end - begin;
    if (watched >= kPatience) {
      watched = 0;
      pass.stopped = pass.should_stop();
    }
  }
}

}  // namespace separatrix::SEPARATRIX_LEVEL
