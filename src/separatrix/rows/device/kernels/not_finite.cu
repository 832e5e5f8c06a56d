// Whether some value is NaN or infinite: writes 1.0 to `found`, which begins as 0.0.
#include "half.cuh"
#include "values.cuh"

extern "C" __global__ void __launch_bounds__(256) not_finite(
    const Value* values, long long count, double* found) {
    const long long step = (long long)gridDim.x * blockDim.x;
    bool wrong = false;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        const Wide v = widen(values[at]);
        wrong |= !(v - v == Wide(0));
    }
    if (wrong) *found = 1.0;
}
