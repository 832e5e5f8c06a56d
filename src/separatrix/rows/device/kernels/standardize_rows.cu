// (x - mean, 1) / scale of dense rows, to the power POWER, times `factor` of each row, or its root if
// ROOT; columns from d + 1 to `width` are 0. Null pointers stand for means of 0, and scales and factors of 1.
#include "half.cuh"
#include "values.cuh"

extern "C" __global__ void __launch_bounds__(256) standardize_rows(
    const Value* X, long long rows, int d, const double* mean, const double* scale,
    const double* factor, Out* out, int width) {
    const long long size = rows * width, step = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < size; at += step) {
        const long long i = size <= 0x7fffffff ? (unsigned)at / (unsigned)width : at / width;
        const int j = int(at - i * width);
        double z = 0.0;
        if (j <= d) {
            z = j < d ? double(widen(X[i * d + j])) : 1.0;
            if (mean && j < d) z -= mean[j];
            if (scale) z /= scale[j];
            if (POWER == 2) z *= z;
            if (factor) z *= ROOT ? sqrt(factor[i]) : factor[i];
        }
        out[at] = Out(z);
    }
}
