// Losses of rows from their scores (rows, k) of type Score, replaced by weight * derivative if GRADIENT.
//
// LANES threads share a row: 32, or 1 for few classes. Labels are -1.0 and +1.0 for k = 1, else
// the numbers of the classes. `sums` receives the weighted loss and mistake of each row. With
// CURVATURE `curvature` receives weight * second derivative: of class `of`, or the mean over classes.
#include "margin_losses.cuh"
#define MARGINS 0
#define SOFTMAX 1
#define CRAMMER_SINGER 2
#define JOINT_PERCEPTRON 3

__device__ inline double lanes_sum(double v) {
    for (int half = LANES / 2; half > 0; half /= 2) v += __shfl_xor_sync(0xffffffffu, v, half);
    return v;
}

extern "C" __global__ void __launch_bounds__(256) class_losses(
    Score* scores, long long rows, int k, const void* labels, const double* weight, double* sums,
    double* curvature, int of) {
    const int lane = threadIdx.x % LANES;
    const long long i = (long long)blockIdx.x * (256 / LANES) + threadIdx.x / LANES;
    const bool inside = i < rows;
    Score* s = scores + (inside ? i : 0) * k;
    const double c = inside ? (weight ? weight[i] : 1.0) : 0.0;
    const bool present = c != 0.0;
    const int label = k == 1 || !inside ? 0 : int(((const long long*)labels)[i]);
    const double sign = k == 1 && inside ? ((const double*)labels)[i] : 1.0;
    const double low = __longlong_as_double(0xfff0000000000000LL);  // -infinity
    const double own = s[label];
    // The best score of another class, the first such class, and whether a score is not a number.
    double best = low, invalid = 0.0;
    int rival = k;
    for (int j = lane; inside && j < k; j += LANES) {
        if (s[j] != s[j]) invalid = s[j];
        if (j != label && s[j] > best) { best = s[j]; rival = j; }
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        const double other = __shfl_xor_sync(0xffffffffu, best, half);
        const int number = __shfl_xor_sync(0xffffffffu, rival, half);
        invalid += __shfl_xor_sync(0xffffffffu, invalid, half);
        if (other > best || (other == best && number < rival)) { best = other; rival = number; }
    }
    if (rival == k) rival = label == 0 ? 1 : 0;  // all others are -infinity
    double loss = 0.0, bend = 0.0;
    bool right = own > best;
#if FORM == MARGINS
    if (k == 1) right = sign * own > 0.0;
    for (int j = lane; inside && j < k; j += LANES) {
        const double turn = k == 1 ? sign : (j == label ? 1.0 : -1.0);
        const Margin<double> at = margin_loss(turn * double(s[j]));
        loss += at.value;
        if (of < 0 || of == j) bend += at.curvature;
#if GRADIENT
        s[j] = Score(present ? c * at.slope * turn : 0.0);
#endif
    }
    loss = lanes_sum(loss);
#elif FORM == SOFTMAX
    const double top = own > best ? own : best, lead = top - own;
    double others = 0.0;
    for (int j = lane; inside && j < k; j += LANES) {
        const double e = exp(double(s[j]) - top);
        if (j != label) others += e;
#if GRADIENT || CURVATURE
        s[j] = Score(e);
#endif
    }
    others = lanes_sum(others) + invalid;
    loss = lead + log1p(others + expm1(-lead));
    const double total = others + exp(-lead);
    for (int j = lane; inside && j < k; j += LANES) {
#if CURVATURE
        const double p = s[j] / total;
        if (of < 0 || of == j) bend += p * (1.0 - p);
#endif
#if GRADIENT
        s[j] = Score(present ? c * (s[j] / total - (j == label ? 1.0 : 0.0)) : 0.0);
#endif
    }
#else
    const double margin = FORM == CRAMMER_SINGER ? 1.0 : 0.0, left = margin + (best - own);
    const bool active = FORM == CRAMMER_SINGER ? left > 0.0 : !right;
    loss = (left > 0.0 ? left : 0.0) + invalid;
#if GRADIENT
    for (int j = lane; inside && j < k; j += LANES)
        s[j] = Score(active && present ? (j == rival ? c : (j == label ? -c : 0.0)) : 0.0);
#endif
#endif
#if CURVATURE
    bend = lanes_sum(bend) / (of < 0 ? k : 1);
    if (inside && lane == 0) curvature[i] = present ? c * bend : 0.0;
#endif
    if (inside && lane == 0) {
        sums[2 * i] = present ? c * loss : 0.0;
        sums[2 * i + 1] = right ? 0.0 : c;
    }
}
