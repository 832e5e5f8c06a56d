// Sums over segments of columns, for coefficients (rows, k): (segments, k).
//
// `data` has the entries column by column, and `row_of` the row of each. A warp takes one segment,
// entries edges[s] to edges[s + 1], which lie in one column.
#include "half.cuh"
#include "values.cuh"

extern "C" __global__ void __launch_bounds__(256) csr_transpose(
    const Value* data, const int* row_of, const long long* edges, long long segments,
    const double* coefficients, int k, double* out) {
    const int lane = threadIdx.x % 32;
    const long long s = (long long)blockIdx.x * 8 + threadIdx.x / 32;
    const long long from = s < segments ? edges[s] : 0, to = s < segments ? edges[s + 1] : 0;
    for (int c = 0; c < k; c++) {
        double sum = 0.0;
        for (long long at = from + lane; at < to; at += 32) {
            double x = double(widen(data[at]));
            if (POWER == 2) x *= x;
            sum += x * coefficients[(long long)row_of[at] * k + c];
        }
        for (int half = 16; half > 0; half /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, half);
        if (s < segments && lane == 0) out[s * k + c] = sum;
    }
}
