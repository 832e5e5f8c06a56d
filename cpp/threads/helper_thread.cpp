#include "threads/helper_thread.hpp"

#include <atomic>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>

namespace separatrix {

namespace {
// A thread without work first spins, then yields, and finally sleeps. A piece comes every few
// microseconds: waking the thread for each would cost the loop more than it saves.
constexpr int kEager = 256, kPatient = 2048;
constexpr std::chrono::microseconds kNap{50};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void idle_for(int times) {
  if (times < kEager) pause();
  else if (times < kPatient) std::this_thread::yield();
  else std::this_thread::sleep_for(kNap);
}
}  // namespace

struct HelperThread::State {
  Task task = nullptr;
  void* of = nullptr;
  int64_t before = 0;  // pieces of other work
  // What one thread writes and the other reads must not share a cache line with the rest.
  alignas(64) std::atomic<int64_t> posted{0};
  std::atomic<bool> over{false};
  alignas(64) std::atomic<int64_t> done{0};
  std::atomic<bool> busy{false};
  std::thread thread;

  // Works on the next piece, unless there is none or another thread works on one.
  bool take() {
    // Before anything is written: a thread that only checks must not delay others.
    if (done.load(std::memory_order_relaxed) == posted.load(std::memory_order_acquire) ||
        busy.load(std::memory_order_relaxed) || busy.exchange(true, std::memory_order_acquire))
      return false;
    const int64_t number = done.load(std::memory_order_relaxed);
    const bool found = number != posted.load(std::memory_order_acquire);
    if (found) {
      task(of, number - before);
      done.store(number + 1, std::memory_order_release);
    }
    busy.store(false, std::memory_order_release);
    return found;
  }

  void run() {
    for (int idle = 0; !over.load(std::memory_order_relaxed);) {
      if (take()) idle = 0;
      else idle_for(idle++);
    }
  }
};

HelperThread::HelperThread() : state_(new State) {}

HelperThread::~HelperThread() {
  drain(0);
  state_->over = true;
  if (state_->thread.joinable()) state_->thread.join();
  delete state_;
}

void HelperThread::set_task(Task task, void* of) {
  drain(0);
  // The thread takes nothing before the next piece is posted, and posting publishes these.
  state_->task = task;
  state_->of = of;
  state_->before = state_->posted;
  if (state_->thread.joinable()) return;
  try {
    state_->thread = std::thread(&State::run, state_);
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {  // for the few bytes that the thread is started with
  }
}

void HelperThread::post() {
  const int64_t before = state_->posted.load(std::memory_order_relaxed);  // written only here
  state_->posted.store(before + 1, std::memory_order_release);
}

void HelperThread::drain(int64_t left) {
  const auto open = [this] {
    return state_->posted.load(std::memory_order_relaxed) -
           state_->done.load(std::memory_order_acquire);
  };
  for (int idle = 0; open() > left;) {
    if (!state_->take()) idle_for(idle++);
  }
}

}  // namespace separatrix
