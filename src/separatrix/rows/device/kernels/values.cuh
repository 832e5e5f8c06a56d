// The type of stored values: VALUES is 64, 32, 16 (IEEE half) or 17 (bfloat16).
#if VALUES == 64
typedef double Value;
typedef double Wide;
__device__ inline double widen(Value v) { return v; }
#elif VALUES == 32
typedef float Value;
typedef float Wide;
__device__ inline float widen(Value v) { return v; }
#elif VALUES == 16
struct Value { unsigned short bits; };
typedef float Wide;
__device__ inline float widen(Value v) { return half_to_float(v.bits); }
#else
struct Value { unsigned short bits; };
typedef float Wide;
__device__ inline float widen(Value v) { return __uint_as_float((unsigned int)v.bits << 16); }
#endif
