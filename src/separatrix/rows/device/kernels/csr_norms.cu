// Squared norms of sparse rows: LANES threads share a row, and add their sums along a tree.
#include "half.cuh"
#include "values.cuh"

extern "C" __global__ void __launch_bounds__(256) csr_norms(
    const Value* data, const long long* indptr, long long rows, double* norms) {
    const int lane = threadIdx.x % LANES;
    const long long i = (long long)blockIdx.x * (256 / LANES) + threadIdx.x / LANES;
    const long long from = i < rows ? indptr[i] : 0, to = i < rows ? indptr[i + 1] : 0;
    double sum = 0.0;
    for (long long at = from + lane; at < to; at += LANES) {
        const double x = double(widen(data[at]));
        sum += x * x;
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, half);
    if (i < rows && lane == 0) norms[i] = sum;
}
