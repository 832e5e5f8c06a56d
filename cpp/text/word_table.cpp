#include "text/word_table.hpp"

#include <cstring>

namespace separatrix {

namespace {

constexpr int kMostProbes = 128;  // a text made to have similar hashes would take for ever
constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;

size_t hash_of(const WordKey& key) {
  uint64_t hash = key.first * kFactor;
  hash = (hash ^ hash >> 32 ^ key.last) * kFactor;
  return size_t(hash >> 32);
}

WordKey hashed(const char* word, size_t size) {
  uint64_t hash = size * kFactor;
  for (; size >= 8; word += 8, size -= 8) {
    hash = (hash ^ eight_bytes(word)) * kFactor;
    hash ^= hash >> 32;
  }
  uint64_t part = 0;
  for (size_t i = 0; i < size; ++i) part = part << 8 | uint8_t(word[i]);
  return {(hash ^ part) * kFactor, uint64_t(0xff) << 56};
}

}  // namespace

WordKey WordKey::of(const char* word, size_t size) {
  if (size > kShort) return hashed(word, size);
  char bytes[16] = {};
  std::memcpy(bytes, word, size);
  return of_short(bytes, size);
}

int32_t WordTable::number_of(const char* word, size_t size, const WordKey& key) {
  const size_t mask = slots_.size() - 1, hash = hash_of(key);
  for (size_t probe = 0; probe < kMostProbes; ++probe) {
    Slot& slot = slots_[(hash + probe) & mask];
    if (slot.number < 0) return add(slot, word, size, key);
    if (slot.key == key && (size <= WordKey::kShort || is_word(slot.number, word, size)))
      return slot.number;
  }
  return -1;
}

bool WordTable::is_word(int32_t number, const char* word, size_t size) const {
  const auto start = size_t(offsets[size_t(number)]), end = size_t(offsets[size_t(number) + 1]);
  return end - start == size && std::memcmp(text.data() + start, word, size) == 0;
}

int32_t WordTable::add(Slot& slot, const char* word, size_t size, const WordKey& key) {
  if (text.size() + size > size_t(INT32_MAX)) return -1;
  const auto number = int32_t(offsets.size()) - 1;
  slot = {key, number};
  text.append(word, size);
  offsets.push_back(int32_t(text.size()));
  if (2 * offsets.size() > slots_.size()) grow();
  return number;
}

void WordTable::grow() {
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : before) {
    if (slot.number < 0) continue;
    size_t at = hash_of(slot.key) & mask;
    while (slots_[at].number >= 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace separatrix
