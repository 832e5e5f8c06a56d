// To be preloaded: operator new that fails once, at the given call by the compiled module.
//
// Allocations of other libraries succeed: what they do without memory is not ours to test.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<long> left{0};  // calls up to the one that fails; 0: none fails

bool is_ours(void* caller) {
  Dl_info info;
  return dladdr(caller, &info) && info.dli_fname && std::strstr(info.dli_fname, "_loops.");
}

// In the caller's frame: its return address says who asks for memory.
[[gnu::always_inline]] inline void* allocate(size_t size, size_t alignment) {
  if (left > 0 && is_ours(__builtin_return_address(0)) && --left == 0) return nullptr;
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size ? size : 1) ? nullptr : memory;
}

void* or_throw(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

constexpr size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(size_t n) { return or_throw(allocate(n, kUsual)); }
void* operator new[](size_t n) { return or_throw(allocate(n, kUsual)); }
void* operator new(size_t n, std::align_val_t a) { return or_throw(allocate(n, size_t(a))); }
void* operator new[](size_t n, std::align_val_t a) { return or_throw(allocate(n, size_t(a))); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return allocate(n, kUsual); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return allocate(n, kUsual); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }

extern "C" {
void fail_at(long call) { left = call; }
// Whether that call has come; no call fails from now on.
int has_failed() { return left.exchange(0) <= 0; }
}
