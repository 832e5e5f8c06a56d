// Text many bytes at a time: 16 compared at once, digits 8 at a time.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace separatrix {

constexpr uint64_t kEveryByte = 0x0101010101010101;  // times a byte: that byte eight times
constexpr uint64_t kHighBits = 0x80 * kEveryByte;

// In a word whose lowest byte is the first.
inline uint64_t eight_bytes(const char* p) {
  uint64_t bytes;
  std::memcpy(&bytes, p, 8);
  if constexpr (std::endian::native == std::endian::big) {
    uint64_t turned = 0;
    for (int i = 0; i < 8; ++i) turned = turned << 8 | (bytes >> 8 * i & 0xff);
    return turned;
  }
  return bytes;
}

// Which of eight bytes are c: a bit for each, that of the first lowest.
inline uint32_t equal_bytes(uint64_t bytes, char c) {
  constexpr uint64_t kGather = 0x0102040810204080;  // times bits that are eight apart
  const uint64_t other = bytes ^ uint8_t(c) * kEveryByte;
  const uint64_t same = ~(((other & ~kHighBits) + ~kHighBits) | other) & kHighBits;
  return uint32_t(((same >> 7) * kGather) >> 56);
}

// 16 bytes, all of which must be readable.
class Sixteen {
 public:
#ifdef __SSE2__
  explicit Sixteen(const char* p) : bytes_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))) {}
  // Which of them are c: a bit for each, that of the first lowest.
  uint32_t equal(char c) const {
    return uint32_t(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes_, _mm_set1_epi8(c))));
  }

 private:
  __m128i bytes_;
#else
  explicit Sixteen(const char* p) : first_(eight_bytes(p)), last_(eight_bytes(p + 8)) {}
  uint32_t equal(char c) const { return equal_bytes(first_, c) | equal_bytes(last_, c) << 8; }

 private:
  uint64_t first_, last_;
#endif
};

// A mask of the bytes that are no digits, the highest bit of each.
inline uint64_t other_than_digits(uint64_t bytes) {
  const uint64_t digits = bytes ^ '0' * kEveryByte;  // 0 to 9
  return (((digits & ~kHighBits) + (0x80 - 10) * kEveryByte) | digits) & kHighBits;
}

// The number of the first byte in such a mask; 8 if there is none.
inline size_t first_byte(uint64_t mask) { return size_t(std::countr_zero(mask)) / 8; }

// The first bytes, up to 7; the others are 0.
inline uint64_t leading_bytes(uint64_t bytes, size_t count) {
  return bytes & ((uint64_t(1) << 8 * count) - 1);
}

// Up to 16 bytes, of which the first are to be kept and the others become 0; without a branch.
inline void clear_after(uint64_t& first, uint64_t& last, size_t count) {
  alignas(32) static constexpr uint8_t kKept[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const char* const kept = reinterpret_cast<const char*>(kKept) + 16 - count;
  first &= eight_bytes(kept);
  last &= eight_bytes(kept + 8);
}

// The number that 1 to 8 digits stand for: pairs, then fours, then all.
inline uint64_t number_of_digits(uint64_t bytes, size_t count) {
  uint64_t n = (bytes ^ '0' * kEveryByte) << 8 * (8 - count);  // zeros in front
  n = (10 * n + (n >> 8)) & 0x00ff00ff00ff00ff;
  n = (100 * n + (n >> 16)) & 0x0000ffff0000ffff;
  return (10000 * n + (n >> 32)) & 0xffffffff;
}

}  // namespace separatrix
