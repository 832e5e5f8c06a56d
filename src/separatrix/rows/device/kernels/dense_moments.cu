// Weighted column sums of x - shift over all rows and over those of group 1, and of its squares.
//
// As in dense_pass.cu a lane holds the same PER_LANE features of every row. Every team writes three rows
// of d sums; `sum_rows` adds them in a fixed order.
#include "half.cuh"
#include "values.cuh"
#define LANES (32 * WARPS)

struct alignas(sizeof(Value) * PACK) Packed { Value v[PACK]; };

extern "C" __global__ void __launch_bounds__(LANES * TEAMS) dense_moments(
    const Value* X, long long n, int d, const double* shift, const double* weight,
    const long long* group, double* partials) {
    const int lane = threadIdx.x % LANES;
    const long long team = (long long)blockIdx.x * TEAMS + threadIdx.x / LANES;
    const long long teams = (long long)gridDim.x * TEAMS;
    double from[PER_LANE], all[PER_LANE], some[PER_LANE], squares[PER_LANE];
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        const int j = (i / PACK * LANES + lane) * PACK + i % PACK;
        from[i] = shift && j < d ? shift[j] : 0.0;
        all[i] = some[i] = squares[i] = 0.0;
    }
    for (long long first = team * ROWS; first < n; first += teams * ROWS) {
        Wide x[ROWS][PER_LANE];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const Value* row = X + (first + r) * d;
#pragma unroll
            for (int c = 0; c < PER_LANE / PACK; c++) {
                const int j = (c * LANES + lane) * PACK;
                if (first + r < n && j < d) {
                    const Packed packed = *reinterpret_cast<const Packed*>(row + j);
#pragma unroll
                    for (int v = 0; v < PACK; v++) x[r][c * PACK + v] = widen(packed.v[v]);
                } else {
#pragma unroll
                    for (int v = 0; v < PACK; v++) x[r][c * PACK + v] = Wide(0);
                }
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (first + r >= n) continue;
            const double c = weight ? weight[first + r] : 1.0;
            const double own = group && group[first + r] == 1 ? c : 0.0;
            if (c == 0.0) continue;  // the row is as if absent, even if its squares overflow
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) {
                const double z = double(x[r][i]) - from[i];
                all[i] += c * z;
                some[i] += own * z;
                squares[i] += c * (z * z);
            }
        }
    }
    double* out = partials + team * 3 * d;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        const int j = (i / PACK * LANES + lane) * PACK + i % PACK;
        if (j < d) {
            out[j] = all[i];
            out[d + j] = some[i];
            out[2 * d + j] = squares[i];
        }
    }
}
