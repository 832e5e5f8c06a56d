// float32 numbers as sums of two bfloat16: the nearest one, and the nearest to what is left.
__device__ inline unsigned int nearest(float v) {
    const unsigned int bits = __float_as_uint(v);
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

extern "C" __global__ void __launch_bounds__(256) split_bfloat16(
    const float* values, long long count, unsigned short* high, unsigned short* low) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        const unsigned int first = nearest(values[at]);
        high[at] = (unsigned short)first;
        low[at] = (unsigned short)nearest(values[at] - __uint_as_float(first << 16));
    }
}
