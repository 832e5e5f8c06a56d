// The loops over dense rows.
#include "levels/loops.hpp"
#include "levels/parts.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

const LoopsFor<DenseRows<float>> dense_float = loops<DenseRows<float>>();
const LoopsFor<DenseRows<double>> dense_double = loops<DenseRows<double>>();

}  // namespace separatrix::SEPARATRIX_LEVEL
