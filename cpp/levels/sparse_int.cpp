// The loops over sparse rows with indices of 32 bits.
#include "levels/loops.hpp"
#include "levels/parts.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

const LoopsFor<CsrRows<float, int32_t>> csr_float_int = loops<CsrRows<float, int32_t>>();
const LoopsFor<CsrRows<double, int32_t>> csr_double_int = loops<CsrRows<double, int32_t>>();

}  // namespace separatrix::SEPARATRIX_LEVEL
