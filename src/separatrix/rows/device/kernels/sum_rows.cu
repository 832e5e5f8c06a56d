// Column sums of a matrix (count, width), in the same order each time; ADD adds them to `out`.
//
// A block takes COLUMNS columns, a thread every (256 / COLUMNS)-th row of one of them; then a tree.
#define TEAMS (256 / COLUMNS)

extern "C" __global__ void __launch_bounds__(256) sum_rows(
    const double* rows, long long count, int width, double* out) {
    __shared__ double sums[TEAMS][COLUMNS];
    const int column = threadIdx.x % COLUMNS, team = threadIdx.x / COLUMNS;
    const int j = blockIdx.x * COLUMNS + column;
    double sum = 0.0;
    if (j < width)
        for (long long i = team; i < count; i += TEAMS) sum += rows[i * width + j];
    sums[team][column] = sum;
    __syncthreads();
    for (int half = TEAMS / 2; half > 0; half /= 2) {
        if (team < half) sums[team][column] += sums[team + half][column];
        __syncthreads();
    }
    if (team == 0 && j < width) out[j] = ADD ? out[j] + sums[0][column] : sums[0][column];
}
