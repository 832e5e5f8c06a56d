// Decimal numbers to the nearest double.
#pragma once
#include <locale.h>
#include <stdlib.h>

#include <cstdint>
#include <string>
#include <version>
#ifdef __cpp_lib_to_chars
#include <charconv>
#endif
#ifdef __APPLE__
#include <xlocale.h>
#endif

namespace separatrix {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Digits with a point or an exponent, without a sign; too large a number is infinite. By the
// library, fast where it can: strtod is slower, and its point is that of the user's country.
inline double nearest_double(const char* begin, const char* end) {
#ifdef __cpp_lib_to_chars
  double value = 0.0;
  if (std::from_chars(begin, end, value).ec == std::errc()) return value;  // else out of range
#endif
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(std::string(begin, end).c_str(), nullptr, plain);
}

// The number that begins here: [+-] digits [. digits] [e [+-] digits]. Where it ends, or null if
// there is none. What follows the text must be none of its characters, as the end of a line.
//
// A whole number below 2^53 times or by a power of ten up to 1e22, both doubles without rounding,
// is rounded once, and so is the nearest (Clinger, How to read floating point numbers accurately,
// 1990).
inline const char* parse_decimal(const char* p, double& value) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr int64_t kMostDigits = 19, kMostPower = 22, kNoMorePower = 100000;
  const bool negative = *p == '-';
  p += negative || *p == '+';
  const char* const begin = p;
  uint64_t whole = 0;  // wraps if there are more digits than count: then it is not used
  while (is_digit(*p)) whole = 10 * whole + uint64_t(*p++ - '0');
  int64_t digits = p - begin, power = 0;
  if (*p == '.') {
    const char* const point = ++p;
    while (is_digit(*p)) whole = 10 * whole + uint64_t(*p++ - '0');
    power = point - p;
    digits -= power;
  }
  if (!digits) return nullptr;
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool small = *p == '-';
    p += small || *p == '+';
    if (!is_digit(*p)) return nullptr;
    int64_t told = 0;
    for (; is_digit(*p); ++p) told = told < kNoMorePower ? 10 * told + (*p - '0') : told;
    power += small ? -told : told;
  }
  double size;
  if (digits <= kMostDigits && whole <= (uint64_t(1) << 53) && -kMostPower <= power &&
      power <= kMostPower)
    size = power < 0 ? double(whole) / kPowers[-power] : double(whole) * kPowers[power];
  else
    size = nearest_double(begin, p);
  value = negative ? -size : size;
  return p;
}

}  // namespace separatrix
