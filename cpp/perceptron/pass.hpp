// One pass of the online perceptron: no penalty, an update after every mistaken row.
//
// It gives the same bits as the loops in online/, but faster: only mistakes change the weights, so
// rows known to be right need not be read (screening.hpp), or summed more exactly than needed to
// prove it (filter.hpp); and a few rows are read at the same weights, those after a mistake again.
// (Rosenblatt 1958.)
#pragma once
#include "perceptron/screening.hpp"
#include "perceptron/updates.hpp"
#include "perceptron/visit_queue.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kStatisticsInterval = 64;  // visits

template <class Rows, class Problem>
class PerceptronPass {
 public:
  PerceptronPass(const Rows& rows, OnlinePass& pass, Problem& problem)
      : rows_(rows), pass_(pass), problem_(problem),
        screening_(rows, problem, pass.screening, pass.v),
        queue_(pass.order, pass.count, rows.n) {}

  void run() {
    pass_.stopped = !screening_.rebuild(pass_.should_stop);
    while (pass_.updates < pass_.max_updates && !pass_.stopped && !pass_.flaw) {
      refill();
      const int64_t count = queue_.ready();
      if (count == 0) break;
      const int64_t certified = read(count);
      queue_.pop(certified);
      read_ += certified;
      if (certified < count) resolve_uncertain();
      const int64_t here = queue_.here();
      if (here - counted_ >= kStatisticsInterval) update_statistics(here);
    }
    const int64_t here = queue_.here();
    count_rows(pass_, rows_.d, here);
    update_statistics(here);
  }

 private:
  void refill() {
    if (queue_.enough()) return;
    using List = VisitQueue<typename Problem::Label>;
    const auto at_later_visit = [&](int64_t t, auto&& f) {
      if (t + kLabelsAhead < pass_.count) f(pass_.order[t + kLabelsAhead]);
    };
    const auto label = [&](int64_t i) { return problem_.label(i); };
    const auto prefetch_label = [&](int64_t i) {
      problem_.prefetch_label(i);
      prefetch_place(rows_, i);
    };
    const auto not_screened = [&](int64_t first, int64_t last, int64_t* visit) {
      return screening_.active_visits(pass_.order, first, last, visit, [&](int64_t t) {
        at_later_visit(t, prefetch_label);
        at_later_visit(t, [&](int64_t i) { screening_.prefetch_angle_margin(i); });
      });
    };
    const auto all = [&](int64_t first, int64_t last, int64_t* visit) {
      for (int64_t t = first; t < last; ++t) {
        if (pass_.order) at_later_visit(t, prefetch_label);
        visit[t - first] = t;
      }
      return last - first;
    };
    const bool valid = screening_.on() ? queue_.extend(List::kLastScan, not_screened, label)
                                       : queue_.extend(List::kFirstScan, all, label);
    if (!valid) pass_.flaw = kNoSuchRow;
  }

  // Reads rows until one is not proven to be right; returns how many were.
  int64_t read(int64_t count) {
    const int64_t* const row = queue_.rows();
    const auto* const label = queue_.labels();
    return pass_.order || screening_.on()
               ? problem_.template certified_prefix<true>(row, label, count)
               : problem_.template certified_prefix<false>(row, label, count);
  }

  // The next row may be a mistake.
  void resolve_uncertain() {
    const int64_t i = queue_.rows()[0], t = queue_.visit(0);
    const auto label = queue_.labels()[0];
    queue_.pop(1);
    ++read_;
    if (problem_.is_correct(i, label)) return;
    const double weight = weight_of(pass_, i);
    pass_.mistakes += weight;
    if (weight != 0) update(i, label, t, weight);
  }

  void update(int64_t i, typename Problem::Label label, int64_t t, double weight) {
    count_rows(pass_, rows_.d, t);
    double margin;
    const double times = problem_.update(i, label, t, weight, margin);
    count_update(pass_, i, weight, margin);
    screening_.on_update(i, times);
    if (screening_.on()) queue_.restart(t + 1);
  }

  // What happened before visit t is counted.
  void update_statistics(int64_t t) {
    const bool was_screening = screening_.on();
    screening_.on_visits(t - counted_, t - counted_ - read_);
    if (was_screening && !screening_.on()) queue_.restart(t);  // requeues rows that were left out
    watched_ += t - counted_;
    counted_ = t;
    read_ = 0;
    if (watched_ < kStopInterval) return;
    watched_ = 0;
    pass_.stopped = pass_.should_stop();
  }

  const Rows& rows_;
  OnlinePass& pass_;
  Problem& problem_;
  SafeScreening<Rows, Problem> screening_;
  VisitQueue<typename Problem::Label> queue_;
  int64_t counted_ = 0, read_ = 0, watched_ = 0;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
