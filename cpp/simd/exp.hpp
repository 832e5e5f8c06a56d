// Exponential and logarithm, for a number, a vector of them or a bundle of vectors.
//
// Range reduction by Cody and Waite (1980), then a polynomial.
#pragma once
#include "simd/doubles.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

// e^x for x <= 0, to about one unit in the last place; e^-708 below that.
template <class T>
inline T exp_negative(T x) {
  constexpr double kLog2E = 0x1.71547652b82fep0;
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  // e^r - 1 - r over r^2 for |r| <= ln(2)/2, by interpolation in Chebyshev's points, to 2e-17.
  constexpr double k2 = 0x1.0000000000011p-1, k3 = 0x1.555555555555ap-3,
                   k4 = 0x1.555555554f0bap-5, k5 = 0x1.111111110f21ep-7,
                   k6 = 0x1.6c16c1880029fp-10, k7 = 0x1.a01a01b1461c5p-13,
                   k8 = 0x1.a01991a10d9aep-16, k9 = 0x1.71ddf56d8deb5p-19,
                   k10 = 0x1.28b4101c77212p-22, k11 = 0x1.af632a0f7e2cfp-26;
  x = select(x < -708.0, splat<T>(-708.0), x);  // written so that NaN stays NaN
  const T shifted = fma(x, splat<T>(kLog2E), splat<T>(kRound));
  const T power = shifted - kRound;
  T rest = fma(power, splat<T>(-kLn2High), x);
  rest = fma(power, splat<T>(-kLn2Low), rest);
  // In pairs: a chain of terms would wait for each of its products.
  const auto pair = [rest](double low, double high) {
    return fma(splat<T>(high), rest, splat<T>(low));
  };
  const T square = rest * rest, fourth = square * square;
  const T low = fma(square, pair(k4, k5), pair(k2, k3));
  const T high = fma(fourth, pair(k10, k11), fma(square, pair(k8, k9), pair(k6, k7)));
  const T sum = 1.0 + fma(square, fma(fourth, high, low), rest);
  const T result = from_bits(bits(sum) + (bits(shifted) << 52));
  return select(x == x, result, x);  // the payload of a NaN would be added to its exponent
}

// 2 artanh(s) for 0 <= s <= 1/3, which is log(1 + t) where s = t / (2 + t).
template <class T>
inline T twice_artanh(T s) {
  // (artanh(s) / s - 1) / s^2, by interpolation in Chebyshev's points of s^2, to 3e-17.
  constexpr double k1 = 0x1.5555555555527p-2, k2 = 0x1.99999999a1c4fp-3,
                   k3 = 0x1.249249201beacp-3, k4 = 0x1.c71c7445b2127p-4,
                   k5 = 0x1.745caf74cbe5ep-4, k6 = 0x1.3b1e2bc8a12dep-4,
                   k7 = 0x1.106443d797a85p-4, k8 = 0x1.f00852a5c69fap-5,
                   k9 = 0x1.54f8c703ce149p-5, k10 = 0x1.5d1081172f887p-4;
  const T square = s * s, fourth = square * square;
  const auto pair = [square](double low, double high) {
    return fma(splat<T>(high), square, splat<T>(low));
  };
  const T low = fma(fourth, pair(k3, k4), pair(k1, k2));
  const T high = fma(fourth, pair(k7, k8), pair(k5, k6));
  const T rest = fma(fourth * fourth, fma(fourth * fourth, pair(k9, k10), high), low);
  return 2.0 * fma(s * square, rest, s);
}

// log(1 + t) for t >= 0, to about 1e-16; of a NaN itself.
inline Doubles log1p_positive(Doubles t) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1, kShift = 0x1p52;
  constexpr uint64_t kFraction = (uint64_t(1) << 52) - 1, kOne = uint64_t(1023) << 52;
  const Doubles whole = 1.0 + t;
  const Doubles fraction = from_bits((bits(whole) & kFraction) | kOne);  // between 1 and 2
  const Doubles exponent = from_bits((bits(whole) >> 52) | bits(kShift)) - (kShift + 1023.0);
  const Doubles over = select(whole < 2.0, t, fraction - 1.0);
  const Doubles log = fma(exponent, splat<Doubles>(kLn2), twice_artanh(over / (2.0 + over)));
  return select(t == t, log, t);
}

// The natural logarithm of a normal number above 0, to about 1e-16.
inline double log_normal(double x) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr uint64_t kFraction = (uint64_t(1) << 52) - 1, kOne = uint64_t(1023) << 52;
  const double fraction = from_bits((bits(x) & kFraction) | kOne);  // between 1 and 2
  const auto exponent = double(int64_t(bits(x) >> 52) - 1023);
  return fma(exponent, kLn2, twice_artanh((fraction - 1) / (fraction + 1)));
}

}  // namespace separatrix::SEPARATRIX_LEVEL
