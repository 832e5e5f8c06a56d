// One pass of the online perceptron: no penalty, an update after every mistaken row.
//
// It gives the bits of the loops in online/sgd.hpp and losses/multiclass.hpp, sooner: only mistaken rows change
// anything, so a row that is known to be right need not be read, nor summed more exactly than to
// know it; and a few rows are read at the same weights, those after a mistake again.
#pragma once
#include "perceptron/speculation.hpp"
#include "losses/margin.hpp"
#include "perceptron/binary_filter.hpp"
#include "perceptron/screening.hpp"
#include "perceptron/cache_warming.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr double kValuesOfNote = 4;  // what a note costs, in values read
constexpr int64_t kBetween = 64;    // visits between two entries into the books
constexpr int64_t kOften = 16;      // one in so many rows mistaken is often
constexpr int kTies = 2;            // rows between two entries that wait for the exact weights: many

inline bool plain_steps(const OnlinePass& pass) {
  return pass.batch == 1 && pass.l2 == 0 && *pass.scale == 1;
}

template <class Rows>
class TwoClasses {
 public:
  static constexpr double kNormFactor = 1;
  using Runner = Forerun<Rows>;
  TwoClasses(const Rows& rows, OnlinePass& pass)
      : rows_(rows), pass_(pass), margins_(rows, pass.v) {
    if (!pass.memory || pass.memory->signs_known) return;
    for (int64_t i = 0; i < rows.n; ++i) pass.memory->sign[i] = pass.y[i] < 0 ? -1 : 1;
    pass.memory->signs_known = true;
  }

  double values() const { return row_values(rows_); }
  // Rows in order stream in so fast that to pick a few of them takes as long, unless most are
  // left out; rows in random order cost a wait each.
  double worth() const { return pass_.order ? 0.1 + kValuesOfNote / (values() + 1) : 0.5; }
  using Label = double;
  Label label(int64_t i) const { return sign_of(pass_, i); }
  void prefetch_label(int64_t i) const { prefetch_sign(pass_, i); }

  // Reads the rows of a list, two places further those to be read soon, until one is not proven
  // to be right; returns its place.
  template <bool kFetches>
  int64_t proven(const int64_t* row, const double* y, int64_t count) {
    return margins_.template proven<kFetches>(row, y, count);
  }
  // Whether that row is right after all.
  bool right(int64_t i, double y) { return margins_.right(i, y); }

  // The weights have changed by other means.
  void renew() { margins_.renew(); }

  // Margins at any weights, or less, and |x|^2.
  class Seen {
   public:
    Seen(TwoClasses& problem, const double* w)
        : products_(problem.rows_, w), y_(problem.pass_.y), bias_(w[problem.rows_.d]) {}
    double margin(int64_t i, double& square) const {
      return products_.least(i, y_[i], square) + y_[i] * bias_;
    }

   private:
    Products<Rows> products_;
    const double* y_;
    double bias_;
  };

  // Returns how many times the row was added.
  double update(int64_t i, double y, int64_t visit, double weight, double& margin) {
    const double change = change_of(pass_, visit, weight, y);
    margin = margins_.update(i, y, change, pass_.v);
    if (pass_.sum) add(rows_, i, *pass_.area * change, pass_.lag);
    if (pass_.intercept) pass_.v[rows_.d] += change;
    return change;
  }

 private:
  const Rows& rows_;
  OnlinePass& pass_;
  Margins<Rows> margins_;
};

// The next visits whose rows are not known to be right at the weights of now, with their labels:
// of many rows at a time, as each may have to be waited for.
template <class Label>
class Coming {
 public:
  static constexpr int64_t kFew = 32, kMany = 512;  // visits looked at together

  Coming(const int64_t* order, int64_t count) : order_(order), count_(count) {}

  // Looks at visits until there are kAhead more than the few to be read, or none is left;
  // unknown(first, last, to) lists those of visits first to last whose rows are not known to be
  // right, and returns how many; label(i) is a row's label. At first it is asked for kFew visits
  // at a time, in the end for `most`.
  template <class Unknown, class LabelOf>
  void extend(int64_t most, Unknown&& unknown, LabelOf&& label) {
    for (int64_t p = begin_; p < end_; ++p) {
      row_[p - begin_] = row_[p];
      visit_[p - begin_] = visit_[p];
      label_[p - begin_] = label_[p];
    }
    end_ -= begin_;
    begin_ = 0;
    while (!enough() && scanned_ < count_) {
      const int64_t last = count_ - scanned_ < chunk_ ? count_ : scanned_ + chunk_;
      const int64_t end = end_ + unknown(scanned_, last, visit_ + end_);
      for (; end_ < end; ++end_) {
        row_[end_] = at(visit_[end_]);
        label_[end_] = label(row_[end_]);
      }
      scanned_ = last;
      if (chunk_ < most) chunk_ *= 2;
    }
    for (int64_t p = 0; p < kAhead; ++p) row_[end_ + p] = at(count_ - 1);  // only fetched
  }
  // There are kAhead more than one to be read, or the first was found long ago.
  bool enough() const {
    return end_ - begin_ > kAhead || (begin_ < end_ && scanned_ - visit_[begin_] >= kFar);
  }
  // How many of them may be read now: if possible so that kAhead more are known.
  int64_t ready() const {
    const int64_t count = end_ - begin_;
    return count > kAhead ? count - kAhead : count;
  }
  const int64_t* rows() const { return row_ + begin_; }
  const Label* labels() const { return label_ + begin_; }
  int64_t visit(int64_t p) const { return visit_[begin_ + p]; }
  void pop(int64_t count) { begin_ += count; }
  // All visits before this one are behind us, or known to be right.
  int64_t here() const { return begin_ < end_ ? visit_[begin_] : scanned_; }
  // What was left out must be looked at again.
  void restart(int64_t from) {
    begin_ = end_ = 0;
    scanned_ = from;
    chunk_ = kFew;
  }

 private:
  static constexpr int64_t kFar = 256;
  int64_t at(int64_t t) const { return order_ ? order_[t] : t; }
  int64_t row_[2 * kAhead + kMany], visit_[kAhead + kMany];
  Label label_[kAhead + kMany];
  int64_t begin_ = 0, end_ = 0, scanned_ = 0, chunk_ = kFew;
  const int64_t* order_;
  int64_t count_;
};

template <class Rows, class Problem>
class Rosenblatt {
 public:
  Rosenblatt(const Rows& rows, OnlinePass& pass, Problem& problem)
      : rows_(rows), pass_(pass), problem_(problem),
        skipping_(rows, problem, pass.memory, pass.v), coming_(pass.order, pass.count),
        runner_(rows, pass), touching_(rows, pass) {}

  void run() {
    pass_.stopped = !skipping_.survey(pass_.should_stop);
    if (!Problem::Runner::kRuns && !skipping_.on()) touching_.begin();
    while (moves_ < pass_.max_updates && !pass_.stopped) {
      if (!run_ahead()) {
        look_ahead();
        const int64_t count = coming_.ready();
        if (count == 0) break;
        const int64_t proven = read(count);
        coming_.pop(proven);
        read_ += proven;
        if (proven < count) doubt();
      }
      const int64_t here = coming_.here();
      if (here - told_ >= kBetween) tell(here);
    }
    fall_back();
    touching_.end();
    const int64_t here = coming_.here();
    count_rows(pass_, rows_.d, here);
    tell(here);
  }

 private:
  void look_ahead() {
    if (coming_.enough()) return;
    using List = Coming<typename Problem::Label>;
    const auto soon = [&](int64_t t, auto&& ask) {
      if (t + kSoon < pass_.count) ask(pass_.order[t + kSoon]);
    };
    const auto label = [&](int64_t i) { return problem_.label(i); };
    const auto prefetch_label = [&](int64_t i) {
      problem_.prefetch_label(i);
      prefetch_place(rows_, i);
    };
    const auto not_skipped = [&](int64_t first, int64_t last, int64_t* visit) {
      return skipping_.unknown(pass_.order, first, last, visit, [&](int64_t t) {
        soon(t, prefetch_label);
        soon(t, [&](int64_t i) { skipping_.prefetch_note(i); });
      });
    };
    const auto all = [&](int64_t first, int64_t last, int64_t* visit) {
      for (int64_t t = first; t < last; ++t) {
        if (pass_.order) soon(t, prefetch_label);
        visit[t - first] = t;
      }
      return last - first;
    };
    if (skipping_.on()) coming_.extend(List::kMany, not_skipped, label);
    else coming_.extend(List::kFew, all, label);
  }

  // Reads rows until one is not proven to be right; returns how many were.
  int64_t read(int64_t count) {
    const int64_t* const row = coming_.rows();
    const auto* const label = coming_.labels();
    return pass_.order || skipping_.on() ? problem_.template proven<true>(row, label, count)
                                         : problem_.template proven<false>(row, label, count);
  }

  // Where mistakes are frequent, the weights follow later. False if the next rows are to be read
  // otherwise.
  bool run_ahead() {
    if constexpr (Problem::Runner::kRuns) {
      const int64_t t = coming_.here();
      if (often_ && !skipping_.on() && t + kPiece + kAhead <= pass_.count &&
          pass_.max_updates - moves_ >= kPiece) {
        if (!runner_.on()) runner_.begin();
        const int64_t decided = runner_.run(t, moves_);
        coming_.restart(t + decided);
        read_ += decided;
        if (!runner_.unclear()) return true;
        if (++unclear_ == kTies) often_ = false;
      }
    }
    fall_back();
    return false;
  }

  void fall_back() {
    if constexpr (Problem::Runner::kRuns) {
      if (!runner_.on()) return;
      runner_.end();
      problem_.renew();
    }
  }

  // The next row may be a mistake.
  void doubt() {
    const int64_t i = coming_.rows()[0], t = coming_.visit(0);
    const auto label = coming_.labels()[0];
    coming_.pop(1);
    ++read_;
    if (problem_.right(i, label)) return;
    const double weight = weight_of(pass_, i);
    pass_.mistakes += weight;
    if (weight != 0) update(i, label, t, weight);
  }

  void update(int64_t i, typename Problem::Label label, int64_t t, double weight) {
    count_rows(pass_, rows_.d, t);
    double margin;
    const double times = problem_.update(i, label, t, weight, margin);
    count_update(pass_, i, weight, margin);
    ++moves_;
    skipping_.moved(i, times);
    if (skipping_.on()) coming_.restart(t + 1);
  }

  // What happened before visit t goes into the books.
  void tell(int64_t t) {
    const bool left_out = skipping_.on();
    if constexpr (Problem::Runner::kRuns)
      if (skipping_.looks(t - told_)) runner_.catch_up();
    often_ = kOften * (moves_ - told_moves_) >= t - told_ && unclear_ < kTies;
    unclear_ = 0;
    told_moves_ = moves_;
    skipping_.visited(t - told_, t - told_ - read_);
    if (left_out && !skipping_.on()) coming_.restart(t);  // from now on nobody looks again
    touching_.come(t);
    watched_ += t - told_;
    told_ = t;
    read_ = 0;
    if (watched_ < kPatience) return;
    watched_ = 0;
    pass_.stopped = pass_.should_stop();
  }

  const Rows& rows_;
  OnlinePass& pass_;
  Problem& problem_;
  Skipping<Rows, Problem> skipping_;
  Coming<typename Problem::Label> coming_;
  typename Problem::Runner runner_;
  Touching<Rows> touching_;
  bool often_ = false;                  // mistakes were frequent of late
  int unclear_ = 0;                     // rows that had to wait for the exact weights
  int64_t moves_ = 0, told_moves_ = 0;  // rows that change the weights, sooner or later
  int64_t told_ = 0, read_ = 0, watched_ = 0;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
