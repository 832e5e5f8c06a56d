// Copies from global to shared memory that run while the thread goes on (sm_80 and later).
//
// A thread that waits sees what it copied itself; other threads need a barrier, too.
#ifndef EMULATED
template <typename T> __device__ inline void start_copy(T* to, const T* from) {
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    if (sizeof(T) == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
    else if (sizeof(T) == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at), "l"(from));
    else if (sizeof(T) == 4) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from));
    else *to = *from;
}
__device__ inline void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups of copies but the last PENDING.
template <int PENDING> __device__ inline void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
#endif
