// One read of dense rows for two classes: losses, mistakes and the gradient.
//
// A team of WARPS warps takes ROWS rows at a time. A lane holds the same PER_LANE features of each row in
// registers, computes its share of the scores, and after the loss adds slope * feature to its part of
// the gradient. Meanwhile its features of the rows after that are copied to shared memory, STAGES groups
// of rows ahead. A block adds the sums of its teams in order and writes them to `partials`; `sum_rows`
// adds these in a fixed order. RESIDENT blocks must fit into the registers of a multiprocessor.
//
// MODE LOSSES: slope = weight * phi'(y * score) * y; also writes curvature if CURVATURE.
// MODE PRODUCT: slope = given * score, for products with the second derivative.
#include "half.cuh"
#include "async_copy.cuh"
#include "values.cuh"
#include "margin_losses.cuh"
#define LOSSES 0
#define PRODUCT 1
#define LANES (32 * WARPS)
#define LANES_PER_ROW (32 / ROWS)
#define PACKS (PER_LANE / PACK)

struct alignas(sizeof(Value) * PACK) Packed { Value v[PACK]; };

extern "C" __global__ void __launch_bounds__(LANES * TEAMS, RESIDENT) dense_pass(
    const Value* X, long long n, int d, const double* W, const double* y, const double* weight,
    const double* given, double* partials, double* curvature) {
#if STAGES
    __shared__ Packed ahead[STAGES][ROWS * PACKS][LANES * TEAMS];
#endif
    const int lane = threadIdx.x % LANES, in_warp = threadIdx.x % 32;
    const long long team = (long long)blockIdx.x * TEAMS + threadIdx.x / LANES;
    const long long step = (long long)gridDim.x * TEAMS * ROWS;
    Sum w[PER_LANE], g[PER_LANE];
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        const int j = (i / PACK * LANES + lane) * PACK + i % PACK;
        w[i] = j < d ? Sum(W[j]) : Sum(0);
        g[i] = Sum(0);
    }
#if STAGES
    const auto fetch = [&](long long first, int stage) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const Value* row = X + (first + r) * d;
#pragma unroll
            for (int c = 0; c < PACKS; c++) {
                const int j = (c * LANES + lane) * PACK;
                Packed* to = &ahead[stage][r * PACKS + c][threadIdx.x];
                if (first + r < n && (FULL || j < d))
                    start_copy(to, reinterpret_cast<const Packed*>(row + j));
                else
                    *to = Packed();
            }
        }
        end_group();
    };
    int stage = 0;
#pragma unroll
    for (int s = 0; s < STAGES; s++) fetch(team * ROWS + s * step, s);
#endif
    const Sum bias = Sum(W[d]);
    const int own = in_warp / LANES_PER_ROW;  // the row whose loss this lane computes
    const bool counts = in_warp % LANES_PER_ROW == 0 && lane < 32;
    double losses = 0.0, mistakes = 0.0, slopes = 0.0;
#if WARPS > 1
    __shared__ Sum shared[2][WARPS][ROWS];
    int turn = 0;
#endif
    const double* of_rows = MODE == PRODUCT ? given : weight;
    double next_sign = 0.0, next_weight = 0.0;
    const auto read_ahead = [&](long long row) {  // labels and weights, one group ahead
        next_sign = MODE == LOSSES && row < n ? y[row] : 0.0;
        next_weight = row < n ? (of_rows ? of_rows[row] : 1.0) : 0.0;
    };
    read_ahead(team * ROWS + own);
    for (long long first = team * ROWS; first < n; first += step) {
        const long long row = first + own;
        const double sign_of = next_sign, c = next_weight;
        read_ahead(row + step);
#if STAGES
        wait_for_copies<STAGES - 1>();
#endif
        Wide x[ROWS][PER_LANE];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
#pragma unroll
            for (int c = 0; c < PACKS; c++) {
#if STAGES
                const Packed some = ahead[stage][r * PACKS + c][threadIdx.x];
#else
                const int j = (c * LANES + lane) * PACK;
                const bool inside = first + r < n && (FULL || j < d);
                const Value* at = X + (first + r) * d + j;
                const Packed some = inside ? *reinterpret_cast<const Packed*>(at) : Packed();
#endif
#pragma unroll
                for (int v = 0; v < PACK; v++) x[r][c * PACK + v] = widen(some.v[v]);
            }
        }
        Sum s[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            s[r] = Sum(0);
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) s[r] += Sum(x[r][i]) * w[i];
        }
#if STAGES
        fetch(first + STAGES * step, stage);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
#endif
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
        Sum slope = Sum(0);
        if (row < n) {
#if MODE == PRODUCT
            slope = Sum(c) * score;
#else
            const Sum sign = Sum(sign_of), m = sign * score;
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
#if STAGES
    wait_for_copies<0>();
#endif
    for (int half = 16; half > 0; half /= 2) {
        losses += __shfl_xor_sync(0xffffffffu, losses, half);
        mistakes += __shfl_xor_sync(0xffffffffu, mistakes, half);
        slopes += __shfl_xor_sync(0xffffffffu, slopes, half);
    }
    double* out = partials + (long long)blockIdx.x * (d + 3);
    for (int t = 0; t < TEAMS; t++) {
        if (threadIdx.x / LANES == t) {
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) {
                const int j = (i / PACK * LANES + lane) * PACK + i % PACK;
                if (j < d) out[j] = t ? out[j] + double(g[i]) : double(g[i]);
            }
            if (lane == 0) {
                out[d] = t ? out[d] + slopes : slopes;
                out[d + 1] = t ? out[d + 1] + losses : losses;
                out[d + 2] = t ? out[d + 2] + mistakes : mistakes;
            }
        }
        __syncthreads();
    }
}
