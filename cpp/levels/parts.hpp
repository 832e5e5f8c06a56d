// The parts of a level that are compiled apart: see loops.hpp.
#pragma once
#include "abi/table.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

extern const LoopsFor<DenseRows<float>> dense_float;
extern const LoopsFor<DenseRows<double>> dense_double;
extern const LoopsFor<CsrRows<float, int32_t>> csr_float_int;
extern const LoopsFor<CsrRows<double, int32_t>> csr_double_int;
extern const LoopsFor<CsrRows<float, int64_t>> csr_float_long;
extern const LoopsFor<CsrRows<double, int64_t>> csr_double_long;

}  // namespace separatrix::SEPARATRIX_LEVEL
