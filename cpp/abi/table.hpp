// The losses by number, and the table of all loops of one level.
#pragma once
#include "abi/passes.hpp"
#include "abi/rows.hpp"

namespace separatrix {

// The names, in the order of the enum, are those by which Python asks for the numbers.
enum class LossId : int { perceptron, logistic, squared, tanh_squared, hinge, squared_hinge };
constexpr const char* kLossNames[] = {"perceptron",   "logistic", "squared",
                                      "tanh_squared", "hinge",    "squared_hinge"};

// A loss over all classes: one of these, or `columns` plus a LossId: one -1/+1 column per class.
enum class JointId : int { softmax, perceptron, crammer_singer, columns };
constexpr const char* kJointNames[] = {"softmax", "perceptron", "crammer_singer", "columns"};

template <class Rows>
struct LoopsFor {
  void (*online)(const Rows&, OnlinePass&);
  void (*batch)(const Rows&, BatchPass&);
  void (*online_joint)(const Rows&, OnlinePass&);
  void (*batch_joint)(const Rows&, BatchPass&);
  // out (n, k) = rows . weights' for weights (k, d + 1)
  bool (*scores)(const Rows&, const double* weights, int64_t k, double* out, ShouldStop);
  // out (k, d + 1) += coefficients' . (rows, 1) for coefficients (n, k)
  bool (*transpose_product)(const Rows&, const double* coefficients, int64_t k, double* out,
                            ShouldStop);
  // out (n) = |x|^2
  bool (*squared_norms)(const Rows&, double* out, ShouldStop);
  // out (k, d + 1) += v (rows, 1)' diag(curvature) (rows, 1)
  bool (*hessian_product)(const Rows&, const double* curvature, const double* v, int64_t k,
                          double* out, ShouldStop);
  // sum (groups, d) += sum of weight * (x - shift) over the rows of each group, squares (d) += sum
  // of weight * (x - shift)^2 over all; the shift is for dense rows only, or null; one group if
  // null
  bool (*moments)(const Rows&, const double* weight, const int64_t* group, int64_t groups,
                  const double* shift, double* sum, double* squares, ShouldStop);
  // correct (m) += weight of the rows whose class, or all of whose labels, each of m weights
  // (k, d + 1) finds; on a tie of two classes that is the larger, of more the first
  bool (*weighted_correct)(const Rows&, const double* y, const int64_t* label,
                           const int8_t* labels, const double* weight, const double* weights, int64_t m,
                           int64_t k, double* correct, ShouldStop);
  // square = the largest sum of ((x - mean) * factor)^2 over a row whose weight is not 0, if larger
  bool (*max_standardised_norm2)(const Rows&, const double* weight, const double* mean,
                                 const double* factor, double& square, ShouldStop);
  // out (d + 1, d + 1) += sum of weight * z'z for z = (x - mean, 1) * factor
  bool (*gram)(const Rows&, const double* weight, const double* mean, const double* factor,
               double* out, ShouldStop);
  void (*ascent_round)(const Rows&, AscentRound&);
  void (*multiclass_epoch)(const Rows&, MulticlassEpoch&);
  void (*interior_points)(const Rows&, InteriorPass&);
  // high + low (n, k) = scores to twice the working precision
  bool (*compensated_scores)(const Rows&, const double* weights, int64_t k, double* high,
                             double* low, ShouldStop);
  // high + low (k, d + 1) += coefficients' . (rows, 1), likewise
  bool (*compensated_transpose_product)(const Rows&, const double* coefficients, int64_t k,
                                        double* high, double* low, ShouldStop);
  // Rows that are columns of others.
  bool (*column_curvatures)(const Rows&, const double* curvature, double total, bool bias,
                            double* products, double* squares, ShouldStop);
  void (*column_descent)(const Rows&, ColumnDescent&);
  void (*online_rule)(const Rows&, RulePass&);
};

struct Table {
  const char* level;
  const LoopsFor<DenseRows<float>>& dense_float;
  const LoopsFor<DenseRows<double>>& dense_double;
  const LoopsFor<CsrRows<float, int32_t>>& csr_float_int;
  const LoopsFor<CsrRows<double, int32_t>>& csr_double_int;
  const LoopsFor<CsrRows<float, int64_t>>& csr_float_long;
  const LoopsFor<CsrRows<double, int64_t>>& csr_double_long;
  void (*kernel_pass)(KernelPass&);
  // local (k, width) and kernel (width) are room to work in
  void (*gaussian_scan)(KernelPass&, const GaussianBlock&, double bias, double* local,
                        double* kernel, int64_t width);
  bool (*gaussian_update)(const GaussianBlock&, const KernelUpdates&);
  // out row slots[i] = kernel values of row i
  bool (*gaussian_rows)(const GaussianBlock&, const int64_t* slots, double* out);
  // sums (m, k, kPanel) += coefficients (k, width) times kernel values, in kPanel lanes
  bool (*gaussian_sums)(const GaussianBlock&, const double* coefficients, int64_t k,
                        int64_t width, double* sums);
  // values <- e^(factor * max(values, 0))
  void (*exp_neg_all)(double* values, int64_t count, double factor);
  void (*coordinate_descent)(QuadraticDescent&);
  void (*block_coordinate_descent)(BlockDescent&);
  double (*two_loop)(const TwoLoop&);  // the slope along the direction
  bool (*finite_floats)(const float* values, int64_t count);
  bool (*finite_doubles)(const double* values, int64_t count);
};

}  // namespace separatrix
