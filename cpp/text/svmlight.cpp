#include "text/svmlight.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "text/decimal.hpp"

namespace separatrix {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool ends_word(char c) { return is_blank(c) || c == '\n' || c == '#'; }

const char* skip_blanks(const char* p) {
  while (is_blank(*p)) ++p;
  return p;
}

const char* line_end(const char* p, const char* end) {
  return static_cast<const char*>(std::memchr(p, '\n', size_t(end - p)));
}

// A whole number without a sign; beyond kLastIndex it may be any that is.
const char* parse_index(const char* p, int64_t& index) {
  int64_t whole = 0;
  for (; is_digit(*p); ++p) whole = whole <= kLastIndex ? 10 * whole + (*p - '0') : whole;
  index = whole;
  return p;
}

// The query of a ranking, which a classifier has no use for; null if it is not there.
const char* parse_query(const char* p) {
  if (std::strncmp(p, "qid:", 4) != 0) return nullptr;
  p += 4;
  p += *p == '-';
  if (!is_digit(*p)) return nullptr;
  while (is_digit(*p)) ++p;
  return ends_word(*p) ? p : nullptr;
}

// One index:value after another, from the end of the label to the end of the line or its comment;
// null if there is a flaw.
const char* parse_entries(const char* p, const char* end, int64_t first_index, int64_t features,
                          SvmlightRows& rows, const char*& word) {
  int64_t before = first_index - 1, entries = rows.entries, left_out = rows.left_out;
  p = skip_blanks(p);
  if (const char* const after = parse_query(p)) p = skip_blanks(after);
  const auto fail = [&](int flaw) {
    rows.flaw = flaw;
    return nullptr;
  };
  while (*p != '\n' && *p != '#') {
    word = p;
    int64_t index;
    p = parse_index(p, index);
    if (p == word || *p != ':') return fail(kFeature);
    double value;
    p = parse_decimal(p + 1, end, value);
    if (!p || !ends_word(*p) || !std::isfinite(value)) return fail(kValue);
    if (index < first_index || index - first_index > kLastIndex) return fail(kIndexRange);
    if (index <= before) return fail(kIndexOrder);
    before = index;
    if (index - first_index < features) {
      if (entries == rows.max_entries) return fail(kRoom);
      rows.values[entries] = value;
      rows.indices[entries++] = int32_t(index - first_index);
    } else {
      ++left_out;
    }
    p = skip_blanks(p);
  }
  rows.entries = entries;
  rows.left_out = left_out;
  return p;
}

}  // namespace

SvmlightCounts count_svmlight(const char* text, int64_t size) {
  constexpr int64_t kFew = 128;  // so that a byte is enough to count them: a vector holds many
  SvmlightCounts counts;
  for (int64_t begin = 0; begin < size; begin += kFew) {
    const int64_t few = std::min(kFew, size - begin);
    uint8_t lines = 0, entries = 0;
    for (int64_t i = begin; i < begin + few; ++i) {
      lines += text[i] == '\n';
      entries += text[i] == ':';
    }
    counts.lines += lines;
    counts.entries += entries;
  }
  return counts;
}

IndexRange svmlight_index_range(const char* text, int64_t size) {
  IndexRange range;
  const auto look_at = [&](const char* line, const char* colon) {
    const char* p = colon;
    while (p > line && is_digit(p[-1])) --p;
    if (p == colon) return false;
    int64_t index;
    parse_index(p, index);
    range.smallest = std::min(range.smallest, index);
    range.largest = std::max(range.largest, index);
    return true;
  };
  const char* const end = text + size;
  for (const char* line = text; line < end;) {
    const char* const stop = line_end(line, end);
    const char* last = static_cast<const char*>(std::memchr(line, '#', size_t(stop - line)));
    last = last ? last : stop;
    const char* first = line;
    while ((first = static_cast<const char*>(std::memchr(first, ':', size_t(last - first)))) &&
           !look_at(line, first))
      ++first;  // of the query
    if (first) {
      while (*--last != ':') {}
      look_at(line, last);
    }
    line = stop + 1;
  }
  return range;
}

void parse_svmlight(const char* text, int64_t size, int64_t first_index, int64_t features,
                    SvmlightRows& rows) {
  const char* const end = text + size;
  rows.indptr[0] = 0;
  for (const char* p = text; p < end; ++p) {
    p = skip_blanks(p);
    if (*p != '\n' && *p != '#') {
      if (rows.rows == rows.max_rows) {
        rows.flaw = kRoom;
        return;
      }
      const char* word = p;
      double& label = rows.labels[rows.rows];
      p = parse_decimal(p, end, label);
      if (!p || !ends_word(*p) || !std::isfinite(label)) {
        rows.flaw = kLabel;
        p = nullptr;
      } else {
        p = parse_entries(p, end, first_index, features, rows, word);
      }
      if (!p) {
        rows.at = word - text;
        return;
      }
      rows.indptr[++rows.rows] = int32_t(rows.entries);
    }
    if (*p == '#') p = line_end(p, end);
  }
}

}  // namespace separatrix
