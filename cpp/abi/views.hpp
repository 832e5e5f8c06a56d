// Plain structs that cross from the bindings to the loops of every instruction-set level.
//
// No functions live here: a function would be compiled once per level and merged by the
// linker, and the baseline could end up running AVX-512 code.
#pragma once
#include <cstdint>

namespace separatrix {

// Rows stored one after another, d values each.
template <class Value>
struct DenseRows {
  const Value* data;
  int64_t n, d;
};

// Compressed sparse rows. `indptr` may be a slice of a larger matrix's: its entries index
// `data` and `indices` as they are, so that a block of rows needs no copy.
template <class Value, class Index>
struct CsrRows {
  const Value* data;
  const Index* indices;
  const Index* indptr;
  int64_t n, d;
};

// In the order of this enum, and of `losses.COMPILED` in Python.
enum class LossId : int { perceptron, logistic, squared, tanh_squared, hinge, squared_hinge };

// A loss over all classes: one of these, or `columns` plus a LossId: one -1/+1 column per class.
enum class JointId : int { softmax, perceptron, crammer_singer, columns };

// Asked every few thousand values; true means: leave the loop as soon as possible.
using ShouldStop = bool (*)();

// What online passes of the perceptron know of rows; see perceptron/screening.hpp. It changes what is read, never
// a result. A round is n visits.
struct RowMemory {
  float* clearance;       // (n): sine of the angle by which the reference clears a row, or less
  int8_t* sign;           // (n): labels of two classes, in an eighth of their room
  bool signs_known;
  int64_t n, size;        // rows; all weights
  double* reference;      // (size): weights that the notes refer to
  double* mean;           // (size): of the weights in the round before
  double* sum;            // (size): of those met in this round so far
  double reference_length, mean_length;  // 0: there is none
  bool skips;             // notes are used
  bool due;               // and made anew before the next pass, with the mean as reference
  bool always;            // they will be used, whatever they save: for tests
  int64_t skipped_ever;   // rows not read so far
  // Measured in this round: visits, rows not read, looks at the weights, rows looked at to see what
  // the mean would save, and those that it would.
  int64_t visits, skipped, looks, sampled, clear;
  int64_t since_look;     // visits since the last look
  int64_t place, stride;  // of the rows looked at
  double loss;            // reads of all rows that the mean would have saved so far
  double price;           // and as many as make a survey pay
};

class Beside;  // see threads/helper_thread.hpp

// One online pass. Weights are scale * v (bias apart), so that an L2 decay of all of them
// is one multiplication. For k > 2 classes v, sum and lag have k rows of d + 1.
struct OnlinePass {
  int loss;               // LossId, or JointId where there are more than two classes
  const double* y;        // -1 or +1; for more than two classes null
  const int64_t* label;   // number of the class, or null
  int64_t k;              // rows of v
  const double* weight;   // of rows, or null for 1 each
  double weight_scale;    // (number of rows) / (sum of weights): a row's step is step * weight * this
  const int64_t* order;   // rows to visit, or null for 0, 1, 2, ...
  int64_t count;          // how many
  const double* steps;    // one per batch, or a single one
  bool constant_step;
  double l2;
  int64_t batch;          // rows per update
  bool intercept;
  int64_t max_updates;    // leave after the batch in which so many rows have moved the weights
  double* v;              // (d + 1), bias last, bias not scaled
  double* scale;
  // Running sum of the weights after every batch, or null. With the area A = sum of scales,
  // the sum since the last fold is A * v - lag: O(1) per batch without an update. The state
  // is left unfolded, so that a pass may be taken in pieces with the same bits.
  double* sum;            // (d + 1)
  double* lag;            // (d + 1); the last entry is unused
  double* area;
  int64_t* log;           // updated rows in order, or null; room for `count`
  RowMemory* memory;      // or null
  Beside* beside;         // another thread, or null
  ShouldStop should_stop;
  // Results.
  double loss_sum;        // weighted, each row scored before its update
  double mistakes;        // weighted
  int64_t updates;        // rows that moved the weights
  int64_t position;       // rows visited
  bool stopped;
};

// Value, gradient and curvature of the weighted loss over some rows.
struct BatchPass {
  int loss;               // as in OnlinePass, and so on
  const double* y;
  const int64_t* label;
  int64_t k;
  const double* weight;   // or null
  const double* w;        // (k, d + 1), bias last
  double* gradient;       // (k, d + 1), added to; or null
  double* curvature;      // (n), weight * second derivative; or null, as it is for joint losses
  bool rough;             // sums in float will do, where rows are
  ShouldStop should_stop;
  double loss_sum;
  double mistakes;
  bool stopped;
};

// One pass of dual coordinate ascent for the hinge.
struct DualPass {
  int loss;
  const double* y;        // -1 or +1
  const double* weight;   // or null
  double share;           // 1 / (sum of weights)
  const double* square;   // |x|^2 of every row
  double give;            // 1 / (2 * l2): what a pull of 1 moves the weights by
  double bias_give;       // and the bias; 0 without one
  double parts;           // of the rows, that are climbed at the same time
  int64_t* order;         // rows to visit; those to visit again are left at its front
  int64_t count;
  double* alpha;          // (n)
  double* w;              // (d + 1), bias last
  double safe;            // a row at its bound with a margin so far beyond 1 is left out
  ShouldStop should_stop;
  // Results.
  double slope;           // sum of |slope of the dual| over the kept rows that could follow it
  int64_t kept;
  bool stopped;
};

// Rows against a reference. Its rows are read as they are: a panel of kPanel of them side by side,
// each less the shift, is made when it is needed, so that they are nowhere held twice.
constexpr int kPanel = 8;
struct GaussianBlock {
  const double* rows;     // (m, d), the shift taken from them
  int64_t m, d;
  const double* doubles;  // (n, d): the reference, in one of two types, the other null
  const float* floats;
  int64_t n;
  const double* shift;    // (d)
  double* row_squares;    // (m): |x|^2
  double* panel;          // (d + 1, kPanel), room for one; |z|^2 in its last line
  double gamma;
  ShouldStop should_stop;
};

// One pass of the perceptron in the dual, or a piece of it.
struct KernelPass {
  const double* y;        // -1 or +1; for more than two classes null
  const int64_t* label;   // number of the class, or null
  int64_t n, k;           // rows, and columns of coefficients
  const double* weight;   // (n)
  const double* factor;   // (n): a row's step is step * factor
  const int64_t* order;
  int64_t count;
  const double* steps;    // one per visit, or a single one
  bool constant_step;
  int64_t capacity;
  const double* kept;     // (capacity, n): rows of the kernel matrix
  const int64_t* place;   // (n): where a row's stands there, or -1
  int64_t* used;          // the visit that last used each of them
  double* scores;         // (k, n), and so on
  double* coefficients;
  double* late;           // every change times the visits before it
  int64_t* counts;
  int64_t visits;         // before this pass
  int64_t max_updates;
  ShouldStop should_stop;
  double* totals;         // weighted loss and mistakes, each row scored before its update
  int64_t* log;           // position, row and rival of every update
  // Results.
  int64_t position;       // of the row at which the loop left; set to where it begins
  int64_t updates;
  bool stopped;
};

// What some mistakes change in the scores of all rows.
constexpr int kMostUpdates = 64;
struct KernelUpdates {
  int64_t count;
  const int64_t* column;  // (count, 2), or -1
  const double* factor;   // (count, 2)
  const int64_t* place;   // (count): of its kernel row in kept, or -1
  const int64_t* ready;   // (count): whether the row stands there already
  double* kept;           // (any, n)
  double* scores;         // (k, n)
  double bias;
  int64_t first_panel, last_panel;
};

template <class Rows>
struct LoopsFor {
  void (*online)(const Rows&, OnlinePass&);
  void (*batch)(const Rows&, BatchPass&);
  void (*online_joint)(const Rows&, OnlinePass&);
  void (*batch_joint)(const Rows&, BatchPass&);
  // out (n, k) = rows . weights' for weights (k, d + 1)
  bool (*scores)(const Rows&, const double* weights, int64_t k, double* out, ShouldStop);
  // out (k, d + 1) += coefficients' . (rows, 1) for coefficients (n, k)
  bool (*combine)(const Rows&, const double* coefficients, int64_t k, double* out, ShouldStop);
  // out (d + 1) += (rows, 1)' diag(curvature) (rows, 1) v
  bool (*hessian_product)(const Rows&, const double* curvature, const double* v, double* out,
                          ShouldStop);
  // sum (groups, d) += sum of weight * (x - shift) over the rows of each group, squares (d) += sum
  // of weight * (x - shift)^2 over all; the shift is for dense rows only, or null; one group if null
  bool (*moments)(const Rows&, const double* weight, const int64_t* group, int64_t groups,
                  const double* shift, double* sum, double* squares, ShouldStop);
  // right (m) += weight of the rows whose class each of m weights (k, d + 1) finds; on a tie of
  // two classes that is the larger, of more the first
  bool (*right)(const Rows&, const double* y, const int64_t* label, const double* weight,
                const double* weights, int64_t m, int64_t k, double* right, ShouldStop);
  // square = the largest sum of ((x - mean) * factor)^2 over a row whose weight is not 0, if larger
  bool (*farthest)(const Rows&, const double* weight, const double* mean, const double* factor,
                   double& square, ShouldStop);
  // out (d + 1, d + 1) += sum of weight * z'z for z = (x - mean, 1) * factor
  bool (*gram)(const Rows&, const double* weight, const double* mean, const double* factor,
               double* out, ShouldStop);
  void (*dual)(const Rows&, DualPass&);
  // high + low (n, k) = scores to twice the working precision
  bool (*compensated_scores)(const Rows&, const double* weights, int64_t k, double* high,
                             double* low, ShouldStop);
  // high + low (k, d + 1) += coefficients' . (rows, 1), likewise
  bool (*compensated_combine)(const Rows&, const double* coefficients, int64_t k, double* high,
                              double* low, ShouldStop);
};

struct Table {
  const char* level;
  LoopsFor<DenseRows<float>> dense_float;
  LoopsFor<DenseRows<double>> dense_double;
  LoopsFor<CsrRows<float, int32_t>> csr_float_int;
  LoopsFor<CsrRows<double, int32_t>> csr_double_int;
  LoopsFor<CsrRows<float, int64_t>> csr_float_long;
  LoopsFor<CsrRows<double, int64_t>> csr_double_long;
  void (*kernel_pass)(KernelPass&);
  // local (k, width) and kernel (width) are room to work in
  void (*gaussian_scan)(KernelPass&, const GaussianBlock&, double bias, double* local,
                        double* kernel, int64_t width);
  bool (*gaussian_update)(const GaussianBlock&, const KernelUpdates&);
  // out row places[i] = kernel values of row i
  bool (*gaussian_rows)(const GaussianBlock&, const int64_t* places, double* out);
  // sums (m, k, kPanel) += coefficients (k, width) times kernel values, in kPanel lanes
  bool (*gaussian_sums)(const GaussianBlock&, const double* coefficients, int64_t k,
                        int64_t width, double* sums);
  // values <- e^(factor * max(values, 0))
  void (*decay_all)(double* values, int64_t count, double factor);
  bool (*finite_floats)(const float* values, int64_t count);
  bool (*finite_doubles)(const double* values, int64_t count);
};

}  // namespace separatrix
