// Rows that need not be read.
//
// A row that cleared the plane by the angle asin(m / (|W| |(x, 1)|)) when it was last read is
// right as long as the weights have turned by less. For k classes, W are all weights in one
// vector and the row's norm is sqrt(2) |(x, 1)|: the gap of two scores is its product with
// (e_d - e_r) x (x, 1).
//
// The weights at the begin of each epoch are kept as a snapshot, and a row's note says by which
// angle it cleared, as seen from the snapshot of the epoch in which it was read. All bounds are
// rounded to the safe side, with room for the error of the score that the plain loop would
// compute: no update is missed, and the weights have the bits of the plain loop.
#pragma once
#include "rows.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr double kShortest = 1e-20, kLongest = 1e+20;  // lengths whose squares are harmless
constexpr double kNever = 8;                           // an angle that nothing clears
constexpr int64_t kSampled = 64;       // one row in so many is looked at to see what skipping saves
constexpr double kRoundDown = 1 - 1e-6;

// Relative to |w| |x|, twice a bound on the error of a product of d values.
inline double rounding(int64_t d, double unit) { return 2 * unit * (double(d) + 16); }

class Skipping {
 public:
  // worth: the share of rows that must be skipped for the notes to pay.
  Skipping(RowMemory* memory, const double* w, double values, double norm_factor, double worth)
      : memory_(memory), w_(w), norm_factor_(norm_factor), worth_(worth) {
    if (!memory) return;
    slack_ = 2 * rounding(memory->size, 0x1p-53);
    fresh_ = int64_t(double(memory->size) / (values + 1)) + 1;
    measure();
    if (memory->visits == 0) std::memcpy(memory->round_start, w, 8 * size_t(memory->size));
  }

  bool on() const { return memory_ && memory_->skips; }

  // Whether the row is right at the weights of now, from its note alone.
  bool skip(int64_t i) const {
    RowNote& note = memory_->notes[i];
    const int64_t age = memory_->epoch - int64_t(note.epoch);
    if (note.epoch == 0 || age >= memory_->room) return false;
    const double turned = memory_->turned[note.epoch & (memory_->room - 1)];
    if (!(note.clearance > turned + since_)) return false;
    if (age >= memory_->renew_age) {  // it must not outlive its snapshot
      note.clearance = float((note.clearance - turned) * kRoundDown - slack_);
      note.epoch = uint32_t(memory_->epoch);
    }
    return true;
  }

  void prefetch_note(int64_t i) const {
    __builtin_prefetch(memory_->notes + i);
  }

  // A row that was read and found right.
  template <class Rows>
  void passed(const Rows& rows, int64_t i, double margin) {
    if (lost_) measure();
    const double angle = margin * double(inverse_norm(rows, i)) * inverse_length_ - slack_;
    memory_->notes[i].clearance = float((angle - since_) * kRoundDown - slack_);
    memory_->notes[i].epoch = uint32_t(memory_->epoch);
  }

  // While no notes are taken, a row now and then shows what they would save: whether that of
  // visit t is wanted, and what it shows.
  bool wants(int64_t t) const { return memory_ && !memory_->skips && t >= next_sample_; }
  template <class Rows>
  void sampled(const Rows& rows, int64_t i, int64_t t, double margin) {
    if (lost_) measure();
    next_sample_ = t + kSampled * fresh_;
    ++memory_->sampled;
    memory_->clear +=
        margin * double(inverse_norm(rows, i)) * inverse_length_ - slack_ > memory_->turn;
  }

  // Row i was added to the weights, so many times. Lengths and angles are computed anew when
  // that costs no more than the rows read meanwhile, and bounded by the way gone in between.
  template <class Rows>
  void moved(const Rows& rows, int64_t i, double times) {
    if (!memory_) return;
    changed_ = true;
    lost_ = !memory_->skips;  // then nobody asks for lengths but the sampled rows
    if (lost_) return;
    if (++moves_ >= fresh_) return measure();
    const double norm = (1 + 1e-5) / double(inverse_norm(rows, i));
    const double way = (times < 0 ? -times : times) * norm, turn = way / shortest_;
    since_ = turn < 0.5 ? since_ + turn * (1 + turn * turn) : kNever;  // above the arc sine
    shortest_ -= way;
    longest_ += way;
    if (!(shortest_ > kShortest && longest_ < kLongest)) return measure();
    inverse_length_ = kRoundDown / longest_;
  }

  // So many rows went by, of them so many unread.
  void visited(int64_t count, int64_t skipped) {
    if (!memory_) return;
    memory_->visits += count;
    memory_->skipped += skipped;
    memory_->skipped_ever += skipped;
    if (memory_->visits >= memory_->n) end_round();
    memory_->epoch_visits += count;
    if (memory_->skips && changed_ && memory_->epoch_visits >= memory_->epoch_rows) begin_epoch();
  }

 private:
  // 1 / norm rounded down, noted once it is known.
  template <class Rows>
  float inverse_norm(const Rows& rows, int64_t i) const {
    const float noted = memory_->notes[i].inverse_norm;
    if (noted != 0) return noted;
    const auto found =
        float(kRoundDown / (norm_factor_ * __builtin_sqrt(1 + squared_norm(rows, i))));
    if (memory_->skips) memory_->notes[i].inverse_norm = found;  // a sample leaves no trace
    return found;
  }

  int64_t slot() const { return memory_->epoch & (memory_->room - 1); }
  double* newest() const { return memory_->snapshots + slot() * memory_->size; }

  void measure() {
    moves_ = 0;
    lost_ = false;
    const double length = __builtin_sqrt(dot(w_, w_, memory_->size));
    const bool sound = length > kShortest && length < kLongest;
    shortest_ = longest_ = sound ? length : __builtin_inf();
    inverse_length_ = kRoundDown / longest_;  // 0 where there is no length: then nothing is clear
    since_ = memory_->skips && memory_->epoch ? angle(newest(), memory_->lengths[slot()]) : kNever;
  }

  // Upper bound on the angle from a snapshot to the weights, just measured.
  double angle(const double* from, double from_length) const {
    const double cosine =
        dot(from, w_, memory_->size) / (from_length * shortest_) - slack_;
    if (!(cosine > 0)) return kNever;
    return cosine < 1 ? __builtin_acos(cosine) * (1 + 1e-9) + slack_ : slack_;
  }

  // A snapshot of now, and how far the others are from it.
  void begin_epoch() {
    memory_->epoch_visits = 0;
    changed_ = false;
    measure();
    if (longest_ > kLongest) return;
    RowMemory& m = *memory_;
    ++m.epoch;
    std::memcpy(newest(), w_, 8 * size_t(m.size));
    m.lengths[slot()] = shortest_;
    const int64_t live = m.epoch < m.room ? m.epoch : m.room;
    for (int64_t e = m.epoch - live + 1; e < m.epoch; ++e) {
      const int64_t s = e & (m.room - 1);
      m.turned[s] = angle(m.snapshots + s * m.size, m.lengths[s]);
    }
    m.turned[slot()] = 0;
    since_ = slack_;
  }

  // Notes are taken while they save more reading than they cost, by what was measured.
  void end_round() {
    RowMemory& m = *memory_;
    if (m.skips) {
      if (m.settling > 0) --m.settling;
      else if (!m.always && double(m.skipped) < worth_ * double(m.visits)) {
        m.skips = false;
        m.rest = m.next_rest;
        m.next_rest *= 2;
      }
    } else if (m.rest > 0) {
      --m.rest;
    } else if (m.always || double(m.clear) > 1.25 * worth_ * double(m.sampled)) {
      m.skips = true;
      m.settling = 1;
      for (int64_t i = 0; i < m.n; ++i) m.notes[i].epoch = 0;
      m.epoch = 0;
      begin_epoch();
    }
    if (!m.skips) {
      measure();
      const double length = __builtin_sqrt(dot(m.round_start, m.round_start, m.size));
      m.turn = length > kShortest ? angle(m.round_start, length) : kNever;
    }
    std::memcpy(m.round_start, w_, 8 * size_t(m.size));
    m.visits = m.skipped = m.sampled = m.clear = 0;
  }

  RowMemory* memory_;
  const double* w_;
  double norm_factor_, worth_;
  double slack_ = 0;
  double shortest_ = 0, longest_ = 0, inverse_length_ = 0;  // bounds on |W|
  double since_ = kNever;  // angle from the newest snapshot to the weights
  int64_t moves_ = 0, fresh_ = 1;  // updates since the last measurement, and most of them
  int64_t next_sample_ = 0;
  bool changed_ = true, lost_ = false;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
