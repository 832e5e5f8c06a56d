// Compiled once per instruction-set level, with SEPARATRIX_LEVEL set to the level's name and
// the level's flags. Everything the headers define sits in that namespace, and nothing from
// the standard library that could be emitted as a shared symbol is used.
#include "batch/value_gradient.hpp"
#include "batch/compensated.hpp"
#include "dual/coordinate_ascent.hpp"
#include "rows/all_finite.hpp"
#include "losses/multiclass.hpp"
#include "kernel/gaussian.hpp"
#include "batch/gram.hpp"
#include "online/sgd.hpp"

#define SEPARATRIX_NAME_OF(level) #level
#define SEPARATRIX_NAME(level) SEPARATRIX_NAME_OF(level)

namespace separatrix::SEPARATRIX_LEVEL {

template <class Rows>
constexpr LoopsFor<Rows> loops() {
  return {online_pass<Rows>, batch_pass<Rows>, online_joint_pass<Rows>, batch_joint_pass<Rows>,
          scores<Rows>,      combine<Rows>,    hessian_product<Rows>,   moments<Rows>,
          right<Rows>,       farthest<Rows>,   gram<Rows>,              dual_pass<Rows>,
          compensated_scores<Rows>, compensated_combine<Rows>};
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
                     decay_all,
                     all_finite<float>,
                     all_finite<double>};

}  // namespace separatrix::SEPARATRIX_LEVEL
