// Cache warming: rows in random order that another thread reads shortly before the loop does: then
// they come from a nearer cache.
#pragma once
#include "abi/passes.hpp"
#include "rows/prefetch.hpp"
#include "threads/helper_thread.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kWarmedVisits = 64;        // visits in a piece
constexpr double kWarmedBytes = 512 << 10;  // read ahead; no more than a cache of its own has

template <class Value>
inline void load_lines(const Value* from, int64_t count) {
  const char* at = reinterpret_cast<const char*>(from);
  const char* const end = reinterpret_cast<const char*>(from + count);
  unsigned char all = 0;
  for (; at < end; at += kLine) all |= static_cast<unsigned char>(*at);
  asm volatile("" : : "r"(all));  // read they must be
}
template <class Value>
inline void load_row(const DenseRows<Value>& rows, int64_t i) {
  load_lines(row(rows, i), rows.d);
}
template <class Value, class Index>
inline void load_row(const CsrRows<Value, Index>& rows, int64_t i) {
  const Index from = rows.indptr[i], count = rows.indptr[i + 1] - from;
  load_lines(rows.data + from, count);
  load_lines(rows.indices + from, count);
}

template <class Rows>
class CacheWarmer {
 public:
  CacheWarmer(const Rows& rows, const OnlinePass& pass)
      : rows_(rows), pass_(pass),
        lead_(2 * kWarmedVisits + int64_t(kWarmedBytes / (8 * row_values(rows) + 64))) {}
  ~CacheWarmer() { end(); }
  CacheWarmer(const CacheWarmer&) = delete;
  CacheWarmer& operator=(const CacheWarmer&) = delete;

  void begin() {
    if (!pass_.helper || !pass_.order) return;
    on_ = true;
    pass_.helper->set_task(&CacheWarmer::warm, this);
    advance_to(0);
  }
  // The loop has come to visit t.
  void advance_to(int64_t t) {
    if (!on_) return;
    __atomic_store_n(&here_, t, __ATOMIC_RELAXED);
    for (; posted_ < t + lead_ && posted_ < pass_.count; posted_ += kWarmedVisits)
      pass_.helper->post();
  }
  void end() {
    if (!on_) return;
    __atomic_store_n(&here_, pass_.count, __ATOMIC_RELAXED);
    pass_.helper->drain(0);
    on_ = false;
  }

 private:
  // What the loop has come to meanwhile is left to it.
  static void warm(void* of, int64_t number) {
    const auto& self = *static_cast<const CacheWarmer*>(of);
    const int64_t first = number * kWarmedVisits, last = first + kWarmedVisits;
    const int64_t end = last < self.pass_.count ? last : self.pass_.count;
    for (int64_t t = first; t < end; ++t) prefetch_place(self.rows_, self.pass_.order[t]);
    for (int64_t t = first; t < end; ++t)
      if (t > __atomic_load_n(&self.here_, __ATOMIC_RELAXED) &&
          uint64_t(self.pass_.order[t]) < uint64_t(self.rows_.n))  // not yet checked by the loop
        load_row(self.rows_, self.pass_.order[t]);
  }

  const Rows& rows_;
  const OnlinePass& pass_;
  const int64_t lead_;  // visits
  bool on_ = false;
  int64_t here_ = 0, posted_ = 0;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
