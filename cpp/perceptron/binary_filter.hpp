// A floating-point filter for the margins of a few rows at once: see perceptron/filter.hpp.
#pragma once
#include "perceptron/filter.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Margins of rows one by one, as the plain loop has them.
template <class Rows>
class BinaryFilter {
 public:
  BinaryFilter(const Rows& rows, const double* v) : rows_(rows), v_(v) {}

  template <bool kFetches>
  int64_t certified_prefix(const int64_t* row, const double* y, int64_t count) {
    for (int64_t p = 0; p < count; ++p) {
      const double product =
          kFetches ? dot(rows_, row[p], v_, prefetch_targets(row + p)) : dot(rows_, row[p], v_);
      margin_ = y[p] * (product + v_[rows_.d]);
      if (!(margin_ > 0)) return p;
    }
    return count;
  }

  bool is_correct(int64_t, double) const { return false; }

  // Adds a times that row to the weights; returns its margin before.
  double update(int64_t i, double /*y*/, double a, double* v) {
    add(rows_, i, a, v);
    return margin_;
  }

 private:
  const Rows& rows_;
  const double* v_;
  double margin_ = 0;
};

// Of dense rows in their own precision.
template <class Value>
class BinaryFilter<DenseRows<Value>> {
 public:
  BinaryFilter(const DenseRows<Value>& rows, const double* v)
      : rows_(rows), v_(v), copy_(kCopies ? rows.d : 0), error_bound_(rows) {
    if (kCopies) narrow(v_, copy_.get(), rows_.d);
    measure();
    error_bound_.set_norms(norm_above_);
  }

  template <bool kFetches>
  int64_t certified_prefix(const int64_t* row, const double* y, int64_t count) {
    // Long rows come fastest one after another, short ones two at a time.
    const bool short_rows = rows_.d * int64_t(sizeof(Value)) <= kShortRow;
    const int64_t pairs = kFetches || short_rows ? count & ~1 : 0;
    const ErrorBound<Value> error_bound = error_bound_;
    for (int64_t p = 0; p < pairs; p += 2) {
      Product<2> now = product<2, kFetches>(row + p, y + p);
      for (int r = 0; r < 2; ++r) {
        const double bound = now.margin[r] - error_bound.of_margin(now.square[r]);
        if (!(bound > 0)) return uncertain(p + r, now.margin[r], now.square[r]);
      }
    }
    for (int64_t p = pairs; p < count; ++p) {
      Product<1> now = product<1, kFetches>(row + p, y + p);
      const double bound = now.margin[0] - error_bound.of_margin(now.square[0]);
      if (!(bound > 0)) return uncertain(p, now.margin[0], now.square[0]);
    }
    return count;
  }

  bool is_correct(int64_t i, double y) const {
    return !surely_wrong_ && y * (dot(rows_, i, v_) + v_[rows_.d]) > 0;
  }

  double update(int64_t i, double y, double a, double* v) {
    const double before = v[rows_.d];
    const double product = dot_then_add(row(rows_, i), a, v, rows_.d);
    if (kCopies) narrow(v, copy_.get(), rows_.d);
    if (!(norm_above_ < 2 * measured_)) {
      error_bound_.set_typical(square_);
      measure();
    }
    norm_above_ += (a < 0 ? -a : a) * error_bound_.norm_above(square_);
    error_bound_.set_norms(norm_above_);
    return y * (product + before);
  }

 private:
  static constexpr bool kCopies = sizeof(Value) < sizeof(double);
  static constexpr int64_t kShortRow = 512;

  template <int kRows>
  struct Product {
    double margin[kRows], square[kRows];
  };
  template <int kRows, bool kFetches>
  SEPARATRIX_INLINE Product<kRows> product(const int64_t* i, const double* y) const {
    const Value *x[kRows], *near[kRows], *far[kRows];
    for (int r = 0; r < kRows; ++r) {
      x[r] = row(rows_, i[r]);
      near[r] = row(rows_, i[r + kNearAhead]);
      far[r] = row(rows_, i[r + kFarAhead]);
    }
    Value products[kRows], squares[kRows];
    dot_and_norm2<kRows, kFetches, Value>(x, weights(), rows_.d, near, far, products,
                                                squares);
    Product<kRows> out;
    for (int r = 0; r < kRows; ++r) {
      out.margin[r] = y[r] * (double(products[r]) + v_[rows_.d]);
      out.square[r] = double(squares[r]);
    }
    return out;
  }

  int64_t uncertain(int64_t p, double margin, double square) {
    surely_wrong_ = margin + error_bound_.of_margin(square) < 0;
    square_ = square;
    return p;
  }

  // |(w, b)|, or more.
  void measure() {
    measured_ = norm_above_ = 1.001 * __builtin_sqrt(dot(v_, v_, rows_.d + 1));
  }

  const Value* weights() const {
    if constexpr (kCopies) return copy_;
    else return v_;
  }

  const DenseRows<Value>& rows_;
  const double* v_;
  const Buffer<Value> copy_;               // w in the precision of the rows
  double measured_ = 0, norm_above_ = 0;      // |(w, b)| when last measured, and at most now
  ErrorBound<Value> error_bound_;                     // what a margin may be wrong by
  double square_ = 0;                      // |x|^2 of the row in doubt
  bool surely_wrong_ = false;                     // and it is surely wrong
};

}  // namespace separatrix::SEPARATRIX_LEVEL
