#include "python/shapes.hpp"

#include <string>

namespace separatrix {

namespace {

// (3, 12), as Python writes it; of a list of names likewise.
template <class Item>
std::string tuple_of(size_t count, Item&& item) {
  std::string text = "(";
  for (size_t i = 0; i < count; ++i) text += (i ? ", " : "") + item(i);
  return text + (count == 1 ? ",)" : ")");
}

[[noreturn]] void refuse_shape(const ArrayEntry& entry) {
  const Size* const sizes = entry.expected.begin();
  const size_t count = entry.expected.size();
  const auto value = [&](size_t i) {
    return (sizes[i].or_more ? ">= " : "") + std::to_string(sizes[i].value);
  };
  const auto message =
      std::string(entry.name) + ": expected shape " + tuple_of(count, value) + ", which is " +
      tuple_of(count, [&](size_t i) { return std::string(sizes[i].name); }) + ", got " +
      tuple_of(entry.ndim, [&](size_t i) { return std::to_string(entry.shape[i]); });
  throw nb::value_error(message.c_str());
}

bool fits(const ArrayEntry& entry) {
  if (!entry.present || entry.compared == ArrayEntry::kMemory) return true;
  if (entry.compared == ArrayEntry::kTotal) return entry.total == entry.expected.begin()->value;
  if (entry.ndim != entry.expected.size()) return false;
  const int64_t* length = entry.shape;
  for (const Size& size : entry.expected) {
    if (size.or_more ? *length < size.value : *length != size.value) return false;
    ++length;
  }
  return true;
}

void refuse_overlap(const ArrayEntry& output, const char* other, const void* data, int64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(output.data);
  const auto other_begin = reinterpret_cast<uintptr_t>(data);
  if (bytes == 0 || begin >= other_begin + uintptr_t(bytes) ||
      other_begin >= begin + uintptr_t(output.bytes))
    return;
  const auto message = std::string(output.name) + ": shares memory with " + other +
                       ", and is written to: pass a copy of one of them";
  throw nb::value_error(message.c_str());
}

}  // namespace

void check_arrays(const RowMemory& rows, std::initializer_list<ArrayEntry> table,
                  std::initializer_list<ArrayEntry> more) {
  const auto each = [&](auto&& f) {
    for (const ArrayEntry& entry : table) f(entry);
    for (const ArrayEntry& entry : more) f(entry);
  };
  each([](const ArrayEntry& entry) {
    if (!fits(entry)) refuse_shape(entry);
  });
  each([&](const ArrayEntry& output) {
    if (!output.written || output.bytes == 0) return;
    for (const auto& part : rows.parts) refuse_overlap(output, part.name, part.data, part.bytes);
    each([&](const ArrayEntry& other) {
      if (&other != &output) refuse_overlap(output, other.name, other.data, other.bytes);
    });
  });
}

void check_below(const char* name, const int64_t* numbers, int64_t count, int64_t below) {
  // The sign bit of the `or` shows whether a number was below 0 or above the last.
  uint64_t beyond = 0;
  for (int64_t i = 0; i < count; ++i)
    beyond |= uint64_t(numbers[i]) | (uint64_t(below - 1) - uint64_t(numbers[i]));
  if (int64_t(beyond) >= 0) return;
  const auto message =
      std::string(name) + ": expected numbers from 0 to " + std::to_string(below - 1);
  throw nb::value_error(message.c_str());
}

int64_t checked_product(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) throw nb::value_error("the arrays are too large");
  return product;
}

}  // namespace separatrix
