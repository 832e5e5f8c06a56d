// Sums of `each` rows at a time of a matrix (count, width), in the same order each time: one row of
// `out` for them; ADD adds to it.
//
// A block takes COLUMNS columns, a thread every (256 / COLUMNS)-th row of one of them; then a tree.
#define TEAMS (256 / COLUMNS)

extern "C" __global__ void __launch_bounds__(256) sum_rows(
    const double* rows, long long count, int width, long long each, double* out) {
    __shared__ double sums[TEAMS][COLUMNS];
    const int column = threadIdx.x % COLUMNS, team = threadIdx.x / COLUMNS;
    const int across = (width + COLUMNS - 1) / COLUMNS;
    const int j = int(blockIdx.x % across) * COLUMNS + column;
    const long long part = blockIdx.x / across, from = part * each;
    const long long to = from + each < count ? from + each : count;
    double sum = 0.0;
    if (j < width)
        for (long long i = from + team; i < to; i += TEAMS) sum += rows[i * width + j];
    sums[team][column] = sum;
    __syncthreads();
    for (int half = TEAMS / 2; half > 0; half /= 2) {
        if (team < half) sums[team][column] += sums[team + half][column];
        __syncthreads();
    }
    if (team == 0 && j < width) {
        double* at = out + part * width + j;
        *at = ADD ? *at + sums[0][column] : sums[0][column];
    }
}
