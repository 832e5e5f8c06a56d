// The loops over sparse rows with indices of 64 bits.
#include "levels/loops.hpp"
#include "levels/parts.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

const LoopsFor<CsrRows<float, int64_t>> csr_float_long = loops<CsrRows<float, int64_t>>();
const LoopsFor<CsrRows<double, int64_t>> csr_double_long = loops<CsrRows<double, int64_t>>();

}  // namespace separatrix::SEPARATRIX_LEVEL
