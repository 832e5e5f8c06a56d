// How often each whole number from `least` to `least + size - 1` occurs; the counts begin as 0.
//
// Additions of whole numbers have the same result in any order.
#define MOST_SHARED 4096

extern "C" __global__ void __launch_bounds__(256) count_values(
    const long long* values, long long n, long long least, int size, unsigned long long* counts) {
    __shared__ unsigned int own[MOST_SHARED];
    const bool shared = size <= MOST_SHARED;
    for (int j = threadIdx.x; shared && j < size; j += 256) own[j] = 0;
    __syncthreads();
    const long long step = (long long)gridDim.x * 256;
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < n; i += step) {
        const long long j = values[i] - least;
        if (j < 0 || j >= size) continue;
        if (shared) atomicAdd(&own[j], 1u);
        else atomicAdd(&counts[j], 1ull);
    }
    __syncthreads();
    for (int j = threadIdx.x; shared && j < size; j += 256)
        if (own[j]) atomicAdd(&counts[j], (unsigned long long)own[j]);
}
