// The rows that a pass will read next.
#pragma once
#include "rows/prefetch.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// The next visits whose rows are not known to be right at the weights of now, with their labels:
// of many rows at a time, as each may have to be waited for.
template <class Label>
class VisitQueue {
 public:
  static constexpr int64_t kFirstScan = 32, kLastScan = 512;  // visits looked at together

  VisitQueue(const int64_t* order, int64_t count, int64_t n)
      : order_(order), count_(count), n_(n) {}

  // Looks at visits until there are kFarAhead more than the few to be read, or none is left;
  // active_visits(first, last, to) lists those of visits first to last whose rows are not known to
  // be right, and returns how many; label(i) is a row's label. At first it is asked for kFirstScan
  // visits at a time, in the end for `most`. False, and the last visits are those before, if one is
  // not of a row that exists.
  template <class ActiveVisits, class LabelOf>
  bool extend(int64_t most, ActiveVisits&& active_visits, LabelOf&& label) {
    for (int64_t p = begin_; p < end_; ++p) {
      row_[p - begin_] = row_[p];
      visit_[p - begin_] = visit_[p];
      label_[p - begin_] = label_[p];
    }
    end_ -= begin_;
    begin_ = 0;
    bool valid = true;
    while (valid && !enough() && scanned_ < count_) {
      const int64_t last = count_ - scanned_ < chunk_ ? count_ : scanned_ + chunk_;
      const int64_t end = end_ + active_visits(scanned_, last, visit_ + end_);
      scanned_ = last;
      for (; end_ < end; ++end_) {
        const int64_t i = at(visit_[end_]);
        if (!(valid = uint64_t(i) < uint64_t(n_))) {
          scanned_ = count_ = visit_[end_];
          break;
        }
        row_[end_] = i;
        label_[end_] = label(i);
      }
      if (chunk_ < most) chunk_ *= 2;
    }
    const int64_t last = end_ > 0 ? row_[end_ - 1] : 0;
    for (int64_t p = 0; p < kFarAhead; ++p) row_[end_ + p] = last;  // only fetched
    return valid;
  }
  // There are kFarAhead more than one to be read, or the first was found long ago.
  bool enough() const {
    return end_ - begin_ > kFarAhead || (begin_ < end_ && scanned_ - visit_[begin_] >= kLongAgo);
  }
  // How many of them may be read now: if possible so that kFarAhead more are known.
  int64_t ready() const {
    const int64_t count = end_ - begin_;
    return count > kFarAhead ? count - kFarAhead : count;
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
    chunk_ = kFirstScan;
  }

 private:
  static constexpr int64_t kLongAgo = 256;
  int64_t at(int64_t t) const { return order_ ? order_[t] : t; }
  int64_t row_[2 * kFarAhead + kLastScan], visit_[kFarAhead + kLastScan];
  Label label_[kFarAhead + kLastScan];
  int64_t begin_ = 0, end_ = 0, scanned_ = 0, chunk_ = kFirstScan;
  const int64_t* order_;
  int64_t count_, n_;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
