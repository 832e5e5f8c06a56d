// Scores (rows, k) of sparse rows in twice the working precision: the nearest doubles, and the rest.
//
// Products are split by a fused multiply-add, sums by Knuth's method: Ogita, Rump and Oishi, Accurate
// sum and dot product, 2005. The intrinsics keep the compiler from contracting the sums.
#include "half.cuh"
#include "values.cuh"

__device__ inline void add(double& high, double& low, double more) {
    const double sum = __dadd_rn(high, more), turn = __dadd_rn(sum, -high);
    const double lost = __dadd_rn(__dadd_rn(high, -__dadd_rn(sum, -turn)), __dadd_rn(more, -turn));
    high = sum;
    low = __dadd_rn(low, lost);
}

extern "C" __global__ void __launch_bounds__(256) csr_exact_scores(
    const Value* data, const Index* indices, const long long* indptr, long long rows, int d,
    const double* W, int k, double* scores, double* rest) {
    const int lane = threadIdx.x % LANES;
    const long long i = (long long)blockIdx.x * (256 / LANES) + threadIdx.x / LANES;
    const long long from = i < rows ? indptr[i] : 0, to = i < rows ? indptr[i + 1] : 0;
    for (int c = 0; c < k; c++) {
        const double* w = W + (long long)c * (d + 1);
        double high = lane == 0 ? w[d] : 0.0, low = 0.0;
        for (long long at = from + lane; at < to; at += LANES) {
            const double x = double(widen(data[at])), v = w[indices[at]];
            const double product = __dmul_rn(x, v);
            add(high, low, product);
            low = __dadd_rn(low, fma(x, v, -product));
        }
        for (int half = LANES / 2; half > 0; half /= 2) {
            const double other = __shfl_xor_sync(0xffffffffu, high, half);
            const double lower = __shfl_xor_sync(0xffffffffu, low, half);
            add(high, low, other);
            low = __dadd_rn(low, lower);
        }
        if (i < rows && lane == 0) {
            const double sum = __dadd_rn(high, low);
            scores[i * k + c] = sum;
            rest[i * k + c] = __dadd_rn(low, -__dadd_rn(sum, -high));
        }
    }
}
