#include "threads/helper_thread.hpp"

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>

namespace separatrix {

namespace {
// Who finds nothing to do looks again at once, so often; then lets others run in between; and lies
// down in the end. A piece comes every few microseconds: to be woken for each would cost the loop
// more than it saves.
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

struct Beside::State {
  Work work = nullptr;
  void* of = nullptr;
  int64_t before = 0;  // pieces of other work
  // What one of both writes and the other reads is not to share a line with the rest.
  alignas(64) std::atomic<int64_t> given{0};
  std::atomic<bool> over{false};
  alignas(64) std::atomic<int64_t> done{0};
  std::atomic<bool> taken{false};
  std::thread thread;

  // Works on the next piece, unless there is none or somebody works on one.
  bool take() {
    // Before anything is written: who only looks must not hold up others.
    if (done.load(std::memory_order_relaxed) == given.load(std::memory_order_acquire) ||
        taken.load(std::memory_order_relaxed) || taken.exchange(true, std::memory_order_acquire))
      return false;
    const int64_t number = done.load(std::memory_order_relaxed);
    const bool found = number != given.load(std::memory_order_acquire);
    if (found) {
      work(of, number - before);
      done.store(number + 1, std::memory_order_release);
    }
    taken.store(false, std::memory_order_release);
    return found;
  }

  void run() {
    for (int idle = 0; !over.load(std::memory_order_relaxed);) {
      if (take()) idle = 0;
      else idle_for(idle++);
    }
  }
};

Beside::Beside() : state_(new State) {}

Beside::~Beside() {
  wait(0);
  state_->over = true;
  if (state_->thread.joinable()) state_->thread.join();
  delete state_;
}

void Beside::follow(Work work, void* of) {
  wait(0);
  // The thread takes nothing before the next piece is given, and that tells it of these.
  state_->work = work;
  state_->of = of;
  state_->before = state_->given;
  if (state_->thread.joinable()) return;
  try {
    state_->thread = std::thread(&State::run, state_);
  } catch (const std::system_error&) {
  }
}

void Beside::give() {
  const int64_t before = state_->given.load(std::memory_order_relaxed);  // nobody else writes it
  state_->given.store(before + 1, std::memory_order_release);
}

void Beside::wait(int64_t left) {
  const auto open = [this] {
    return state_->given.load(std::memory_order_relaxed) -
           state_->done.load(std::memory_order_acquire);
  };
  for (int idle = 0; open() > left;) {
    if (!state_->take()) idle_for(idle++);
  }
}

}  // namespace separatrix
