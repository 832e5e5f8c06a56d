// Second derivatives of rows by the scores of all classes, from the scores (rows, k).
//
// MODE ROOTS     scores <- root(weight) * probability, for sums of p p' over the rows
// MODE DIAGONAL  scores <- weight * second derivative by the score of each class
// MODE PRODUCT   turn <- weight * (second derivative times turn)
#include "margin_losses.cuh"
#define MARGINS 0
#define ROOTS 0
#define DIAGONAL 1
#define PRODUCT 2

__device__ inline double lanes_sum(double v) {
    for (int half = LANES / 2; half > 0; half /= 2) v += __shfl_xor_sync(0xffffffffu, v, half);
    return v;
}

extern "C" __global__ void __launch_bounds__(256) class_curvature(
    double* scores, double* turn, long long rows, int k, const long long* labels,
    const double* weight) {
    const int lane = threadIdx.x % LANES;
    const long long i = (long long)blockIdx.x * (256 / LANES) + threadIdx.x / LANES;
    const bool inside = i < rows;
    double* s = scores + (inside ? i : 0) * k;
    double* t = turn + (inside ? i : 0) * k;
    const double c = inside ? (weight ? weight[i] : 1.0) : 0.0;
#if FORM == MARGINS
    const int label = inside ? int(labels[i]) : 0;
    for (int j = lane; inside && j < k; j += LANES) {
        const double bend = margin_loss(j == label ? s[j] : -s[j]).curvature;
        if (MODE == PRODUCT) t[j] = c != 0.0 ? c * bend * t[j] : 0.0;
        else s[j] = c != 0.0 ? c * bend : 0.0;
    }
#else
    double top = __longlong_as_double(0xfff0000000000000LL);  // -infinity
    for (int j = lane; inside && j < k; j += LANES) top = s[j] > top ? s[j] : top;
    for (int half = LANES / 2; half > 0; half /= 2) {
        const double other = __shfl_xor_sync(0xffffffffu, top, half);
        top = other > top ? other : top;
    }
    double total = 0.0, mean = 0.0;
    for (int j = lane; inside && j < k; j += LANES) {
        s[j] = exp(s[j] - top);
        total += s[j];
        if (MODE == PRODUCT) mean += s[j] * t[j];
    }
    total = lanes_sum(total);
    mean = lanes_sum(mean) / total;
    for (int j = lane; inside && j < k; j += LANES) {
        const double p = s[j] / total;
        if (MODE == PRODUCT) t[j] = c != 0.0 ? c * p * (t[j] - mean) : 0.0;
        else if (MODE == DIAGONAL) s[j] = c != 0.0 ? c * p * (1.0 - p) : 0.0;
        else s[j] = c != 0.0 ? sqrt(c) * p : 0.0;
    }
#endif
}
