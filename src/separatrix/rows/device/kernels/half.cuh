#ifndef EMULATED
__device__ inline float half_to_float(unsigned short bits) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}
#endif
