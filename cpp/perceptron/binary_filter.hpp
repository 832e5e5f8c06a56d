// Margins of a few rows at once, only as exact as a decision needs: see perceptron/filter.hpp.
#pragma once
#include "perceptron/filter.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// Margins of rows one by one, as the plain loop has them.
template <class Rows>
class Margins {
 public:
  Margins(const Rows& rows, const double* v) : rows_(rows), v_(v) {}

  template <bool kFetches>
  int64_t proven(const int64_t* row, const double* y, int64_t count) {
    for (int64_t p = 0; p < count; ++p) {
      const double product =
          kFetches ? dot(rows_, row[p], v_, soon(row + p)) : dot(rows_, row[p], v_);
      margin_ = y[p] * (product + v_[rows_.d]);
      if (!(margin_ > 0)) return p;
    }
    return count;
  }

  bool right(int64_t, double) const { return false; }
  void renew() {}

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
class Margins<DenseRows<Value>> {
 public:
  Margins(const DenseRows<Value>& rows, const double* v)
      : rows_(rows), v_(v), copy_(kCopies ? new Value[size_t(rows.d)] : nullptr),
        slack_(rows) {
    renew();
  }
  ~Margins() { delete[] copy_; }
  Margins(const Margins&) = delete;
  Margins& operator=(const Margins&) = delete;

  template <bool kFetches>
  int64_t proven(const int64_t* row, const double* y, int64_t count) {
    // Long rows come fastest one after another, short ones two at a time.
    const bool short_rows = rows_.d * int64_t(sizeof(Value)) <= kShortRow;
    const int64_t pairs = kFetches || short_rows ? count & ~1 : 0;
    const Slack<Value> slack = slack_;
    for (int64_t p = 0; p < pairs; p += 2) {
      Product<2> now = product<2, kFetches>(row + p, y + p);
      for (int r = 0; r < 2; ++r) {
        const double bound = now.margin[r] - slack.of(now.square[r]);
        if (!(bound > 0)) return doubt(p + r, now.margin[r], now.square[r]);
      }
    }
    for (int64_t p = pairs; p < count; ++p) {
      Product<1> now = product<1, kFetches>(row + p, y + p);
      const double bound = now.margin[0] - slack.of(now.square[0]);
      if (!(bound > 0)) return doubt(p, now.margin[0], now.square[0]);
    }
    return count;
  }

  bool right(int64_t i, double y) const {
    return !wrong_ && y * (dot(rows_, i, v_) + v_[rows_.d]) > 0;
  }

  // The weights have changed by other means.
  void renew() {
    if (kCopies) narrow(v_, copy_, rows_.d);
    measure();
    slack_.allow(longest_);
  }

  double update(int64_t i, double y, double a, double* v) {
    const double before = v[rows_.d];
    const Value* const x[] = {row(rows_, i)};
    double product;
    dot_then_add<1, Value>(x, &a, v, rows_.d, &product);
    if (kCopies) narrow(v, copy_, rows_.d);
    if (!(longest_ < 2 * measured_)) {
      slack_.expect(square_);
      measure();
    }
    longest_ += (a < 0 ? -a : a) * slack_.norm(square_);
    slack_.allow(longest_);
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
    const Value *x[kRows], *soon[kRows], *later[kRows];
    for (int r = 0; r < kRows; ++r) {
      x[r] = row(rows_, i[r]);
      soon[r] = row(rows_, i[r + kNear]);
      later[r] = row(rows_, i[r + kAhead]);
    }
    Value products[kRows], squares[kRows];
    multiply_and_square<kRows, kFetches, Value>(x, weights(), rows_.d, soon, later, products,
                                                squares);
    Product<kRows> out;
    for (int r = 0; r < kRows; ++r) {
      out.margin[r] = y[r] * (double(products[r]) + v_[rows_.d]);
      out.square[r] = double(squares[r]);
    }
    return out;
  }

  int64_t doubt(int64_t p, double margin, double square) {
    wrong_ = margin + slack_.of(square) < 0;
    square_ = square;
    return p;
  }

  // |(w, b)|, or more.
  void measure() {
    measured_ = longest_ = 1.001 * __builtin_sqrt(dot(v_, v_, rows_.d + 1));
  }

  const Value* weights() const {
    if constexpr (kCopies) return copy_;
    else return v_;
  }

  const DenseRows<Value>& rows_;
  const double* v_;
  Value* copy_;                            // w in the precision of the rows
  double measured_ = 0, longest_ = 0;      // |(w, b)| when last measured, and at most now
  Slack<Value> slack_;                     // what a margin may be wrong by
  double square_ = 0;                      // |x|^2 of the row in doubt
  bool wrong_ = false;                     // and it is surely wrong
};

}  // namespace separatrix::SEPARATRIX_LEVEL
