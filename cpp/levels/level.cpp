// Compiled once per instruction-set level, with SEPARATRIX_LEVEL set to the level's name and
// the level's flags. Everything the headers define sits in that namespace, and nothing from
// the standard library that could be emitted as a shared symbol is used.
#include "batch/accuracy.hpp"
#include "batch/block_coordinate_descent.hpp"
#include "batch/column_descent.hpp"
#include "batch/compensated.hpp"
#include "batch/coordinate_descent.hpp"
#include "batch/gram.hpp"
#include "batch/moments.hpp"
#include "batch/multiclass.hpp"
#include "batch/products.hpp"
#include "batch/two_loop.hpp"
#include "batch/value_gradient.hpp"
#include "dual/ascent_round.hpp"
#include "dual/multiclass_ascent.hpp"
#include "kernel/perceptron_pass.hpp"
#include "online/multiclass_sgd.hpp"
#include "online/sgd.hpp"
#include "rows/all_finite.hpp"

#define SEPARATRIX_NAME_OF(level) #level
#define SEPARATRIX_NAME(level) SEPARATRIX_NAME_OF(level)

namespace separatrix::SEPARATRIX_LEVEL {

template <class Rows>
constexpr LoopsFor<Rows> loops() {
  return {online_pass<Rows>,
          batch_pass<Rows>,
          online_joint_pass<Rows>,
          batch_joint_pass<Rows>,
          scores<Rows>,
          transpose_product<Rows>,
          squared_norms<Rows>,
          hessian_product<Rows>,
          moments<Rows>,
          weighted_correct<Rows>,
          max_standardised_norm2<Rows>,
          gram<Rows>,
          ascent_round<Rows>,
          multiclass_epoch<Rows>,
          compensated_scores<Rows>,
          compensated_transpose_product<Rows>,
          column_curvatures<Rows>,
          column_descent<Rows>};
}

extern const Table table;
const Table table = {SEPARATRIX_NAME(SEPARATRIX_LEVEL),
                     loops<DenseRows<float>>(),
                     loops<DenseRows<double>>(),
                     loops<CsrRows<float, int32_t>>(),
                     loops<CsrRows<double, int32_t>>(),
                     loops<CsrRows<float, int64_t>>(),
                     loops<CsrRows<double, int64_t>>(),
                     kernel_pass,
                     gaussian_scan,
                     gaussian_update,
                     gaussian_rows,
                     gaussian_sums,
                     exp_neg_all,
                     coordinate_descent,
                     block_coordinate_descent,
                     two_loop,
                     all_finite<float>,
                     all_finite<double>};

}  // namespace separatrix::SEPARATRIX_LEVEL
