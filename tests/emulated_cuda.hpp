// Runs the kernels as plain C++: every CUDA thread is a fiber, which runs until a barrier or a shuffle.
//
// Fibers of a block take turns in the order of their numbers. A barrier or a shuffle that some threads
// do not reach ends the process with a message, as it would hang a GPU.
//
// No header of containers is read, which would take most of the time of a compilation.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

#define EMULATED
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)

using std::exp;
using std::expm1;
using std::fabs;
using std::fma;
using std::log1p;

struct Place { volatile unsigned x; };
static Place threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {
enum State { READY, AT_SHUFFLE, AT_BARRIER, DONE };
struct Copy { void* to; const void* from; size_t bytes; int group; };
struct Fiber {
    ucontext_t context;
    char* stack;
    State state;
    int turn;
    Copy* copies;  // those from `made` to `asked` are to be made
    size_t made, asked, room;
    int group;  // of copies; this one is open
};
static const unsigned MOST = 1024;  // threads of a block
static const size_t STACK = 1 << 16;
static Fiber fibers[MOST];
static ucontext_t scheduler;
static uint64_t slots[2][MOST];
static void (*body)();

static void wait(State state) {
    Fiber& fiber = fibers[threadIdx.x];
    fiber.state = state;
    swapcontext(&fiber.context, &scheduler);
}

static void enter() {
    body();
    wait(DONE);
}

static bool release(size_t from, size_t to, State state) {
    bool any = false;
    for (size_t t = from; t < to; t++) {
        if (fibers[t].state != state && fibers[t].state != DONE) return false;
        any |= fibers[t].state == state;
    }
    for (size_t t = from; any && t < to; t++)
        if (fibers[t].state == state) fibers[t].state = READY;
    return any;
}

static void run_block(unsigned threads) {
    if (threads > MOST) std::abort();
    for (unsigned t = 0; t < threads; t++) {
        Fiber& fiber = fibers[t];
        if (fiber.stack == nullptr) fiber.stack = static_cast<char*>(std::malloc(STACK));
        fiber.state = READY;
        fiber.turn = 0;
        fiber.made = fiber.asked = 0;
        fiber.group = 0;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack;
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, enter, 0);
    }
    for (;;) {
        for (unsigned t = 0; t < threads; t++) {
            if (fibers[t].state != READY) continue;
            threadIdx.x = t;
            swapcontext(&scheduler, &fibers[t].context);
        }
        bool moved = false, done = true;
        for (size_t warp = 0; warp < threads; warp += 32)
            moved |= release(warp, warp + 32 < threads ? warp + 32 : threads, AT_SHUFFLE);
        moved |= release(0, threads, AT_BARRIER);
        for (unsigned t = 0; t < threads; t++) done &= fibers[t].state == DONE;
        if (done) return;
        if (!moved) {
            std::fputs("threads of a block wait for each other\n", stderr);
            std::abort();
        }
    }
}

template <typename T> T exchange(T value, unsigned source) {
    const unsigned me = threadIdx.x;
    const int turn = fibers[me].turn ^= 1;
    std::memcpy(&slots[turn][me], &value, sizeof value);
    wait(AT_SHUFFLE);
    T found;
    std::memcpy(&found, &slots[turn][me / 32 * 32 + source], sizeof found);
    return found;
}
}  // namespace emulation

template <typename T> T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulation::exchange(value, (threadIdx.x % 32) ^ mask);
}
template <typename T> T __shfl_sync(unsigned, T value, int source) {
    return emulation::exchange(value, source);
}
static double __dadd_rn(double a, double b) { return a + b; }
static double __dmul_rn(double a, double b) { return a * b; }
// Copies are made when a thread waits for them: one that forgets to wait finds old values.
template <typename T> void start_copy(T* to, const T* from) {
    emulation::Fiber& fiber = emulation::fibers[threadIdx.x];
    if (fiber.asked == fiber.room) {
        fiber.room = 2 * fiber.room + 16;
        fiber.copies = static_cast<emulation::Copy*>(
            std::realloc(fiber.copies, fiber.room * sizeof(emulation::Copy)));
    }
    fiber.copies[fiber.asked++] = {to, from, sizeof(T), fiber.group};
}
static void end_group() { emulation::fibers[threadIdx.x].group++; }
template <int PENDING> void wait_for_copies() {
    emulation::Fiber& fiber = emulation::fibers[threadIdx.x];
    while (fiber.made < fiber.asked && fiber.copies[fiber.made].group < fiber.group - PENDING) {
        const emulation::Copy& copy = fiber.copies[fiber.made++];
        std::memcpy(copy.to, copy.from, copy.bytes);
    }
}
static void __syncthreads() { emulation::wait(emulation::AT_BARRIER); }

template <typename T> T atomicAdd(T* at, T value) { T old = *at; *at += value; return old; }

static float __uint_as_float(unsigned bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}
static unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}
static double __longlong_as_double(unsigned long long bits) {
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
}
static float half_to_float(unsigned short bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    float value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                : exponent ? std::ldexp(float(mantissa | 1024), exponent - 25)
                           : std::ldexp(float(mantissa), -24);
    return bits & 0x8000 ? -value : value;
}
