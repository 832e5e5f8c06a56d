// Adds the sums of each column's segments, in order, to `out` (k, d + 1).
extern "C" __global__ void __launch_bounds__(256) column_sums(
    const double* of_segments, const int* first_segment, int d, int k, double* out) {
    const long long at = (long long)blockIdx.x * 256 + threadIdx.x;
    if (at >= (long long)d * k) return;
    const int c = int(at / d), j = int(at - (long long)c * d);
    double sum = 0.0;
    for (int s = first_segment[j]; s < first_segment[j + 1]; s++)
        sum += of_segments[(long long)s * k + c];
    out[(long long)c * (d + 1) + j] += sum;
}
