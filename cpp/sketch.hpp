// Margins of a few rows at once, only as exact as a decision needs.
//
// The plain loop sums products in double and in one fixed order. To know that a row is right it
// is enough to sum them in the precision of the row, in any order, and to stay clear of zero by
// more than both sums can be wrong. Rows that are not settled so are computed as in the plain
// loop: no decision changes.
#pragma once
#include "soon.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

typedef float Floats __attribute__((vector_size(kBytes)));

inline Floats fma(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__) && defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f32(c, a, b);
#else
  return a * b + c;
#endif
}

// Weights in float, stored in pieces as large as those in which they are read, where that is
// possible.
inline void narrow(const Doubles (&from)[kPacks], float* to) {
#if defined(__AVX512F__)
  _mm256_storeu_ps(to, _mm512_maskz_cvtpd_ps(0xff, from[0]));
#elif defined(__AVX2__)
  _mm256_storeu_ps(to, _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(from[0])),
                                            _mm256_cvtpd_ps(from[1]), 1));
#elif defined(__x86_64__)
  for (int p = 0; p < kPacks; p += 2)
    _mm_storeu_ps(to + 2 * p, _mm_movelh_ps(_mm_cvtpd_ps(from[p]), _mm_cvtpd_ps(from[p + 1])));
#elif defined(__aarch64__)
  for (int p = 0; p < kPacks; p += 2)
    vst1q_f32(to + 2 * p, vcvt_high_f32_f64(vcvt_f32_f64(from[p]), from[p + 1]));
#else
  for (int l = 0; l < kLanes; ++l) to[l] = float(from[l / kWidth][l % kWidth]);
#endif
}

// A vector of the rows' own type; weights shorter than kShort may lose more than kUnit of their
// products or squares, longer than kLongest may overflow.
template <class Value>
struct PackOf {
  using Type = Doubles;
  static constexpr double kUnit = 0x1p-53, kShort = 0x1p-500, kLongest = 0x1p+500;
};
template <>
struct PackOf<float> {
  using Type = Floats;
  static constexpr double kUnit = 0x1p-24, kShort = 0x1p-102, kLongest = 0x1p+60;
};

template <class Pack, class Value>
inline Pack load_pack(const Value* from) {
  Pack to;
  std::memcpy(&to, from, sizeof to);
  return to;
}

template <class Value, class Pack>
inline Value total(Pack pack) {
  constexpr int kCount = sizeof(Pack) / sizeof(Value);
  Value lane[kCount];
  std::memcpy(lane, &pack, sizeof pack);
  for (int h = kCount / 2; h >= 1; h /= 2)
    for (int l = 0; l < h; ++l) lane[l] += lane[l + h];
  return lane[0];
}
#if defined(__aarch64__)  // in registers, where compilers go through memory
template <>
inline float total<float>(Floats pack) { return vaddvq_f32(pack); }
template <>
inline double total<double>(Doubles pack) { return vaddvq_f64(pack); }
#endif

// Returns x . w as dot() has it, then w += a * x as add() has it, in one read; `copy` takes the new
// weights in the precision of x, if that is another.
template <class Value>
[[gnu::noinline]] double dot_then_add(const Value* x, double a, double* w, Value* copy,
                                      int64_t d) {
  constexpr bool kCopies = sizeof(Value) < sizeof(double);
  const Doubles times = splat<Doubles>(a);
  Doubles part[kPacks] = {};
  int64_t j = 0;
  for (; j + kLanes <= d; j += kLanes) {
    Doubles moved[kPacks];
    for (int p = 0; p < kPacks; ++p) {
      const Doubles values = load(x + j + p * kWidth), piece = load(w + j + p * kWidth);
      part[p] = fma(values, piece, part[p]);
      moved[p] = fma(times, values, piece);
      store(w + j + p * kWidth, moved[p]);
    }
    if constexpr (kCopies) narrow(moved, copy + j);
  }
  double lane[kLanes];
  for (int p = 0; p < kPacks; ++p) store(lane + p * kWidth, part[p]);
  for (int l = 0; j < d; ++j, ++l) {
    lane[l] = fma(double(x[j]), w[j], lane[l]);
    w[j] = fma(a, double(x[j]), w[j]);
    if constexpr (kCopies) copy[j] = Value(w[j]);
  }
  Sum sum;
  for (int p = 0; p < kPacks; ++p) sum.part[p] = load(lane + p * kWidth);
  return sum.total();
}

// Products x . w and squares |x|^2 of a few rows, in their precision, in as many sums as a
// processor has under way. On the way lines of other rows are fetched, one for each that is used:
// a burst of them would wait for room.
template <int kRows, bool kFetches, class Value>
inline SEPARATRIX_INLINE void multiply_and_square(
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

// What a margin summed in the precision of the rows may be wrong by, and the plain loop's with it.
//
// Both sums are wrong by no more than `error` |(w, b)| |(x, 1)|, and where numbers are too small
// for relative errors, by less than with weights of length `least`. To spare a root for every
// row, its norm is bounded by (|(x, 1)|^2 / typical + typical) / 2.
template <class Value>
class Slack {
 public:
  explicit Slack(int64_t d) {
    const double terms = double(d) * double(sizeof(Value)) / kBytes + 24;
    error_ = 2 * (Pack::kUnit * terms + 0x1p-53 * (double(d) + 24));
    least_ = double(d + 1) * Pack::kShort;
  }
  // |(x, 1)| of a row that is like many others.
  void expect(double typical) {
    typical_ = typical < 1e300 ? typical : 1;
    inverse_ = 1 / typical_;
  }
  // Weights of this length at most.
  void allow(double longest) {
    const double length = longest + least_, half = 0.51 * error_ * length;
    per_square_ = half * inverse_;
    at_least_ = half * typical_ + 1.01 * per_square_;
    if (!(length < Pack::kLongest && error_ < 0.01)) at_least_ = __builtin_inf();
  }
  double of(double square) const { return per_square_ * square + at_least_; }
  // More than |(x, 1)|.
  double norm(double square) const { return square * inverse_ + typical_ + inverse_; }

 private:
  using Pack = PackOf<Value>;
  double error_, least_;
  double typical_ = 1, inverse_ = 1;
  double per_square_ = 0, at_least_ = 0;
};

// Products of rows with weights that stay, no more than the truth in the direction of the sign y;
// and |x|^2.
template <class Rows>
class Products {
 public:
  Products(const Rows& rows, const double* w) : rows_(rows), w_(w) {}
  double least(int64_t i, double y, double& square) const {
    square = squared_norm(rows_, i);
    return y * dot(rows_, i, w_);
  }

 private:
  const Rows& rows_;
  const double* w_;
};

template <class Value>
class Products<DenseRows<Value>> {
 public:
  Products(const DenseRows<Value>& rows, const double* w)
      : rows_(rows), w_(new Value[size_t(rows.d)]), slack_(rows.d) {
    for (int64_t j = 0; j < rows.d; ++j) w_[j] = Value(w[j]);
    slack_.expect(rows.n > 0 ? __builtin_sqrt(1 + squared_norm(rows, 0)) : 1);
    slack_.allow(1.001 * __builtin_sqrt(dot(w, w, rows.d + 1)));
  }
  ~Products() { delete[] w_; }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  double least(int64_t i, double y, double& square) const {
    const Value* const x[] = {row(rows_, i)};
    Value product[1], squares[1];
    multiply_and_square<1, false, Value>(x, w_, rows_.d, x, x, product, squares);
    square = double(squares[0]);
    return y * double(product[0]) - slack_.of(square);
  }

 private:
  const DenseRows<Value>& rows_;
  Value* w_;
  Slack<Value> slack_;
};

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
        slack_(rows.d) {
    if (kCopies) for (int64_t j = 0; j < rows.d; ++j) copy_[j] = Value(v[j]);
    measure();
    slack_.allow(longest_);
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

  double update(int64_t i, double y, double a, double* v) {
    const double before = v[rows_.d];
    const double product = dot_then_add(row(rows_, i), a, v, copy_, rows_.d);
    if (!(longest_ < 2 * measured_)) {
      slack_.expect(__builtin_sqrt(1 + square_));
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
