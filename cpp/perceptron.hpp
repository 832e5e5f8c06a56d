// One pass of the online perceptron: no penalty, an update after every mistaken row.
//
// It gives the bits of the loops in online.hpp and joint.hpp, sooner: only mistaken rows change
// anything, so a row that is known to be right need not be read; and a few rows are read at the
// same weights, those after a mistake again.
#pragma once
#include "losses.hpp"
#include "skip.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr double kValuesOfNote = 12;  // what a note costs, in values read
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
  // Rows in order stream in so fast that to pick a few of them takes as long, unless most are
  // left out; rows in random order cost a wait each.
  double worth() const { return pass_.order ? 0.1 + kValuesOfNote / (values() + 1) : 0.6; }
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
  Skipping skipping(pass.memory, pass.v, problem.values(), Problem::kNormFactor,
                    problem.worth());
  auto at = [&](int64_t t) { return pass.order ? pass.order[t] : t; };
  int64_t watched = 0;
  int64_t& done = pass.position;
  Window window;
  auto ahead = [&](int64_t q) {
    const int64_t t = window.when[q];
    if (!pass.order) return;  // the hardware sees what comes
    if (!skipping.on()) prefetch_ahead(rows, t, pass.count, at);
    if (t + Window::kRows >= pass.count) return;
    problem.prefetch_label(at(t + Window::kRows));
    if (skipping.on()) skipping.prefetch_note(at(t + Window::kRows));
  };
  while (done < pass.count && pass.updates < pass.max_updates && !pass.stopped) {
    window.fill(done, pass.count, skipping, at);
    const int64_t begin = done;
    int64_t q = 0, asked = 0;
    if (skipping.on()) {  // ask for what will be read in the window after this one
      const int64_t left = pass.count - window.end;
      const int64_t far = left < Window::kRows ? left : Window::kRows;
      for (int64_t t = window.end; t < window.end + far; ++t)
        if (!skipping.skip(at(t))) prefetch_row<3>(rows, at(t));
    }
    bool stale = false;  // the weights moved, and rows left out may no longer be right
    while (q < window.count && !stale && pass.updates < pass.max_updates) {
      // A few rows at the same weights.
      int64_t held[kFlight];
      int flight = 0;
      for (; q + flight < window.count && flight < kFlight; ++flight) {
        if (q + flight == asked) ahead(asked++);
        held[flight] = window.row[q + flight];
      }
      double margin[kFlight];
      problem.read(held, flight, margin);
      for (int b = 0; b < flight; ++b, ++q) {
        const int64_t i = held[b];
        if (margin[b] > 0) {
          if (pass.memory) skipping.passed(rows, i, margin[b]);
          continue;
        }
        const double weight = pass.weight ? pass.weight[i] : 1.0;
        pass.mistakes += weight;
        if (weight == 0) continue;
        count_rows(pass, stride, window.when[q] - done);
        done = window.when[q];
        pass.loss_sum += weight * -margin[b];
        const double times = problem.update(i, pass.steps[pass.constant_step ? 0 : done], weight);
        skipping.moved(rows, i, times);
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
