#include "text/csv.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "text/decimal.hpp"

namespace separatrix {

namespace {

constexpr int kMostProbes = 128;  // a text made to have similar hashes would take for ever
// Beyond, parsers differ in what they do with numbers that are too large or too small for a double.
constexpr double kLargest = 1e300, kSmallest = 1e-290;

constexpr std::string_view kMissing[] = {
    "",     "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
    "1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"};

bool is_missing(const char* word, size_t size) {
  if (size > 9) return false;
  const std::string_view given(word, size);
  for (const auto& other : kMissing)
    if (given == other) return true;
  return false;
}

uint32_t hash_of(const char* word, size_t size) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
  uint64_t hash = size * kFactor;
  for (; size >= 8; word += 8, size -= 8) {
    uint64_t part;
    std::memcpy(&part, word, 8);
    hash = (hash ^ part) * kFactor;
    hash ^= hash >> 32;
  }
  uint64_t part = 0;
  for (size_t i = 0; i < size; ++i) part = part << 8 | uint8_t(word[i]);
  hash = (hash ^ part) * kFactor;
  return uint32_t(hash >> 32);
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Reads one text; every function returns where the field ends, or null if it is refused.
class Parser {
 public:
  Parser(char delimiter, CsvRows& rows) : delimiter_(delimiter), rows_(rows) {}

  bool parse(const char* p, const char* end, bool has_names) {
    end_ = end;
    while (p < end) {
      if (*p == '\n' || (*p == '\r' && p[1] == '\n')) {  // an empty line is no row
        p += 1 + (*p == '\r');
        continue;
      }
      if (!has_names && rows_.rows == rows_.max_rows) return false;
      for (int64_t column = 0; column < rows_.columns; ++column) {
        p = parse_field(p, has_names ? uint8_t(kSkip) : rows_.kinds[column], rows_.slots[column]);
        if (!p) return false;
        if (column + 1 < rows_.columns && *p++ != delimiter_) return false;
      }
      p += *p == '\r';
      if (*p++ != '\n') return false;
      rows_.rows += !has_names;
      has_names = false;
    }
    return true;
  }

 private:
  bool ends_field(char c) const { return c == delimiter_ || c == '\n' || c == '\r'; }

  const char* parse_field(const char* p, uint8_t kind, int32_t slot) {
    if (*p == '"') return parse_quoted(p + 1, kind, slot);
    if (kind == kNumber) {
      double& value = rows_.numbers[rows_.rows * rows_.number_columns + slot];
      const char* const after = parse_number(p, value);
      if (after && ends_field(*after)) return after;
      const char* const stop = word_end(p);
      if (!stop || !is_missing(p, size_t(stop - p))) return nullptr;
      value = std::numeric_limits<double>::quiet_NaN();
      return stop;
    }
    const char* const stop = word_end(p);
    return stop && (kind == kSkip || add_word(p, size_t(stop - p), slot)) ? stop : nullptr;
  }

  // A field without quotes; quotes within it mean nothing, but few parsers agree on that.
  const char* word_end(const char* p) const {
    while (!ends_field(*p)) {
      if (*p == '"') return nullptr;
      ++p;
    }
    return *p == '\r' && p[1] != '\n' ? nullptr : p;
  }

  const char* parse_quoted(const char* p, uint8_t kind, int32_t slot) {
    const char* word = p;
    const char* stop = quote(p);
    if (!stop) return nullptr;
    if (stop[1] == '"') {  // two quotes stand for one
      unquoted_.clear();
      while (stop && stop[1] == '"') {
        unquoted_.append(p, size_t(stop + 1 - p));
        p = stop + 2;
        stop = quote(p);
      }
      if (!stop) return nullptr;
      unquoted_.append(p, size_t(stop - p));
      if (kind == kNumber) return nullptr;
    }
    if (!ends_field(stop[1]) || (stop[1] == '\r' && stop[2] != '\n')) return nullptr;
    const bool copied = word != p;
    const size_t size = copied ? unquoted_.size() : size_t(stop - word);
    word = copied ? unquoted_.data() : word;
    if (kind == kWord && !add_word(word, size, slot)) return nullptr;
    if (kind == kNumber) {
      double& value = rows_.numbers[rows_.rows * rows_.number_columns + slot];
      if (is_missing(word, size)) value = std::numeric_limits<double>::quiet_NaN();
      else if (parse_number(word, value) != stop) return nullptr;
    }
    return stop + 1;
  }

  // The next quote; the text's last byte is the end of a line, so another follows any quote.
  const char* quote(const char* p) const {
    return static_cast<const char*>(std::memchr(p, '"', size_t(end_ - p)));
  }

  // A finite number, with blanks around it.
  const char* parse_number(const char* p, double& value) const {
    while (is_blank(*p) && *p != delimiter_) ++p;
    const char* const begin = p;
    if (*p == '+') return nullptr;
    p = parse_decimal(p, value);
    if (!p) return nullptr;
    const double size = std::fabs(value);
    if (!(size <= kLargest) || (size < kSmallest && !is_zero(begin, p))) return nullptr;
    while (is_blank(*p) && *p != delimiter_) ++p;
    return p;
  }

  static bool is_zero(const char* p, const char* end) {
    for (; p < end && *p != 'e' && *p != 'E'; ++p)
      if (*p >= '1' && *p <= '9') return false;
    return true;
  }

  bool add_word(const char* word, size_t size, int32_t slot) {
    int32_t& code = rows_.codes[slot * rows_.max_rows + rows_.rows];
    code = -1;
    return is_missing(word, size) || (code = rows_.words[size_t(slot)].number_of(word, size)) >= 0;
  }

  const char delimiter_;
  CsvRows& rows_;
  const char* end_ = nullptr;
  std::string unquoted_;
};

}  // namespace

int32_t WordTable::number_of(const char* word, size_t size) {
  const uint32_t hash = hash_of(word, size);
  const size_t mask = slots_.size() - 1;
  for (int probe = 0; probe < kMostProbes; ++probe) {
    Slot& slot = slots_[(hash + size_t(probe)) & mask];
    if (slot.number < 0) {
      if (text.size() + size > size_t(INT32_MAX)) return -1;
      slot = {hash, int32_t(offsets.size()) - 1};
      const int32_t number = slot.number;
      text.append(word, size);
      offsets.push_back(int32_t(text.size()));
      if (2 * offsets.size() > slots_.size()) grow();
      return number;
    }
    if (slot.hash != hash) continue;
    const size_t start = size_t(offsets[size_t(slot.number)]);
    const size_t length = size_t(offsets[size_t(slot.number) + 1]) - start;
    if (length == size && std::memcmp(text.data() + start, word, size) == 0) return slot.number;
  }
  return -1;
}

void WordTable::grow() {
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : before) {
    if (slot.number < 0) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].number >= 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

int64_t csv_rows_end(const char* text, int64_t size, char delimiter) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const auto is_line_end = [](char c) { return c == '\n' || c == '\r'; };
  const char *p = text, *const end = text + size, *found = text;
  const bool marked = std::string_view(text, size_t(size)).starts_with(kByteOrderMark);
  const char* const first = marked ? text + kByteOrderMark.size() : text;
  for (; p < end; ++p) {
    if (is_line_end(*p)) {
      if (*p == '\n' || p + 1 < end) found = p + 1;  // else perhaps of CR LF
    } else if (*p == '"') {
      if (p != first && (p == text || (p[-1] != delimiter && !is_line_end(p[-1])))) return -1;
      do {  // two quotes stand for one
        for (++p; p < end && *p != '"';) ++p;
        if (p >= end - 1) return found - text;
      } while (*++p == '"');
      if (*p != delimiter && !is_line_end(*p)) return -1;
      --p;
    }
  }
  return found - text;
}

bool parse_csv(const char* text, int64_t size, char delimiter, bool has_names, CsvRows& rows) {
  return Parser(delimiter, rows).parse(text, text + size, has_names);
}

}  // namespace separatrix
