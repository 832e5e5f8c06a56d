// Scores (rows, k) of sparse rows: LANES threads share a row, and add their sums along a tree.
#include "half.cuh"
#include "values.cuh"

extern "C" __global__ void __launch_bounds__(256) csr_scores(
    const Value* data, const Index* indices, const long long* indptr, long long rows, int d,
    const double* W, int k, double* scores) {
    const int lane = threadIdx.x % LANES;
    const long long i = (long long)blockIdx.x * (256 / LANES) + threadIdx.x / LANES;
    const long long from = i < rows ? indptr[i] : 0, to = i < rows ? indptr[i + 1] : 0;
    for (int c = 0; c < k; c++) {
        const double* w = W + (long long)c * (d + 1);
        double sum = 0.0;
        for (long long at = from + lane; at < to; at += LANES)
            sum += double(widen(data[at])) * w[indices[at]];
        for (int half = LANES / 2; half > 0; half /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, half);
        if (i < rows && lane == 0) scores[i * k + c] = sum + w[d];
    }
}
