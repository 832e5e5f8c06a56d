// One pass of the online perceptron: no penalty, an update after every mistaken row.
//
// It gives the bits of the loops in online.hpp and joint.hpp, sooner: only mistaken rows change
// anything, so a row that is known to be right need not be read, nor summed more exactly than to
// know it; and a few rows are read at the same weights, those after a mistake again.
#pragma once
#include "losses.hpp"
#include "sketch.hpp"
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
  static constexpr int kFlight = Margins<Rows>::kFlight;
  static constexpr double kNormFactor = 1;
  TwoClasses(const Rows& rows, OnlinePass& pass)
      : rows_(rows), pass_(pass), margins_(rows, pass.v) {}

  double values() const { return row_values(rows_); }
  // Rows in order stream in so fast that to pick a few of them takes as long, unless most are
  // left out; rows in random order cost a wait each.
  double worth() const { return pass_.order ? 0.1 + kValuesOfNote / (values() + 1) : 0.6; }
  void prefetch_label(int64_t i) const { __builtin_prefetch(pass_.y + i); }

  void read(const int64_t (&i)[kFlight], const int64_t (&near)[kFlight],
            const int64_t (&far)[kFlight], double (&bound)[kFlight]) {
    margins_.read(i, near, far, pass_.y, bound);
  }
  bool right(int b, int64_t i) { return margins_.right(b, i, pass_.y); }

  // Returns how many times the row was added.
  double update(int b, int64_t i, double step, double weight, double& margin) {
    const double change = -step * pass_.weight_scale * (weight * -1.0 * pass_.y[i]);
    margin = margins_.update(b, i, pass_.y, change, pass_.v);
    if (pass_.sum) add(rows_, i, *pass_.area * change, pass_.lag);
    if (pass_.intercept) pass_.v[rows_.d] += change;
    return change;
  }

 private:
  const Rows& rows_;
  OnlinePass& pass_;
  Margins<Rows> margins_;
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
  int64_t row[kRows + kAhead], when[kRows];  // rows after the last are only fetched
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
    for (int64_t b = 0; b < kAhead; ++b)
      row[count + b] = at(end + b < last ? end + b : last - 1);
  }
};

template <class Rows, class Problem>
inline void perceptron(const Rows& rows, OnlinePass& pass, Problem& problem) {
  constexpr int kFlight = Problem::kFlight;
  const int64_t stride = rows.d + 1;
  Skipping skipping(pass.memory, pass.v, problem.values(), Problem::kNormFactor,
                    problem.worth());
  auto at = [&](int64_t t) { return pass.order ? pass.order[t] : t; };
  int64_t watched = 0;
  int64_t& done = pass.position;
  Window window;
  auto ask = [&](int64_t t) {  // for what is known of a row in the next window
    if (t >= pass.count) return;
    problem.prefetch_label(at(t));
    if (skipping.on()) skipping.prefetch_note(at(t));
  };
  while (done < pass.count && pass.updates < pass.max_updates && !pass.stopped) {
    window.fill(done, pass.count, skipping, at);
    const int64_t begin = done;
    int64_t q = 0;
    if (skipping.on()) {  // ask for what will be read in the window after this one
      const int64_t left = pass.count - window.end;
      const int64_t far = left < Window::kRows ? left : Window::kRows;
      for (int64_t t = window.end; t < window.end + far; ++t)
        if (!skipping.skip(at(t))) prefetch_row<3>(rows, at(t));
    }
    bool stale = false;  // the weights moved, and rows left out may no longer be right
    while (q < window.count && !stale && pass.updates < pass.max_updates) {
      // A few rows at the same weights.
      int64_t held[kFlight], near[kFlight], far[kFlight];
      const int flight = window.count - q < kFlight ? int(window.count - q) : kFlight;
      for (int b = 0; b < kFlight; ++b) {
        const int64_t p = b < flight ? q + b : q;
        held[b] = window.row[p];
        near[b] = window.row[p + kNear];
        far[b] = window.row[p + (pass.order ? kAhead : 0)];
        if (pass.order) ask(window.when[p] + Window::kRows);
      }
      double bound[kFlight];
      problem.read(held, near, far, bound);
      for (int b = 0; b < flight; ++b, ++q) {
        const int64_t i = held[b];
        if (bound[b] > 0 || problem.right(b, i)) {
          if (pass.memory) skipping.passed(rows, i, bound[b]);
          continue;
        }
        const double weight = pass.weight ? pass.weight[i] : 1.0;
        pass.mistakes += weight;
        if (weight == 0) continue;
        count_rows(pass, stride, window.when[q] - done);
        done = window.when[q];
        double margin;
        const double times =
            problem.update(b, i, pass.steps[pass.constant_step ? 0 : done], weight, margin);
        pass.loss_sum += weight * -margin;
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
