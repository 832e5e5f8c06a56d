// The number of the row of every entry of sparse rows, one warp for each row.
extern "C" __global__ void __launch_bounds__(256) csr_row_numbers(
    const long long* indptr, long long rows, int* row_of) {
    const long long i = (long long)blockIdx.x * 8 + threadIdx.x / 32;
    if (i >= rows) return;
    const long long first = indptr[0];
    for (long long at = indptr[i] + threadIdx.x % 32; at < indptr[i + 1]; at += 32)
        row_of[at - first] = int(i);
}
