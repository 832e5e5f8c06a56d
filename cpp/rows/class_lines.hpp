// Rows against the weights of many classes that stand in lines: those of one feature for all
// classes, one after another. A sparse row then finds all that it needs of a feature in one place,
// and lanes are classes, so that nothing is left to be summed across them.
#pragma once
#include "rows/products.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Lines are as long as whole vectors of the widest level: zeros stand after the last class.
constexpr int64_t line_width(int64_t k) { return (k + kLanes - 1) / kLanes * kLanes; }

constexpr int kMostLinePieces = kRegisters > 16 ? 6 : 3;  // two sums for each fit into registers

// f(value, feature) for one value of a row after another; and by twos, for two chains of sums.
template <class Value, class F, class G>
inline SEPARATRIX_INLINE void each_pair(const DenseRows<Value>& rows, int64_t i, F&& two, G&& one) {
  const Value* const x = row(rows, i);
  int64_t j = 0;
  for (; j + 2 <= rows.d; j += 2) two(double(x[j]), j, double(x[j + 1]), j + 1);
  if (j < rows.d) one(double(x[j]), j);
}
template <class Value, class Index, class F, class G>
inline SEPARATRIX_INLINE void each_pair(const CsrRows<Value, Index>& rows, int64_t i, F&& two,
                                        G&& one) {
  Index t = rows.indptr[i];
  const Index end = rows.indptr[i + 1];
  for (; t + 2 <= end; t += 2)
    two(double(rows.data[t]), int64_t(rows.indices[t]), double(rows.data[t + 1]),
        int64_t(rows.indices[t + 1]));
  if (t < end) one(double(rows.data[t]), int64_t(rows.indices[t]));
}

// out[0 .. kPieces vectors) = x . lines, of some classes. The sum over odd places and that
// over even ones are two chains, added at the end: the bits are those of every level.
template <int kPieces, class Rows>
[[gnu::noinline]] void line_products(const Rows& rows, int64_t i, const double* lines,
                                     int64_t width, double* out) {
  Doubles even[kPieces] = {}, odd[kPieces] = {};
  const auto add_to = [&](Doubles (&sums)[kPieces], double x, int64_t j) SEPARATRIX_INLINE {
    const Doubles factor = splat<Doubles>(x);
    const double* const line = lines + j * width;
    unrolled<kPieces>([&](auto v) SEPARATRIX_INLINE {
      sums[v] = fma(factor, load(line + v * kWidth), sums[v]);
    });
  };
  each_pair(
      rows, i,
      [&](double x, int64_t j, double next, int64_t after) SEPARATRIX_INLINE {
        add_to(even, x, j);
        add_to(odd, next, after);
      },
      [&](double x, int64_t j) SEPARATRIX_INLINE { add_to(even, x, j); });
  unrolled<kPieces>([&](auto v) SEPARATRIX_INLINE { store(out + v * kWidth, even[v] + odd[v]); });
}

template <int kPieces, class F>
inline void with_pieces(int64_t pieces, F&& f) {
  if constexpr (kPieces > 1)
    if (pieces < kPieces) return with_pieces<kPieces - 1>(pieces, f);
  f(Number<kPieces>{});
}

// out (k, and what fills up the last vector) = x . lines for all k classes.
template <class Rows>
inline void dot_lines(const Rows& rows, int64_t i, const double* lines, int64_t k, int64_t width,
                      double* out) {
  const int64_t pieces = (k + kWidth - 1) / kWidth;
  for (int64_t first = 0; first < pieces; first += kMostLinePieces) {
    const int64_t left = pieces - first;
    with_pieces<kMostLinePieces>(left < kMostLinePieces ? left : kMostLinePieces, [&](auto some) {
      line_products<some>(rows, i, lines + first * kWidth, width, out + first * kWidth);
    });
  }
}

// lines += x * factors in some vectors of classes, which begin at these offsets.
template <int kPieces, class Rows>
[[gnu::noinline]] void add_line_pieces(const Rows& rows, int64_t i, const double* factors,
                                       const int64_t* offsets, int64_t width, double* lines) {
  Doubles factor[kPieces];
  int64_t at[kPieces];
  unrolled<kPieces>([&](auto v) SEPARATRIX_INLINE {
    at[v] = offsets[v];
    factor[v] = load(factors + at[v]);
  });
  const auto add_at = [&](double x, int64_t j) SEPARATRIX_INLINE {
    double* const line = lines + j * width;
    const Doubles value = splat<Doubles>(x);
    unrolled<kPieces>([&](auto v) SEPARATRIX_INLINE {
      store(line + at[v], fma(value, factor[v], load(line + at[v])));
    });
  };
  each_pair(
      rows, i,
      [&](double x, int64_t j, double next, int64_t after) SEPARATRIX_INLINE {
        add_at(x, j);
        add_at(next, after);
      },
      add_at);
}

// lines += x * factors for all k classes; vectors of factors that are all 0 are passed over.
template <class Rows>
inline void add_lines(const Rows& rows, int64_t i, const double* factors, int64_t k, int64_t width,
                      double* lines) {
  int64_t offsets[kMostLinePieces];
  int64_t count = 0;
  for (int64_t c = 0; c < k; c += kWidth) {
    bool any = false;
    for (int64_t l = c; l < c + kWidth; ++l) any |= factors[l] != 0;
    if (any) offsets[count++] = c;
    if (count == kMostLinePieces || (count && c + kWidth >= k)) {
      with_pieces<kMostLinePieces>(count, [&](auto some) {
        add_line_pieces<some>(rows, i, factors, offsets, width, lines);
      });
      count = 0;
    }
  }
}

}  // namespace separatrix::SEPARATRIX_LEVEL
