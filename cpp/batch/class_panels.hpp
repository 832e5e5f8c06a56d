// Tiles of rows and the weights of many classes: scores by all of them, and sums for each.
//
// Dense rows are multiplied with the weights in panels (d, some classes), some columns at a time, so
// that their pieces of all rows and of a panel stay in the nearest cache. All is in double; or in
// float where rows are, for sums that need not be exact.
#pragma once
#include "simd/buffer.hpp"
#include "simd/panels.hpp"
#include "rows/class_lines.hpp"
#include "simd/floats.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

constexpr int64_t kClassTileRows = 32;  // rows in a tile, at most
constexpr int64_t kClassTileColumns = 128;

// Such a tile as rows of its own. Floats are made doubles once, and not for every class.
template <class Rows, class Real>
struct WidenedTile {
  const Rows& rows;
  explicit WidenedTile(const Rows& all) : rows(all) {}
  Rows tile(int64_t first, int64_t count) const { return slice(rows, first, count); }
};

template <>
struct WidenedTile<DenseRows<float>, double> {
  const DenseRows<float>& rows;
  const Buffer<double> room;
  explicit WidenedTile(const DenseRows<float>& all) : rows(all), room(kClassTileRows * all.d) {}

  DenseRows<double> tile(int64_t first, int64_t count) const {
    const float* const from = row(rows, first);
    const int64_t size = count * rows.d;
    int64_t j = 0;
    for (; j + kWidth <= size; j += kWidth) store(room + j, load(from + j));
    for (; j < size; ++j) room[j] = double(from[j]);
    return {room, count, rows.d};
  }
};

// k classes in as few panels as registers hold the sums of, all about as wide, zeros at the end.
template <class Real>
class Panels {
 public:
  static constexpr int kPiece = kBytes / int(sizeof(Real));  // classes
  static constexpr int kMost = kBytes == 16 ? (kRegisters > 16 ? 5 : 2) : 3;  // pieces

  explicit Panels(int64_t k)
      : pieces_((k + kPiece - 1) / kPiece), count_((pieces_ + kMost - 1) / kMost) {}

  int64_t pieces() const { return pieces_; }
  int64_t width() const { return pieces_ * kPiece; }

  // f(number of pieces, first class) for every panel.
  template <class F>
  void each(F&& f) const {
    for (int64_t p = 0; p < count_; ++p) {
      const int64_t first = p * pieces_ / count_, end = (p + 1) * pieces_ / count_;
      with_pieces<kMost>(end - first, [&](auto pieces) { f(pieces, first * kPiece); });
    }
  }

 private:
  int64_t pieces_, count_;
};

// to[r * stride ...] += sum over t of x[r * across + t * along] * panel[t * step ...], for kRows
// vectors and the kPieces of a panel. A function of its own: inside of others GCC 12 writes the
// sums to memory in every step.
template <int kRows, int kPieces, class Real>
[[gnu::noinline]] void add_block(const Real* x, int64_t across, int64_t along, const Real* panel,
                                 int64_t step, int64_t count, Real* to, int64_t stride) {
  using Pack = typename PackOf<Real>::Type;
  constexpr int kPiece = Panels<Real>::kPiece;
  Pack sums[kRows * kPieces] = {};
  for (int64_t t = 0; t < count; ++t, x += along, panel += step) {
    Pack pieces[kPieces];
    unrolled<kPieces>([&](auto v) SEPARATRIX_INLINE {
      pieces[v] = load_pack<Pack>(panel + v * kPiece);
    });
    unrolled<kRows>([&](auto r) SEPARATRIX_INLINE {
      const Pack factor = x[r * across] - Pack{};
      unrolled<kPieces>([&](auto v) SEPARATRIX_INLINE {
        Pack& sum = sums[r * kPieces + v];
        sum = fma(factor, pieces[v], sum);
      });
    });
  }
  unrolled<kRows * kPieces>([&](auto q) SEPARATRIX_INLINE {
    Real* const at = to + q / kPieces * stride + q % kPieces * kPiece;
    const Pack sum = load_pack<Pack>(at) + sums[q];
    std::memcpy(at, &sum, sizeof sum);
  });
}

// f(number of vectors, the first) for `count` vectors, some at a time.
template <class F>
inline void each_group(int64_t count, F&& f) {
  int64_t i = 0;
  for (; i + kTileRows <= count; i += kTileRows) f(Number<kTileRows>{}, i);
  for (; i < count; ++i) f(Number<1>{}, i);
}

// Scores of tiles by weights (k, d + 1).
template <class Rows, class Real>
class ClassScores;

template <class Value, class Real>
class ClassScores<DenseRows<Value>, Real> {
 public:
  ClassScores(const DenseRows<Value>& rows, const double* weights, int64_t k, bool = false)
      : panels_(k), d_(rows.d), w_(Buffer<Real>::zeros(width() * (d_ + 1))) {
    panels_.each([&](auto pieces, int64_t first) {
      constexpr int kWide = pieces * kPiece;
      Real* const panel = w_ + first * (d_ + 1);
      for (int64_t c = first; c < first + kWide && c < k; ++c)
        for (int64_t j = 0; j <= d_; ++j)
          panel[j * kWide + c - first] = Real(weights[c * (d_ + 1) + j]);
    });
  }

  int64_t width() const { return panels_.width(); }

  // To out (rows of the tile, width); `after` is what will be read next.
  void tile(const DenseRows<Real>& rows, const char* after, Real* out) const {
    panels_.each([&](auto pieces, int64_t first) {
      constexpr int kWide = pieces * kPiece;
      const Real* const biases = w_ + first * (d_ + 1) + d_ * kWide;
      for (int64_t i = 0; i < rows.n; ++i)
        std::memcpy(out + i * width() + first, biases, sizeof(Real) * kWide);
    });
    StreamPrefetcher<1> next{after};
    const int64_t bytes = rows.n * int64_t(sizeof(Value)) / panels_.pieces();
    for (int64_t j = 0; j < d_; j += kClassTileColumns) {
      const int64_t columns = d_ - j < kClassTileColumns ? d_ - j : kClassTileColumns;
      panels_.each([&](auto pieces, int64_t first) {
        constexpr int kWide = pieces * kPiece;
        const Real* const panel = w_ + first * (d_ + 1) + j * kWide;
        each_group(rows.n, [&](auto some, int64_t i) {
          add_block<some, pieces, Real>(row(rows, i) + j, d_, 1, panel, kWide, columns,
                                        out + i * width() + first, width());
        });
        next.advance(bytes * pieces * columns);
      });
    }
  }

 private:
  static constexpr int kPiece = Panels<Real>::kPiece;
  Panels<Real> panels_;
  int64_t d_;
  const Buffer<Real> w_;
};

// Of sparse rows by weights in lines: see rows/class_lines.hpp.
template <class Value, class Index>
class ClassScores<CsrRows<Value, Index>, double> {
 public:
  ClassScores(const CsrRows<Value, Index>& rows, const double* weights, int64_t k,
              bool in_lines = false)
      : k_(k), own_(in_lines ? 0 : width() * (rows.d + 1)), lines_(in_lines ? weights : own_) {
    const int64_t d = rows.d;
    for (int64_t j = 0; !in_lines && j <= d; ++j)
      for (int64_t c = 0; c < width(); ++c)
        own_[j * width() + c] = c < k ? weights[c * (d + 1) + j] : 0.0;
  }

  int64_t width() const { return line_width(k_); }

  void tile(const CsrRows<Value, Index>& rows, const char*, double* out) const {
    const double* const biases = lines_ + rows.d * width();
    for (int64_t i = 0; i < rows.n; ++i, out += width()) {
      dot_lines(rows, i, lines_, k_, width(), out);
      for (int64_t c = 0; c < k_; ++c) out[c] += biases[c];
    }
  }

 private:
  int64_t k_;
  const Buffer<double> own_;  // empty if they are the caller's
  const double* lines_;
};

// total (k, d + 1) += factors' . (rows, 1), in the end.
template <class Rows, class Real>
class ClassGradients;

template <class Value, class Real>
class ClassGradients<DenseRows<Value>, Real> {
 public:
  ClassGradients(const DenseRows<Value>& rows, int64_t k, double* total, bool = false)
      : panels_(k), d_(rows.d), k_(k), total_(total),
        sums_(Buffer<Real>::zeros(panels_.width() * (d_ + 1))) {}
  ~ClassGradients() {
    panels_.each([&](auto pieces, int64_t first) {
      constexpr int kWide = pieces * kPiece;
      const Real* const panel = sums_ + first * (d_ + 1);
      for (int64_t c = first; c < first + kWide && c < k_; ++c)
        for (int64_t j = 0; j <= d_; ++j)
          total_[c * (d_ + 1) + j] += double(panel[j * kWide + c - first]);
    });
  }

  // Of the rows of a tile, each with factors (rows, width of the scores).
  void add(const DenseRows<Real>& rows, const Real* factors) {
    const int64_t width = panels_.width();
    const Real one = 1;
    for (int64_t j = 0; j < d_; j += kClassTileColumns) {
      const int64_t columns = d_ - j < kClassTileColumns ? d_ - j : kClassTileColumns;
      panels_.each([&](auto pieces, int64_t first) {
        constexpr int kWide = pieces * kPiece;
        Real* const panel = sums_ + first * (d_ + 1) + j * kWide;
        each_group(columns, [&](auto some, int64_t c) {
          add_block<some, pieces, Real>(rows.data + j + c, 1, d_, factors + first, width, rows.n,
                                        panel + c * kWide, kWide);
        });
      });
    }
    panels_.each([&](auto pieces, int64_t first) {
      add_block<1, pieces, Real>(&one, 0, 0, factors + first, width, rows.n,
                                 sums_ + first * (d_ + 1) + d_ * pieces * kPiece, 0);
    });
  }

 private:
  static constexpr int kPiece = Panels<Real>::kPiece;
  Panels<Real> panels_;
  int64_t d_, k_;
  double* total_;
  const Buffer<Real> sums_;
};

template <class Value, class Index>
class ClassGradients<CsrRows<Value, Index>, double> {
 public:
  ClassGradients(const CsrRows<Value, Index>& rows, int64_t k, double* total,
                 bool in_lines = false)
      : d_(rows.d), k_(k), total_(total), in_lines_(in_lines),
        own_(Buffer<double>::zeros(in_lines ? 0 : width() * (d_ + 1))),
        lines_(in_lines ? total : own_) {}
  ~ClassGradients() {
    if (in_lines_) return;
    // Some lines at a time: they are in a cache near by while one class after another asks for them.
    for (int64_t first = 0; first <= d_; first += kClassTileColumns) {
      const int64_t end = first + kClassTileColumns < d_ + 1 ? first + kClassTileColumns : d_ + 1;
      for (int64_t c = 0; c < k_; ++c)
        for (int64_t j = first; j < end; ++j) total_[c * (d_ + 1) + j] += lines_[j * width() + c];
    }
  }

  int64_t width() const { return line_width(k_); }

  // Of the rows of a tile, each with factors (rows, width).
  void add(const CsrRows<Value, Index>& rows, const double* factors) {
    double* const biases = lines_ + d_ * width();
    for (int64_t i = 0; i < rows.n; ++i, factors += width()) {
      add_lines(rows, i, factors, k_, width(), lines_);
      for (int64_t c = 0; c < k_; ++c) biases[c] += factors[c];
    }
  }

 private:
  int64_t d_, k_;
  double* total_;
  bool in_lines_;
  const Buffer<double> own_;
  double* lines_;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
