// Where segments of at most SEGMENT entries of one column begin, and where the last ends.
//
// `ends` are the ends of the columns, `first_segment` (d + 1) the number of their first segments.
extern "C" __global__ void __launch_bounds__(256) column_segments(
    const long long* ends, const long long* first_segment, int d, long long* edges) {
    const int j = int(blockIdx.x) * 256 + threadIdx.x;
    if (j >= d) return;
    const long long from = j > 0 ? ends[j - 1] : 0, first = first_segment[j];
    for (long long s = first; s < first_segment[j + 1]; s++) edges[s] = from + (s - first) * SEGMENT;
    if (j == d - 1) edges[first_segment[d]] = ends[j];
}
