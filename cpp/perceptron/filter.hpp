// Floating-point filters: products of rows with weights, only as exact as a decision needs
// (Shewchuk 1997, "Adaptive precision floating-point arithmetic and fast robust geometric
// predicates"; docs/compiled.md derives the bounds).
//
// The plain loop sums products in double and in one fixed order. To prove that a row is right it is
// enough to sum them in the precision of the row, in any order, if the result is farther from zero
// than the error bounds of both sums. Other rows are computed as in the plain loop, so no decision
// changes.
#pragma once
#include "rows/prefetch.hpp"
#include "simd/buffer.hpp"
#include "simd/floats.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Returns x . w as dot() has it, and w += a * x as add() has it, in one read of the weights; two
// pieces of them at a time.
template <class Value>
[[gnu::noinline]] double dot_then_add(const Value* x, double a, double* w, int64_t d) {
  Sum sum{};
  const Doubles times = splat<Doubles>(a);
  const auto step = [&](auto pieces, int64_t j) SEPARATRIX_INLINE {
    constexpr int kCount = pieces * kPacks;
    Doubles piece[kCount];
    unrolled<kCount>([&](auto p) SEPARATRIX_INLINE { piece[p] = load(w + j + p * kWidth); });
    unrolled<kCount>([&](auto p) SEPARATRIX_INLINE {
      const Doubles values = load(x + j + p * kWidth);
      Doubles& part = sum.part[p % kPacks];
      part = fma(values, piece[p], part);
      piece[p] = fma(times, values, piece[p]);
    });
    unrolled<kCount>([&](auto p) SEPARATRIX_INLINE { store(w + j + p * kWidth, piece[p]); });
  };
  int64_t j = 0;
  for (; j + 2 * kLanes <= d; j += 2 * kLanes) step(Number<2>{}, j);
  for (; j + kLanes <= d; j += kLanes) step(Number<1>{}, j);
  double lane[kLanes];
  std::memcpy(lane, sum.part, sizeof lane);
  for (int64_t rest = j; rest < d; ++rest) {
    lane[rest - j] = fma(double(x[rest]), w[rest], lane[rest - j]);
    w[rest] = fma(a, double(x[rest]), w[rest]);
  }
  std::memcpy(sum.part, lane, sizeof lane);
  return sum.total();
}

// BoundedProducts x . w and squares |x|^2 of a few rows, in their precision, in as many sums as a
// processor has under way. On the way lines of other rows are fetched, one for each that is used:
// a burst of them would wait for room.
template <int kRows, bool kFetches, class Value>
inline SEPARATRIX_INLINE void dot_and_norm2(
    const Value* const (&x)[kRows], const Value* w, int64_t d, const Value* const (&near)[kRows],
    const Value* const (&far)[kRows], Value (&product)[kRows], Value (&square)[kRows]) {
  using Pack = typename PackOf<Value>::Type;
  constexpr int kSums = 4 / kRows, kTurn = 4;
  constexpr int64_t kCount = sizeof(Pack) / sizeof(Value), kOfLine = kLine / sizeof(Value);
  Pack xw[kRows * kSums] = {}, xx[kRows * kSums] = {};
  const auto take = [&](int64_t j, auto sum) SEPARATRIX_INLINE {
    const Pack piece = load_pack<Pack>(w + j);
    unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
      const Pack values = load_pack<Pack>(x[r] + j);
      constexpr int s = r * kSums + sum;
      xw[s] = fma(values, piece, xw[s]);
      xx[s] = fma(values, values, xx[s]);
    });
  };
  int64_t j = 0;
  for (; j + kTurn * kCount <= d; j += kTurn * kCount) {
    if constexpr (kFetches)
      for (int64_t at = j; at < j + kTurn * kCount; at += kOfLine)
        unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
          __builtin_prefetch(near[r] + at, 0, 3);
          __builtin_prefetch(far[r] + at, 0, 2);
        });
    unrolled<kTurn>([&](auto p) SEPARATRIX_INLINE {
      take(j + p * kCount, Number<p % kSums>{});
    });
  }
  for (; j + kCount <= d; j += kCount) take(j, Number<0>{});
  unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
    Pack all = xw[r * kSums], whole = xx[r * kSums];
    for (int s = 1; s < kSums; ++s) {
      all += xw[r * kSums + s];
      whole += xx[r * kSums + s];
    }
    product[r] = total<Value>(all);
    square[r] = total<Value>(whole);
    for (int64_t rest = j; rest < d; ++rest) {
      product[r] += x[r][rest] * w[rest];
      square[r] += x[r][rest] * x[r][rest];
    }
    if constexpr (kFetches)
      for (int64_t at = j / kOfLine * kOfLine; at < d + kOfLine; at += kOfLine) {
        const int64_t last = at < d ? at : d - 1;  // a row may end in a line of its own
        __builtin_prefetch(near[r] + last, 0, 3);
        __builtin_prefetch(far[r] + last, 0, 2);
      }
  });
}

// Error bound of a margin summed in the precision of the rows, plus that of the plain loop.
//
// Both sums are wrong by no more than `error` |(w, b)| |(x, 1)|, and where numbers are too small
// for relative errors, by less than with weights of length `least`. To spare a root for every
// row, its norm is bounded by (|(x, 1)|^2 / typical + typical) / 2.
template <class Value>
class ErrorBound {
 public:
  explicit ErrorBound(const DenseRows<Value>& rows) {
    // A term is rounded this many times at most: in one of two or four sums per lane, in their sum, in
    // that of the lanes and of the values left over; and that of the weight.
    const auto d = double(rows.d), lanes = kBytes / double(sizeof(Value));
    const double terms = d / (2 * lanes) + lanes + 12;
    error_ = 1.02 * (Pack::kUnit * terms + 0x1p-53 * (d + 24));
    least_ = (d + 1) * Pack::kShort;
    if (rows.n > 0) set_typical(squared_norm(rows, 0));
  }
  // |x|^2 of a row that is like many others.
  void set_typical(double square) {
    typical_ = __builtin_sqrt(1 + square) < 1e300 ? __builtin_sqrt(1 + square) : 1;
    inverse_ = 1 / typical_;
  }
  // Weights of this length at most.
  void set_norms(double longest) {
    const double length = longest + least_, half = 0.51 * (error_ * length);
    per_square_ = half * inverse_;
    at_least_ = half * typical_ + 1.01 * per_square_;
    if (!(length < Pack::kLongest && error_ < 0.01)) at_least_ = __builtin_inf();
  }
  double of_margin(double square) const { return per_square_ * square + at_least_; }
  // More than |(x, 1)|.
  double norm_above(double square) const { return 0.51 * ((square + 1) * inverse_ + typical_); }

 private:
  using Pack = PackOf<Value>;
  double error_, least_;
  double typical_ = 1, inverse_ = 1;
  double per_square_ = 0, at_least_ = 0;
};

// Products of rows with weights that stay, no more than the truth in the direction of the sign y;
// and |x|^2.
template <class Rows>
class BoundedProducts {
 public:
  BoundedProducts(const Rows& rows, const double* w) : rows_(rows), w_(w) {}
  double lower_bound(int64_t i, double y, double& square) const {
    square = squared_norm(rows_, i);
    return y * dot(rows_, i, w_);
  }

 private:
  const Rows& rows_;
  const double* w_;
};

template <class Value>
class BoundedProducts<DenseRows<Value>> {
 public:
  BoundedProducts(const DenseRows<Value>& rows, const double* w)
      : rows_(rows), w_(rows.d), error_bound_(rows) {
    narrow(w, w_.get(), rows.d);
    error_bound_.set_norms(1.001 * __builtin_sqrt(dot(w, w, rows.d + 1)));
  }

  double lower_bound(int64_t i, double y, double& square) const {
    const Value* const x[] = {row(rows_, i)};
    Value product[1], squares[1];
    dot_and_norm2<1, false, Value>(x, w_, rows_.d, x, x, product, squares);
    square = double(squares[0]);
    return y * double(product[0]) - error_bound_.of_margin(square);
  }

 private:
  const DenseRows<Value>& rows_;
  const Buffer<Value> w_;
  ErrorBound<Value> error_bound_;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
