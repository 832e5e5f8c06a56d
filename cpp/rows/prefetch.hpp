// Rows that a loop will visit soon, asked for while it works on another.
#pragma once
#include "rows/products.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kPrefetched = 16;   // lines of a row asked for early; hardware follows on
constexpr int64_t kFarAhead = 8, kNearAhead = 2;  // rows from prefetch to use: far, near cache
constexpr int64_t kLabelsAhead = 64;  // and between asking for a label and its use

// kNearness as in __builtin_prefetch: 3 for the nearest cache, 2 for the one behind it. The far
// one has room for more requests at a time.
template <int kNearness>
inline void prefetch(const void* from, int64_t bytes) {
  const char *at = static_cast<const char*>(from), *end = at + bytes;
  if (bytes > kPrefetched * kLine) end = at + kPrefetched * kLine;
  for (; at < end; at += kLine) __builtin_prefetch(at, 0, kNearness);
  if (bytes > 0) __builtin_prefetch(end - 1, 0, kNearness);
  asm volatile("");  // GCC takes a function that only prefetches for one without effect
}

template <int kNearness, class Value>
inline void prefetch_row(const DenseRows<Value>& rows, int64_t i) {
  prefetch<kNearness>(row(rows, i), rows.d * int64_t(sizeof(Value)));
}

template <int kNearness, class Value, class Index>
inline void prefetch_row(const CsrRows<Value, Index>& rows, int64_t i) {
  const Index from = rows.indptr[i], count = rows.indptr[i + 1] - from;
  prefetch<kNearness>(rows.data + from, int64_t(count) * int64_t(sizeof(Value)));
  prefetch<kNearness>(rows.indices + from, int64_t(count) * int64_t(sizeof(Index)));
}

// Where a row begins, which has to be known before its values can be asked for.
template <class Value>
inline void prefetch_place(const DenseRows<Value>&, int64_t) {}

template <class Value, class Index>
inline void prefetch_place(const CsrRows<Value, Index>& rows, int64_t i) {
  prefetch<3>(rows.indptr + i, 2 * int64_t(sizeof(Index)));
}

// The rows that a loop will visit soon: one next to come, one far ahead.
struct PrefetchTargets {
  int64_t near, far;
};

template <class At>
inline PrefetchTargets prefetch_targets(int64_t t, int64_t count, At&& at) {
  const auto until = [&](int64_t then) { return at(then < count ? then : count - 1); };
  return {until(t + kNearAhead), until(t + kFarAhead)};
}

// The same from a place in a list of rows that has kFarAhead more.
inline PrefetchTargets prefetch_targets(const int64_t* row) {
  return {row[kNearAhead], row[kFarAhead]};
}

template <class Rows>
inline void prefetch_rows(const Rows& rows, const PrefetchTargets& targets) {
  prefetch_row<2>(rows, targets.far);
  prefetch_row<3>(rows, targets.near);
}

// A sparse row, asked for chunk by chunk: a burst of requests would wait for room.
template <int kNearness, class Value, class Index>
class SparsePrefetcher {
 public:
  SparsePrefetcher(const CsrRows<Value, Index>& rows, int64_t i)
      : value_(rows.data + rows.indptr[i]), index_(rows.indices + rows.indptr[i]) {}
  SEPARATRIX_INLINE void advance() {
    if (left_-- <= 0) return;
    prefetch_chunk(value_);
    prefetch_chunk(index_);
  }

 private:
  template <class Item>
  static SEPARATRIX_INLINE void prefetch_chunk(const Item*& at) {
    for (const Item* const end = at + kSparseChunk; at < end; at += kLine / int64_t(sizeof(Item)))
      __builtin_prefetch(at, 0, kNearness);
  }
  const Value* value_;
  const Index* index_;
  int left_ = int(kPrefetched * kLine / int64_t(sizeof(Value))) / kSparseChunk;
};

// x . w, while other rows are asked for.
template <class Value>
inline double dot(const DenseRows<Value>& rows, int64_t i, const double* w,
                  const PrefetchTargets& targets) {
  prefetch_rows(rows, targets);
  return dot(rows, i, w);
}

template <class Value, class Index>
inline double dot(const CsrRows<Value, Index>& rows, int64_t i, const double* w,
                  const PrefetchTargets& targets) {
  SparsePrefetcher<2, Value, Index> far(rows, targets.far);
  SparsePrefetcher<3, Value, Index> near(rows, targets.near);
  // As many chunks as this row has, and one: whose are more, the hardware sees to.
  const auto prefetch_next = [&]() SEPARATRIX_INLINE {
    far.advance();
    near.advance();
  };
  prefetch_next();
  return dot_with(rows, i, w, prefetch_next);
}

}  // namespace separatrix::SEPARATRIX_LEVEL
