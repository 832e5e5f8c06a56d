// The arguments and results of each loop: see abi/rows.hpp.
#pragma once
#include <cstdint>

namespace separatrix {

// Asked every few thousand values; true means: leave the loop as soon as possible.
using ShouldStop = bool (*)();

// What online passes of the perceptron store about rows; see perceptron/screening.hpp. It affects
// which rows are read, never a result. A round is n visits.
struct ScreeningState {
  float* angle_margin;    // (n + 1): sine of the angle by which the reference clears a row, or less;
                          // and a 0, for rows that do not exist
  int8_t* sign;           // (n): labels of two classes, in an eighth of their room
  bool signs_known;
  int64_t n, size;        // rows; all weights
  double* reference;      // (size): weights that the angles refer to
  double* mean;           // (size): of the weights in the round before
  double* sum;            // (size): of the samples in this round so far
  double reference_norm, mean_norm;  // 0: there is none
  bool active;            // the angles are used
  bool rebuild_due;       // and made anew before the next pass, with the mean as reference
  bool always;            // they will be used, whatever they save: for tests
  int64_t screened_total; // rows not read so far
  // Measured in this round: visits, rows not read, samples of the weights, rows looked at to see
  // what the mean would save, and those that it would.
  int64_t visits, screened, samples, rows_sampled, rows_clear;
  int64_t since_sample;   // visits since the last sample
  int64_t place, stride;  // of the rows looked at
  double saved;           // reads of all rows that the mean would have saved so far
  double rebuild_cost;    // and as many as make another rebuild pay
};

// v = w / scale stays far from overflow; and the sum A * v - lag, a difference of numbers that
// grow with 1 / scale, loses no more than three digits.
constexpr double kSmallestScale = 1e-9, kSmallestScaleOfSum = 1e-3;

// One online pass. Weights are scale * v (bias apart), so that an L2 decay of all of them
// is one multiplication. For k > 2 classes v, sum and lag have k rows of d + 1.
struct OnlinePass {
  int loss;               // LossId, or JointId where there are more than two classes
  const double* y;        // -1 or +1; for more than two classes null
  const int64_t* label;   // number of the class, or null
  const int8_t* labels;   // (n, k): -1 or +1 where a row has any number of k labels, or null
  int64_t k;              // rows of v
  const double* weight;   // of rows, or null for 1 each
  double weight_scale;    // (number of rows) / (sum of weights): times step and weight
  const int64_t* order;   // rows to visit, or null for 0, 1, 2, ...
  int64_t count;          // how many
  const double* steps;    // one per batch, or a single one
  bool constant_step;
  double l2;
  int64_t batch;          // rows per update
  bool intercept;
  int64_t max_updates;    // leave after the batch in which this many rows have moved the weights
  double* v;              // (d + 1), bias last, bias not scaled
  double* scale;
  // Running sum of the weights after every batch, or null. With the area A = sum of scales,
  // the sum since the last fold is A * v - lag: O(1) per batch without an update. The state
  // is left unfolded, so that a pass may be taken in pieces with the same bits.
  double* sum;            // (d + 1)
  double* lag;            // (d + 1); the last entry is unused
  double* area;
  // Of an L1 penalty what each weight could have received so far, and what it has, below 0 where
  // that was taken from a weight above 0; or null. In units of v: see online/cumulative_l1.hpp.
  double l1;
  double* cumulative;
  double* received;       // (d + 1); the last entry is unused
  int64_t* log;           // updated rows in order, or null; room for `count`
  ScreeningState* screening;      // or null
  ShouldStop should_stop;
  // Results.
  double loss_sum;        // weighted, each row scored before its update
  double mistakes;        // weighted
  int64_t updates;        // rows that moved the weights
  int64_t position;       // rows visited
  bool stopped;
  const char* flaw = nullptr;  // why the pass ended early: an entry of `order` or of `label`
  const double* offset = nullptr;  // (n, k), added to the scores of rows; or null
};

// What a pass finds wrong with an entry of its arrays, before the entry is used as an index.
constexpr const char kNoSuchRow[] = "order: expected numbers of rows, from 0 to n - 1";
constexpr const char kNoSuchClass[] = "y: expected numbers of classes, from 0 to k - 1";

// The rules of online/rules.hpp; the names, in this order, are those by which Python asks for them.
enum class RuleId : int { passive_aggressive_1, passive_aggressive_2, arow, winnow };
constexpr const char* kRuleNames[] = {"passive_aggressive_1", "passive_aggressive_2", "arow",
                                      "winnow"};

constexpr double kLongest = 1e300;  // a squared length below it leaves room for the sums of classes
constexpr const char kTooLongRow[] =
    "X has a row whose squared length is 1e300 or more: scale the features (e.g. with sklearn's "
    "StandardScaler)";

// One pass of an online rule whose step depends on the row: see online/rules.hpp. The running sum
// since the last fold is area * v - lag, as in OnlinePass, and includes the biases.
struct RulePass {
  int rule;               // RuleId
  const double* y;        // -1 or +1; for more than two classes null
  const int64_t* label;   // number of the class, or null
  int64_t k;              // rows of v
  const double* weight;   // visits of every row, or null for 1 each
  const int64_t* order;   // rows to visit, or null for 0, 1, 2, ...
  int64_t count;          // how many
  double parameter;       // C, the noise of AROW, or the factor of Winnow
  bool intercept;
  int64_t max_updates;    // leave after the row that is the last of as many to move the weights
  double* v;              // (k, d + 1), bias last
  double* variance;       // (k, d + 1), for AROW; or null
  double* lag;            // (k, d + 1), or null without a running sum
  double area;            // visits since the last fold
  int64_t* log;           // updated rows in order, or null; room for `count`
  ShouldStop should_stop;
  // Results.
  double loss_sum;        // weighted, each visit before its update
  double mistakes;        // weighted
  int64_t updates;        // rows that moved the weights
  int64_t position;       // rows visited
  bool stopped;
  const char* flaw = nullptr;
};

// Value, gradient and curvature of the weighted loss over some rows.
struct BatchPass {
  int loss;               // as in OnlinePass, and so on
  const double* y;
  const int64_t* label;
  const int8_t* labels;
  int64_t k;
  const double* weight;   // or null
  const double* w;        // (k, d + 1), bias last
  double* gradient;       // (k, d + 1), added to; or null
  bool in_lines;          // both are (d + 1, line_width(k)): sparse rows and joint losses only
  double* curvature;      // (n), weight * second derivative; or null, as it is for joint losses
  bool float32_sums;             // sums in float will do, where rows are
  ShouldStop should_stop;
  double loss_sum;
  double mistakes;
  bool stopped;
};

// For the logistic loss: a step this short is Newton's last: its error is at most half its square
// (no third derivative is above the second), which the next visit corrects; and the most steps.
constexpr double kNewtonLastStep = 0.5;
constexpr int kNewtonMaxIter = 50;

// One epoch of dual coordinate ascent.
struct CoordinateEpoch {
  int loss;
  const double* y;        // -1 or +1
  const double* weight;   // or null
  double inv_weight_sum;    // 1 / (sum of weights)
  const double* row_norm2;  // |x|^2 of every row
  double inv_2l2;           // 1 / (2 * l2): what a change of 1 moves the weights by
  double bias_inv_penalty;  // and the bias; 0 without one
  int64_t* order;         // rows to visit; those to visit again are left at its front
  int64_t count;
  double* alpha;          // (n)
  double* w;              // (d + 1), bias last
  double shrink_margin;   // a row at its bound with a margin so far beyond 1 is left out
  ShouldStop should_stop;
  // Results.
  double projected_gradient;  // sum over the active rows of its absolute value
  double gap;             // sum of p (phi(m) + phi*(-alpha) + alpha m), before the updates
  int64_t n_active;
  bool stopped;
  double* row_gap;        // (count) or null: what each of the active rows adds to the gap
  const double* offset = nullptr;  // (n), added to the scores of rows; or null
};

// How a round of epochs goes on.
constexpr double kSurprise = 1.5;        // how much worse the gap may be than expected
constexpr double kCrawling = 0.8;        // of the gap is left by an epoch: others help then
constexpr double kLeftByFast = 0.1;      // of the gap, by an epoch after which no row comes again
constexpr double kSettled = 0.3;         // of what others hold of it: they come again until then
constexpr double kGainRounding = 1e-14;  // of the dual: gains below are not seen in it
constexpr double kDependent = 1e-10;     // of a direction's curvature: less is no new direction
constexpr double kNearestEnd = 0.1;      // of the way to 0 or 1: the least a step leaves of it

struct AscentRound {
  CoordinateEpoch epoch;
  uint64_t seed, first_order;  // of the random orders
  int64_t block_rows, blocks_per_group;
  int64_t most_epochs;
  double enough;           // of the dual: a gap that ends the round
  double careful;          // mean slopes by which a row that is left out is beyond its kink
  double identified;       // active rows per free alpha, below which these are known
  double stands_out;       // times the mean part of the gap: rows that hold more come again
  int64_t* active;         // (n): rows to visit, in the order in which they lie
  int64_t n_active;
  double gap;              // measured during the last epoch
  bool subspace;           // whether steps in a subspace may help
  double* step_history;    // (2, n): of the alphas, the last step and the one before
  double* weight_history;  // (2, d + 1): what they did to the weights
  // Results.
  int64_t epochs, subspace_steps, visits;
  bool reached, stopped;
};

// Steps of an interior point method for the hinge, see batch/interior_point.hpp.
struct InteriorPass {
  const double* y;          // -1 or +1
  const double* share;      // of every row in the total weight
  double l2;
  bool intercept;
  const double* mean;       // (d) and
  const double* scale;      // (d + 1): the variables in which features are centred and scaled
  double* w;                // (d + 1), bias last
  double* alpha;            // (n) each: the pairs, all positive
  double* upper_slack;
  double* slack;
  double* xi;
  double enough;            // of J: an estimate of the gap at which to end
  ShouldStop should_stop;
  // Results.
  int64_t steps;
  bool stopped;
};

// One epoch of dual coordinate ascent for more than two classes.
struct MulticlassEpoch {
  const int64_t* label;     // number of each row's class
  const double* weight;     // or null
  double inv_weight_sum;    // 1 / (sum of weights)
  const double* row_norm2;  // |x|^2 of every row
  double inv_2l2;           // 1 / (2 * l2): what a change of 1 moves the weights by
  double bias_inv_penalty;  // and the biases; 0 without them
  int64_t* order;           // rows to visit; those to visit again are left at its front
  int64_t count;
  int64_t k, width;         // classes, and doubles in a line
  double* alpha;            // (n, k)
  double* lines;            // (d + 1, width): weights of one feature, the biases last
  double shrink_margin;     // a row so far from any change of its alphas is left out
  ShouldStop should_stop;
  // Results.
  double gap;               // sum over the rows, each before its update
  double violation;         // sum over the active rows
  int64_t n_active;
  bool stopped;
  const double* offset = nullptr;  // (n, k), added to the scores of rows; or null
};

// Rows against a reference. Its rows are not copied: a panel of kPanel of them side by side, each
// minus the shift, is built when it is needed.
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
  const int64_t* slot;    // (n): where a row's stands there, or -1
  int64_t* last_used;     // the visit that last used each of them
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
  const char* flaw = nullptr;  // as in OnlinePass
};

// What some mistakes change in the scores of all rows.
constexpr int kMostUpdates = 64;
struct KernelUpdates {
  int64_t count;
  const int64_t* column;  // (count, 2), or -1
  const double* factor;   // (count, 2)
  const int64_t* slot;    // (count): of its kernel row in kept, or -1
  const int64_t* ready;   // (count): whether the row stands there already
  double* kept;           // (any, n)
  double* scores;         // (k, n)
  double bias;
  int64_t first_panel, last_panel;
};

// Products are summed in blocks of this many weights, whose sums are then added up.
constexpr int64_t kSumBlock = 8192;

// The two-loop recursion over the last steps.
struct TwoLoop {
  const double* gradient;     // (size)
  int64_t size, pairs;
  const double* const* s;     // (pairs): steps, each (size)
  const double* const* y;     // (pairs): what the gradient changed by
  const double* curvature;    // (pairs): s . y
  double scale;               // of the inverse that the pairs correct: s . y / y . y of the last
  double* alphas;             // (pairs), room
  double* direction;          // (size)
};

// How many epochs a descent takes, and what they came to.
struct DescentEpochs {
  int64_t max_epochs;
  double enough;  // an epoch that gains no more is the last
  ShouldStop should_stop;
  // Results.
  int64_t epochs = 0;
  double gain = 0;  // of the last epoch, at least
  bool stopped = false;
};

// Some epochs of coordinate descent by columns (m) over n rows.
struct ColumnDescent : DescentEpochs {
  const double* curvature;   // (n)
  double total;              // their sum, or 0 for a bias that stays
  const double* products;    // (m): from column_curvatures
  const double* squares;     // (m)
  const double* ridge;       // (m)
  const double* thresholds;  // (m)
  bool zeros;      // whether to look at weights that are 0, too
  double* w;       // (m)
  double* slope;   // (n), without what the bias adds
  double shift;    // times the curvature: what it adds, and by how much it has changed
};

// Some epochs of coordinate descent on a quadratic plus absolute values.
struct QuadraticDescent : DescentEpochs {
  const double* hessian;     // (size, size)
  const double* thresholds;  // (size)
  int64_t size;
  double* u;      // (size)
  double* slope;  // (size)
};

// Some epochs of block coordinate descent on a quadratic plus norms of blocks.
struct BlockDescent : DescentEpochs {
  const double* hessian;  // (size, size)
  int64_t size;
  const int64_t* starts;     // (blocks + 1): where each begins, and the size
  const double* thresholds;  // (blocks)
  int64_t blocks;
  double* u;      // (size)
  double* slope;  // (size)
  double* pull;   // room for a block
};

}  // namespace separatrix
