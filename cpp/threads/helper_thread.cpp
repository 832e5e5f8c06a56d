#include "threads/helper_thread.hpp"

#include <atomic>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>

namespace separatrix {

namespace {
// A thread without work first spins, then yields, and finally sleeps. A task comes every few
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
  enum Phase { kNothing, kWaiting, kTaken };
  Task task = nullptr;
  void* of = nullptr;
  std::atomic<Phase> phase{kNothing};
  std::atomic<bool> over{false};
  std::thread thread;

  // Runs the task, unless there is none or the other thread has taken it.
  bool take() {
    Phase expected = kWaiting;
    // Looks before it writes: a thread that only waits must not delay the other.
    if (phase.load(std::memory_order_relaxed) != kWaiting ||
        !phase.compare_exchange_strong(expected, kTaken, std::memory_order_acquire))
      return false;
    task(of);
    phase.store(kNothing, std::memory_order_release);
    return true;
  }

  void run() {
    for (int idle = 0; !over.load(std::memory_order_relaxed);) {
      if (take()) idle = 0;
      else idle_for(idle++);
    }
  }
};

HelperThread::HelperThread() : state_(new State) {
  try {
    state_->thread = std::thread(&State::run, state_);
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {  // for the few bytes that the thread is started with
  }
}

HelperThread::~HelperThread() {
  state_->over = true;
  if (state_->thread.joinable()) state_->thread.join();
  delete state_;
}

void HelperThread::begin(Task task, void* of) {
  state_->task = task;
  state_->of = of;
  state_->phase.store(State::kWaiting, std::memory_order_release);
}

void HelperThread::finish() {
  if (state_->take()) return;
  for (int idle = 0; state_->phase.load(std::memory_order_acquire) != State::kNothing;)
    idle_for(idle++);
}

}  // namespace separatrix
