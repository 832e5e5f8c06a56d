// Rows in random order that another thread reads shortly before the loop does: then they come from
// a nearer cache.
#pragma once
#include "threads/helper_thread.hpp"
#include "rows/prefetch.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kTouched = 64;         // visits in a piece
constexpr double kLeadBytes = 512 << 10;  // read ahead, about; no more than a cache of its own has

template <class Value>
inline void touch(const Value* from, int64_t count) {
  const char* at = reinterpret_cast<const char*>(from);
  const char* const end = reinterpret_cast<const char*>(from + count);
  unsigned char all = 0;
  for (; at < end; at += kLine) all |= static_cast<unsigned char>(*at);
  asm volatile("" : : "r"(all));  // read they must be
}
template <class Value>
inline void touch_row(const DenseRows<Value>& rows, int64_t i) {
  touch(row(rows, i), rows.d);
}
template <class Value, class Index>
inline void touch_row(const CsrRows<Value, Index>& rows, int64_t i) {
  const Index from = rows.indptr[i], count = rows.indptr[i + 1] - from;
  touch(rows.data + from, count);
  touch(rows.indices + from, count);
}

template <class Rows>
class Touching {
 public:
  Touching(const Rows& rows, const OnlinePass& pass)
      : rows_(rows), pass_(pass),
        lead_(2 * kTouched + int64_t(kLeadBytes / (8 * row_values(rows) + 64))) {}
  ~Touching() { end(); }
  Touching(const Touching&) = delete;
  Touching& operator=(const Touching&) = delete;

  void begin() {
    if (!pass_.beside || !pass_.order) return;
    on_ = true;
    pass_.beside->follow(&Touching::follow, this);
    come(0);
  }
  // The loop has come to visit t.
  void come(int64_t t) {
    if (!on_) return;
    __atomic_store_n(&here_, t, __ATOMIC_RELAXED);
    for (; given_ < t + lead_ && given_ < pass_.count; given_ += kTouched) pass_.beside->give();
  }
  void end() {
    if (!on_) return;
    __atomic_store_n(&here_, pass_.count, __ATOMIC_RELAXED);
    pass_.beside->wait(0);
    on_ = false;
  }

 private:
  // What the loop has come to meanwhile is left to it.
  static void follow(void* of, int64_t number) {
    const auto& self = *static_cast<const Touching*>(of);
    const int64_t first = number * kTouched, last = first + kTouched;
    const int64_t end = last < self.pass_.count ? last : self.pass_.count;
    for (int64_t t = first; t < end; ++t) prefetch_place(self.rows_, self.pass_.order[t]);
    for (int64_t t = first; t < end; ++t)
      if (t > __atomic_load_n(&self.here_, __ATOMIC_RELAXED))
        touch_row(self.rows_, self.pass_.order[t]);
  }

  const Rows& rows_;
  const OnlinePass& pass_;
  const int64_t lead_;  // visits
  bool on_ = false;
  int64_t here_ = 0, given_ = 0;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
