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

template <class Rows, class Problem>
inline void perceptron(const Rows& rows, OnlinePass& pass, Problem problem) {
  constexpr int kFlight = Problem::kFlight;
  const int64_t stride = rows.d + 1;
  Skipping skipping(pass.memory, pass.v, problem.values(), Problem::kNormFactor);
  Screen<Rows, Problem> screen(rows, pass);
  const double error = rounding(rows.d, 0x1p-53);
  auto at = [&](int64_t t) { return pass.order ? pass.order[t] : t; };
  auto unread = [&](int64_t i) { return skipping.on() && skipping.safe(i); };
  auto ahead = [&](int64_t t) {
    if (!pass.order && !skipping.on()) return;  // the hardware sees what comes
    if (pass.order && t + 2 * kAhead < pass.count) {
      problem.prefetch_label(at(t + 2 * kAhead));
      skipping.prefetch_note(at(t + 2 * kAhead));
    }
    if (t + kAhead < pass.count && !unread(at(t + kAhead))) prefetch_row<2>(rows, at(t + kAhead));
    if (t + kNear < pass.count && !unread(at(t + kNear))) prefetch_row<3>(rows, at(t + kNear));
  };
  int64_t watched = 0;
  int64_t& done = pass.position;
  while (done < pass.count && pass.updates < pass.max_updates) {
    // The next rows that must be read exactly.
    int64_t held[kFlight], when[kFlight], skipped = 0, t = done;
    int flight = 0;
    const int64_t last = pass.count - done < kPatience ? pass.count : done + kPatience;
    for (; t < last && flight < kFlight; ++t) {
      const int64_t i = at(t);
      ahead(t);
      if (unread(i)) {
        skipping.renew(i);
        ++skipped;
        continue;
      }
      held[flight] = i;
      when[flight++] = t;
      if (!screen.kUsed || skipping.inverse_norm(i) == 0) continue;
      --flight;
      const double margin = screen.margin(i);
      if (screen.certain(margin, skipping.inverse_norm(i), skipping.length())) {
        skipping.passed(i, margin, screen.error);
      } else {  // a mistake, most likely: what comes after it would be read in vain
        ++flight;
        ++t;
        break;
      }
    }
    double margin[kFlight];
    if (flight) problem.read(held, flight, margin);
    int wrong = 0;
    for (; wrong < flight && margin[wrong] > 0; ++wrong) {
      if (!pass.memory) continue;
      if (skipping.inverse_norm(held[wrong]) == 0) skipping.learn_norm(rows, held[wrong]);
      skipping.passed(held[wrong], margin[wrong], error);
    }
    const int64_t right = (wrong < flight ? when[wrong] : t) - done;
    count_rows(pass, stride, right);
    if (wrong < flight) {
      const int64_t i = held[wrong];
      const double weight = pass.weight ? pass.weight[i] : 1.0;
      const double step = pass.steps[pass.constant_step ? 0 : when[wrong]];
      pass.mistakes += weight;
      if (pass.memory && skipping.inverse_norm(i) == 0) skipping.learn_norm(rows, i);
      if (weight != 0) {
        pass.loss_sum += weight * -margin[wrong];
        skipping.moved(i, problem.update(i, step, weight));
        if (pass.log) pass.log[pass.updates] = i;
        ++pass.updates;
        screen.moved();
      }
      count_rows(pass, stride, 1);
    }
    const int64_t visited = right + (wrong < flight);
    done += visited;
    skipping.visited(visited, skipped);
    watched += visited;
    if (watched >= kPatience) {
      watched = 0;
      if ((pass.stopped = pass.should_stop())) break;
    }
  }
}

}  // namespace separatrix::SEPARATRIX_LEVEL
