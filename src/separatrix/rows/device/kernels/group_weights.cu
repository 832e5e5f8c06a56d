// The weight of each row in the column of its group, 0 in the others: (rows, groups).
extern "C" __global__ void __launch_bounds__(256) group_weights(
    const long long* group, const double* weight, long long rows, int groups, double* out) {
    const long long size = rows * groups, step = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < size; at += step) {
        const long long i = size <= 0x7fffffff ? (unsigned)at / (unsigned)groups : at / groups;
        const double c = weight ? weight[i] : 1.0;
        out[at] = !group || group[i] == at - i * groups ? c : 0.0;
    }
}
