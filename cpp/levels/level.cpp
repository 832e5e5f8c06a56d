// The table of a level, and the loops that do not go over rows of several storages. Compiled once per
// level, as loops.hpp says.
#include "batch/block_coordinate_descent.hpp"
#include "batch/coordinate_descent.hpp"
#include "batch/two_loop.hpp"
#include "kernel/perceptron_pass.hpp"
#include "rows/all_finite.hpp"
#include "levels/parts.hpp"

#define SEPARATRIX_NAME_OF(level) #level
#define SEPARATRIX_NAME(level) SEPARATRIX_NAME_OF(level)

namespace separatrix::SEPARATRIX_LEVEL {

extern const Table table;
const Table table = {SEPARATRIX_NAME(SEPARATRIX_LEVEL),
                     dense_float,
                     dense_double,
                     csr_float_int,
                     csr_double_int,
                     csr_float_long,
                     csr_double_long,
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
