// One read of dense rows for two classes: losses, mistakes and the gradient.
//
// A team of WARPS warps takes ROWS rows at a time. A lane holds the same PER_LANE features of each row in
// registers, computes its share of the scores, and after the loss adds slope * feature to its part of
// the gradient. Every team writes its sums to `partials`; `sum_rows` adds these in a fixed order.
//
// MODE LOSSES: slope = weight * phi'(y * score) * y; also writes curvature if CURVATURE.
// MODE PRODUCT: slope = given * score, for products with the second derivative.
#include "half.cuh"
#include "values.cuh"
#include "margin_losses.cuh"
#define LOSSES 0
#define PRODUCT 1
#define LANES (32 * WARPS)
#define LANES_PER_ROW (32 / ROWS)

struct alignas(sizeof(Value) * PACK) Packed { Value v[PACK]; };

extern "C" __global__ void __launch_bounds__(LANES * TEAMS) dense_pass(
    const Value* X, long long n, int d, const double* W, const double* y, const double* weight,
    const double* given, double* partials, double* curvature) {
    const int lane = threadIdx.x % LANES, in_warp = threadIdx.x % 32;
    const long long team = (long long)blockIdx.x * TEAMS + threadIdx.x / LANES;
    const long long teams = (long long)gridDim.x * TEAMS;
    Sum w[PER_LANE], g[PER_LANE];
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        const int j = (i / PACK * LANES + lane) * PACK + i % PACK;
        w[i] = j < d ? Sum(W[j]) : Sum(0);
        g[i] = Sum(0);
    }
    const Sum bias = Sum(W[d]);
    const int own = in_warp / LANES_PER_ROW;  // the row whose loss this lane computes
    const bool counts = in_warp % LANES_PER_ROW == 0 && lane < 32;
    double losses = 0.0, mistakes = 0.0, slopes = 0.0;
#if WARPS > 1
    __shared__ Sum shared[2][WARPS][ROWS];
    int turn = 0;
#endif
    for (long long first = team * ROWS; first < n; first += teams * ROWS) {
        Wide x[ROWS][PER_LANE];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const Value* row = X + (first + r) * d;
#pragma unroll
            for (int c = 0; c < PER_LANE / PACK; c++) {
                const int j = (c * LANES + lane) * PACK;
                if (first + r < n && (FULL || j < d)) {
                    const Packed some = *reinterpret_cast<const Packed*>(row + j);
#pragma unroll
                    for (int v = 0; v < PACK; v++) x[r][c * PACK + v] = widen(some.v[v]);
                } else {
#pragma unroll
                    for (int v = 0; v < PACK; v++) x[r][c * PACK + v] = Wide(0);
                }
            }
        }
        Sum s[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            s[r] = Sum(0);
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) s[r] += Sum(x[r][i]) * w[i];
        }
        // Half of the lanes go on with half of the rows, until each has the sum of its own row.
#pragma unroll
        for (int half = 16; half >= LANES_PER_ROW; half /= 2) {
            const int rows = half / LANES_PER_ROW;
#pragma unroll
            for (int r = 0; r < rows; r++) {
                const bool upper = in_warp & half;
                const Sum sent = upper ? s[r] : s[r + rows];
                const Sum kept = upper ? s[r + rows] : s[r];
                s[r] = kept + __shfl_xor_sync(0xffffffffu, sent, half);
            }
        }
#pragma unroll
        for (int half = LANES_PER_ROW / 2; half > 0; half /= 2)
            s[0] += __shfl_xor_sync(0xffffffffu, s[0], half);
        Sum score = s[0];
#if WARPS > 1
        if (in_warp % LANES_PER_ROW == 0) shared[turn][threadIdx.x / 32][own] = score;
        __syncthreads();
        score = Sum(0);
#pragma unroll
        for (int warp = 0; warp < WARPS; warp++) score += shared[turn][warp][own];
        turn ^= 1;
#endif
        score += bias;
        const long long row = first + own;
        Sum slope = Sum(0);
        if (row < n) {
#if MODE == PRODUCT
            slope = Sum(given[row]) * score;
#else
            const double c = weight ? weight[row] : 1.0;
            const Sum sign = Sum(y[row]), m = sign * score;
            const Margin<Sum> at = margin_loss(m);
            const bool present = c != 0.0;
            slope = present ? Sum(c) * at.slope * sign : Sum(0);
            if (counts) {
                losses += present ? c * double(at.value) : 0.0;
                mistakes += m > Sum(0) ? 0.0 : c;
#if CURVATURE
                curvature[row] = present ? c * double(at.curvature) : 0.0;
#endif
            }
#endif
        }
        if (counts) slopes += double(slope);
#if GRADIENT
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const Sum of_row = __shfl_sync(0xffffffffu, slope, r * LANES_PER_ROW);
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) g[i] += of_row * Sum(x[r][i]);
        }
#endif
    }
    double* out = partials + team * (d + 3);
#if GRADIENT
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        const int j = (i / PACK * LANES + lane) * PACK + i % PACK;
        if (j < d) out[j] = double(g[i]);
    }
#else
    for (int j = lane; j < d; j += LANES) out[j] = 0.0;
#endif
    for (int half = 16; half > 0; half /= 2) {
        losses += __shfl_xor_sync(0xffffffffu, losses, half);
        mistakes += __shfl_xor_sync(0xffffffffu, mistakes, half);
        slopes += __shfl_xor_sync(0xffffffffu, slopes, half);
    }
    if (lane == 0) {
        out[d] = slopes;
        out[d + 1] = losses;
        out[d + 2] = mistakes;
    }
}
