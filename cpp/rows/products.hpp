// What the loops ask of rows, dense or sparse: products with weights, additions to them.
#pragma once
#include "abi/rows.hpp"
#include "simd/doubles.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kLine = 64;             // bytes in a cache line
constexpr int64_t kStopInterval = 512;        // rows between two looks at should_stop
constexpr int64_t kTileBytes = 16 << 10;  // two fit into the nearest cache, next to the weights
constexpr int64_t kTile = 256;            // most rows in a tile

template <class Value>
inline const Value* row(const DenseRows<Value>& rows, int64_t i) {
  return rows.data + i * rows.d;
}

// The address of row i, for prefetching.
template <class Value>
inline const char* after(const DenseRows<Value>& rows, int64_t i) {
  return reinterpret_cast<const char*>(row(rows, i));
}
template <class Value, class Index>
inline const char* after(const CsrRows<Value, Index>&, int64_t) {
  return nullptr;
}

// f(what lies after a tile). If the tile is read kParts times, each pass prefetches a part, so that
// the memory is always busy.
template <int kParts, class Value, class F>
inline void with_next_tile(const DenseRows<Value>& rows, int64_t first, int64_t count, F&& f) {
  const char* const at = after(rows, first + count);
  if (count * rows.d * int64_t(sizeof(Value)) <= kTileBytes) f(StreamPrefetcher<kParts, true>{at});
  else f(StreamPrefetcher<kParts>{at});
}
template <int kParts, class Value, class Index, class F>
inline void with_next_tile(const CsrRows<Value, Index>&, int64_t, int64_t, F&& f) {
  f(NoPrefetch{});
}

template <class Value>
inline double dot(const DenseRows<Value>& rows, int64_t i, const double* w) {
  return dot(row(rows, i), w, rows.d);
}

template <class Value>
inline void add(const DenseRows<Value>& rows, int64_t i, double a, double* w) {
  add_scaled(a, row(rows, i), w, rows.d);
}

// Of one row with all k weight vectors: each piece of the row is loaded once for some of them.
template <class Value>
inline void dot_all(const DenseRows<Value>& rows, int64_t i, const double* w, int64_t k,
                    double* out) {
  const int64_t stride = rows.d + 1;
  const Value* const x = row(rows, i);
  NoPrefetch nothing;
  int64_t c = 0;
  for (; c + 4 <= k; c += 4, w += 4 * stride)
    products<4, double, Value>(out + c, {w, w + stride, w + 2 * stride, w + 3 * stride}, x, rows.d,
                               nothing);
  for (; c + 2 <= k; c += 2, w += 2 * stride)
    products<2, double, Value>(out + c, {w, w + stride}, x, rows.d, nothing);
  if (c < k) out[c] = dot(x, w, rows.d);
}

template <class Value>
inline double squared_norm(const DenseRows<Value>& rows, int64_t i) {
  return dot(row(rows, i), row(rows, i), rows.d);
}

constexpr int kSparseChunk = 16;  // values of a sparse row, between which others may be asked for

// Sparse rows are read by fours, with two numbers per load where possible: loads are the limit.
typedef double Pair __attribute__((vector_size(16)));
#if defined(__AVX2__)  // elsewhere it is a vector of the level's own width
inline Pair fma(Pair a, Pair b, Pair c) { return _mm_fmadd_pd(a, b, c); }
#endif
template <class Value>
inline Pair pair_at(const Value* from) {
  if constexpr (kWidth == 2) return load(from);
  else return Pair{double(from[0]), double(from[1])};
}

template <class Index>
struct Four {
  uint64_t at[4];
  explicit SEPARATRIX_INLINE Four(const Index* from) {
    for (int l = 0; l < 4; ++l) at[l] = uint64_t(from[l]);
  }
};
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
template <>
struct Four<int32_t> {
  uint64_t at[4];
  explicit SEPARATRIX_INLINE Four(const int32_t* from) {
    uint64_t two[2];
    std::memcpy(two, from, sizeof two);
    for (int l = 0; l < 4; ++l) at[l] = l % 2 ? two[l / 2] >> 32 : uint32_t(two[l / 2]);
  }
};
#endif

template <class Value, class Index, class Between>
inline double dot_with(const CsrRows<Value, Index>& rows, int64_t i, const double* w,
                       Between&& between) {
  const Value* x = rows.data + rows.indptr[i];
  const Index* index = rows.indices + rows.indptr[i];
  int64_t left = int64_t(rows.indptr[i + 1] - rows.indptr[i]);
  Pair pair[2] = {};
  const auto four = [&]() SEPARATRIX_INLINE {
    const Four<Index> some(index);
    for (int p = 0; p < 2; ++p) {
      const Pair weights = {w[some.at[2 * p]], w[some.at[2 * p + 1]]};
      pair[p] = fma(pair_at(x + 2 * p), weights, pair[p]);
    }
    x += 4;
    index += 4;
  };
  for (; left >= kSparseChunk; left -= kSparseChunk) {
    between();
    for (int l = 0; l < kSparseChunk; l += 4) four();
  }
  for (; left >= 4; left -= 4) four();
  double first = pair[0][0];
  for (; left > 0; --left) first = fma(double(*x++), w[*index++], first);
  return (first + pair[1][0]) + (pair[0][1] + pair[1][1]);
}

template <class Value, class Index>
inline double dot(const CsrRows<Value, Index>& rows, int64_t i, const double* w) {
  return dot_with(rows, i, w, [] {});
}

template <class Value, class Index>
inline void add(const CsrRows<Value, Index>& rows, int64_t i, double a, double* w) {
  const Value* x = rows.data + rows.indptr[i];
  const Index* index = rows.indices + rows.indptr[i];
  int64_t left = int64_t(rows.indptr[i + 1] - rows.indptr[i]);
  for (; left >= 4; left -= 4, x += 4, index += 4) {
    const Four<Index> some(index);
    for (int l = 0; l < 4; ++l) w[some.at[l]] = fma(a, double(x[l]), w[some.at[l]]);
  }
  for (; left > 0; --left, ++x, ++index) w[*index] = fma(a, double(*x), w[*index]);
}

template <class Value, class Index>
inline void dot_all(const CsrRows<Value, Index>& rows, int64_t i, const double* w, int64_t k,
                    double* out) {
  for (int64_t c = 0; c < k; ++c) out[c] = dot(rows, i, w + c * (rows.d + 1));
}

template <class Value, class Index>
inline double squared_norm(const CsrRows<Value, Index>& rows, int64_t i) {
  double sum = 0;
  for (Index j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j)
    sum = fma(double(rows.data[j]), double(rows.data[j]), sum);
  return sum;
}

// Values read for a row, on average.
template <class Value>
inline double row_values(const DenseRows<Value>& rows) {
  return double(rows.d);
}

template <class Value, class Index>
inline double row_values(const CsrRows<Value, Index>& rows) {
  return double(rows.indptr[rows.n] - rows.indptr[0]) / double(rows.n > 0 ? rows.n : 1);
}

// Rows per tile, so that a tile read for its scores is still in cache for its gradient.
template <class Value>
inline int64_t tile_rows(const DenseRows<Value>& rows) {
  const int64_t bytes = rows.d * int64_t(sizeof(Value));
  const int64_t fit = bytes > 0 ? kTileBytes / bytes : kTile;
  return fit < 4 ? 4 : fit > kTile ? kTile : fit / 4 * 4;  // rows are added four at a time
}

template <class Value, class Index>
inline int64_t tile_rows(const CsrRows<Value, Index>& rows) {
  const int64_t bytes = int64_t(rows.indptr[rows.n] - rows.indptr[0]) *
                        int64_t(sizeof(Value) + sizeof(Index)) / (rows.n > 0 ? rows.n : 1);
  const int64_t fit = bytes > 0 ? kTileBytes / bytes : kTile;
  return fit < 4 ? 4 : fit > kTile ? kTile : fit;
}

// scores[i] = w . x for the rows first, first + 1, ...
template <class Value, class Next>
inline void dot_tile(const DenseRows<Value>& rows, int64_t first, int64_t count, const double* w,
                     double* scores, Next& next) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const Value* const x = row(rows, first + i);
    products<4, Value, double>(scores + i, {x, x + rows.d, x + 2 * rows.d, x + 3 * rows.d}, w,
                               rows.d, next);
  }
  for (; i < count; ++i) scores[i] = dot(rows, first + i, w);
}

template <class Value, class Index>
inline void dot_tile(const CsrRows<Value, Index>& rows, int64_t first, int64_t count,
                     const double* w, double* scores, NoPrefetch) {
  for (int64_t i = 0; i < count; ++i) scores[i] = dot(rows, first + i, w);
}

// w += sum of a[i] * x over the rows whose a is not zero.
template <class Value, class Next>
inline void add_tile(const DenseRows<Value>& rows, int64_t first, int64_t count, const double* a,
                     double* w, Next& next) {
  int64_t picked[4], waiting = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (a[i] == 0) continue;
    picked[waiting++] = i;
    if (waiting < 4) continue;
    add_scaled<4, Value>({a[picked[0]], a[picked[1]], a[picked[2]], a[picked[3]]},
                         {row(rows, first + picked[0]), row(rows, first + picked[1]),
                          row(rows, first + picked[2]), row(rows, first + picked[3])},
                         w, rows.d, next);
    waiting = 0;
  }
  for (int64_t p = 0; p < waiting; ++p) add(rows, first + picked[p], a[picked[p]], w);
}

template <class Value, class Index>
inline void add_tile(const CsrRows<Value, Index>& rows, int64_t first, int64_t count,
                     const double* a, double* w, NoPrefetch) {
  for (int64_t i = 0; i < count; ++i)
    if (a[i] != 0) add(rows, first + i, a[i], w);
}

template <class Value, class Index, class F>
inline void each_value(const CsrRows<Value, Index>& rows, int64_t i, F&& f) {
  for (Index j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j)
    f(int64_t(rows.indices[j]), double(rows.data[j]));
}

}  // namespace separatrix::SEPARATRIX_LEVEL
