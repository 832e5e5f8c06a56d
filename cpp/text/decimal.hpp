// Decimal numbers to the nearest double.
#pragma once
#include <locale.h>
#include <stdlib.h>

#include <bit>
#include <cstdint>
#include <string>
#include <version>
#ifdef __cpp_lib_to_chars
#include <charconv>
#endif
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include "text/bytes.hpp"

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

constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Signs of data are in no order that a branch could be predicted by.
inline double signed_double(double size, bool negative) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(size) ^ uint64_t(negative) << 63);
}

constexpr int64_t kShortRoom = 16;  // bytes that must be readable for parse_short_decimal

// The number that is all of this text, [-] digits [. digits], to the same double as parse_decimal.
// False if it is another text, or may have more than 8 digits. Nothing in it depends on what stands
// before, so that processors parse several such numbers at a time.
inline bool parse_short_decimal(const char* p, size_t size, double& value) {
  const bool negative = *p == '-';
  p += negative;
  size -= negative;
  uint64_t bytes = eight_bytes(p);
  const size_t whole = first_byte(other_than_digits(bytes));
  size_t digits = size;
  if (whole < size) {
    if (whole == 8 || p[whole] != '.') return false;
    // The point is taken out: the bytes behind it move up, and a ninth one is the last.
    const uint64_t moved = bytes >> 8 | uint64_t(uint8_t(p[8])) << 56;
    bytes = leading_bytes(bytes, whole) | (moved ^ leading_bytes(moved, whole));
    --digits;
    if (first_byte(other_than_digits(bytes)) < digits) return false;
  }
  if (digits - 1 >= 8) return false;  // none, or too many
  const size_t power = digits - (whole < size ? whole : digits);
  value = signed_double(double(number_of_digits(bytes, digits)) / kPowersOfTen[power], negative);
  return true;
}

// Digits are appended to a whole number, modulo 2^64; returns where they end.
inline const char* add_digits(const char* p, const char* end, uint64_t& whole) {
  for (; end - p >= 8; p += 8) {
    const uint64_t bytes = eight_bytes(p);
    if (other_than_digits(bytes)) break;
    whole = 100000000 * whole + number_of_digits(bytes, 8);
  }
  while (is_digit(*p)) whole = 10 * whole + uint64_t(*p++ - '0');
  return p;
}

// The number that begins here: [+-] digits [. digits] [e [+-] digits]. Where it ends, or null if
// there is none. What follows the text must be none of its characters, as the end of a line, and
// up to ``end`` all bytes can be read.
//
// A whole number below 2^53 times or by a power of ten up to 1e22, both doubles without rounding,
// is rounded once, and so is the nearest (Clinger, How to read floating point numbers accurately,
// 1990).
inline const char* parse_decimal(const char* p, const char* end, double& value) {
  constexpr int64_t kMostDigits = 19, kMostPower = 22, kNoMorePower = 100000;
  const bool negative = *p == '-';
  p += negative || *p == '+';
  const char* const begin = p;
  uint64_t whole = 0;  // wraps if there are more digits than count: then it is not used
  p = add_digits(p, end, whole);
  int64_t digits = p - begin, power = 0;
  if (*p == '.') {
    const char* const point = ++p;
    p = add_digits(p, end, whole);
    power = point - p;
    digits -= power;
  }
  if (!digits) return nullptr;
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool small = *p == '-';
    p += small || *p == '+';
    if (!is_digit(*p)) return nullptr;
    int64_t given = 0;
    for (; is_digit(*p); ++p) given = given < kNoMorePower ? 10 * given + (*p - '0') : given;
    power += small ? -given : given;
  }
  double size;
  if (digits <= kMostDigits && whole <= (uint64_t(1) << 53) && -kMostPower <= power &&
      power <= kMostPower)
    size = power < 0 ? double(whole) / kPowersOfTen[-power] : double(whole) * kPowersOfTen[power];
  else
    size = nearest_double(begin, p);
  value = signed_double(size, negative);
  return p;
}

}  // namespace separatrix
