// The distinct words of a column.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "text/bytes.hpp"

namespace separatrix {

// What a table compares first. Of a short word it is all of it: its bytes, then zeros, and its
// length in the last byte. Of a longer one it is a hash, and 0xff in the last byte.
struct WordKey {
  static constexpr size_t kShort = 15;  // bytes
  uint64_t first = 0, last = 0;

  // Of a word of at most kShort bytes, if 16 can be read.
  static WordKey of_short(const char* word, size_t size) {
    WordKey key{eight_bytes(word), eight_bytes(word + 8)};
    clear_after(key.first, key.last, size);
    key.last |= uint64_t(size) << 56;
    return key;
  }
  static WordKey of(const char* word, size_t size);
  bool operator==(const WordKey&) const = default;
};

// Words numbered in order of their first occurrence.
class WordTable {
 public:
  // The number of a word. Negative if too many words have similar hashes.
  int32_t number_of(const char* word, size_t size, const WordKey& key);

  std::vector<int32_t> offsets{0};  // of each word, and the end of the last
  std::string text;                 // all words, one after another

 private:
  struct Slot {
    WordKey key;
    int32_t number = -1;  // none
  };
  bool is_word(int32_t number, const char* word, size_t size) const;
  int32_t add(Slot& slot, const char* word, size_t size, const WordKey& key);
  void grow();
  std::vector<Slot> slots_ = std::vector<Slot>(64);  // open addressing; a power of two
};

}  // namespace separatrix
