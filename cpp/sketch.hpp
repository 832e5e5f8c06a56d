// Margins of a few rows at once, only as exact as a decision needs.
//
// The plain loop sums products in double and in one fixed order. To know that a row is right it
// is enough to sum them in the precision of the row, in any order, and to stay clear of zero by
// more than both sums can be wrong. Rows that are not settled so are computed as in the plain
// loop: no decision changes.
#pragma once
#include "rows.hpp"

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

// Products x . w and squares |x|^2 of two rows, in their precision and each in two sums: as many
// as a processor has under way. The sums have names, and no place in an array, so that they
// stay in registers. On the way lines of other rows are fetched, one for each that is used: a
// burst of them would wait for room.
template <class Value>
[[gnu::always_inline]] inline void multiply_and_square(
    const Value* x, const Value* z, const Value* w, int64_t d, const Value* const (&near)[2],
    const Value* const (&far)[2], Value (&product)[2], Value (&square)[2]) {
  using Pack = typename PackOf<Value>::Type;
  constexpr int64_t kCount = sizeof(Pack) / sizeof(Value), kOfLine = kLine / sizeof(Value);
  Pack xw_even = {}, xw_odd = {}, xx_even = {}, xx_odd = {};
  Pack zw_even = {}, zw_odd = {}, zz_even = {}, zz_odd = {};
  int64_t j = 0, fetched = 0;
  for (; j + 2 * kCount <= d; j += 2 * kCount) {
    if (j >= fetched) {
      for (int r = 0; r < 2; ++r) {
        __builtin_prefetch(near[r] + j, 0, 3);
        __builtin_prefetch(far[r] + j, 0, 2);
      }
      fetched += kOfLine;
    }
    const Pack even = load_pack<Pack>(w + j), odd = load_pack<Pack>(w + j + kCount);
    const Pack x_even = load_pack<Pack>(x + j), x_odd = load_pack<Pack>(x + j + kCount);
    const Pack z_even = load_pack<Pack>(z + j), z_odd = load_pack<Pack>(z + j + kCount);
    xw_even = fma(x_even, even, xw_even);
    zw_even = fma(z_even, even, zw_even);
    xw_odd = fma(x_odd, odd, xw_odd);
    zw_odd = fma(z_odd, odd, zw_odd);
    xx_even = fma(x_even, x_even, xx_even);
    zz_even = fma(z_even, z_even, zz_even);
    xx_odd = fma(x_odd, x_odd, xx_odd);
    zz_odd = fma(z_odd, z_odd, zz_odd);
  }
  if (j + kCount <= d) {
    const Pack even = load_pack<Pack>(w + j);
    const Pack x_even = load_pack<Pack>(x + j), z_even = load_pack<Pack>(z + j);
    xw_even = fma(x_even, even, xw_even);
    zw_even = fma(z_even, even, zw_even);
    xx_even = fma(x_even, x_even, xx_even);
    zz_even = fma(z_even, z_even, zz_even);
    j += kCount;
  }
  Value xw = total<Value>(xw_even + xw_odd), xx = total<Value>(xx_even + xx_odd);
  Value zw = total<Value>(zw_even + zw_odd), zz = total<Value>(zz_even + zz_odd);
  for (; j < d; ++j) {
    xw += x[j] * w[j];
    xx += x[j] * x[j];
    zw += z[j] * w[j];
    zz += z[j] * z[j];
  }
  for (int r = 0; r < 2 && d > 0; ++r) {  // a row may end in a line of its own
    __builtin_prefetch(near[r] + d - 1, 0, 3);
    __builtin_prefetch(far[r] + d - 1, 0, 2);
  }
  product[0] = xw;
  product[1] = zw;
  square[0] = xx;
  square[1] = zz;
}

// Margins of rows one by one, as the plain loop has them.
template <class Rows>
class Margins {
 public:
  static constexpr int kFlight = 1;  // rows read at a time
  Margins(const Rows& rows, const double* v) : rows_(rows), v_(v) {}

  // Bounds on y * (w.x + b) from below, above 0 only where the plain loop's margin is; on the
  // way the rows `near`, to be read soon, and `far` are fetched.
  void read(const int64_t (&i)[1], const int64_t (&near)[1], const int64_t (&far)[1],
            const double* y, double (&bound)[1]) {
    prefetch_row<2>(rows_, far[0]);
    prefetch_row<3>(rows_, near[0]);
    bound[0] = margin_ = y[i[0]] * (dot(rows_, i[0], v_) + v_[rows_.d]);
  }

  // Whether the b-th of the rows just read, not known to be right, is right after all.
  bool right(int, int64_t, const double*) const { return false; }

  // Adds a times that row to the weights; returns its margin before.
  double update(int, int64_t i, const double* /*y*/, double a, double* v) {
    add(rows_, i, a, v);
    return margin_;
  }

 private:
  const Rows& rows_;
  const double* v_;
  double margin_ = 0;
};

// Of dense rows two at a time, in their own precision.
template <class Value>
class Margins<DenseRows<Value>> {
 public:
  static constexpr int kFlight = 2;
  Margins(const DenseRows<Value>& rows, const double* v)
      : rows_(rows), v_(v), copy_(kCopies ? new Value[size_t(rows.d)] : nullptr) {
    if (kCopies) for (int64_t j = 0; j < rows.d; ++j) copy_[j] = Value(v[j]);
    measure();
    allow();
  }
  ~Margins() { delete[] copy_; }
  Margins(const Margins&) = delete;
  Margins& operator=(const Margins&) = delete;

  void read(const int64_t (&i)[2], const int64_t (&near)[2], const int64_t (&far)[2],
            const double* y, double (&bound)[2]) {
    Value product[2], square[2];
    multiply_and_square<Value>(row(rows_, i[0]), row(rows_, i[1]), weights(), rows_.d,
                               {row(rows_, near[0]), row(rows_, near[1])},
                               {row(rows_, far[0]), row(rows_, far[1])}, product, square);
    for (int r = 0; r < 2; ++r) {
      const double margin = y[i[r]] * (double(product[r]) + v_[rows_.d]);
      const double slack = per_square_ * double(square[r]) + at_least_;
      bound[r] = margin - slack;
      wrong_[r] = margin + slack < 0;
      square_[r] = double(square[r]);
    }
  }

  bool right(int b, int64_t i, const double* y) const {
    return !wrong_[b] && y[i] * (dot(rows_, i, v_) + v_[rows_.d]) > 0;
  }

  double update(int b, int64_t i, const double* y, double a, double* v) {
    const double before = v[rows_.d];
    const double product = dot_then_add(row(rows_, i), a, v, copy_, rows_.d);
    if (!(longest_ < 2 * measured_)) {
      typical_ = __builtin_sqrt(1 + square_[b]);
      measure();
    }
    longest_ += (a < 0 ? -a : a) * (square_[b] / typical_ + typical_);  // more than |(x, 1)|
    allow();
    return y[i] * (product + before);
  }

 private:
  static constexpr bool kCopies = sizeof(Value) < sizeof(double);
  using Pack = PackOf<Value>;

  // |(w, b)|, or more.
  void measure() {
    measured_ = longest_ = 1.001 * __builtin_sqrt(dot(v_, v_, rows_.d + 1));
    if (!(typical_ < 1e300)) typical_ = 1;
  }

  // Both sums are wrong by no more than `error` |(w, b)| |(x, 1)|, and where numbers are too small
  // for relative errors, by less than with weights of length `least`. To spare a root for every
  // row, its norm is bounded by (|(x, 1)|^2 / typical + typical) / 2.
  void allow() {
    const double terms = double(rows_.d) * double(sizeof(Value)) / kBytes + 24;
    const double error = 2 * (Pack::kUnit * terms + 0x1p-53 * (double(rows_.d) + 24));
    const double least = double(rows_.d + 1) * Pack::kShort;
    const double length = longest_ + least;
    per_square_ = 0.51 * error * length / typical_;
    at_least_ = 0.51 * error * length * typical_ + 1.01 * per_square_;
    if (!(length < Pack::kLongest && error < 0.01)) at_least_ = __builtin_inf();
  }

  const Value* weights() const {
    if constexpr (kCopies) return copy_;
    else return v_;
  }

  const DenseRows<Value>& rows_;
  const double* v_;
  Value* copy_;                            // w in the precision of the rows
  double measured_ = 0, longest_ = 0;      // |(w, b)| when last measured, and at most now
  double typical_ = 1;                     // |(x, 1)| of some row
  double per_square_ = 0, at_least_ = 0;   // what a margin may be wrong by
  double square_[2] = {};                  // of the rows just read
  bool wrong_[2] = {};
};

}  // namespace separatrix::SEPARATRIX_LEVEL
