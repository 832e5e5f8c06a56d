// A second thread that follows a loop: it processes the pieces that the loop posts, in order, while
// the loop continues.
//
// Compiled once, in threads/helper_thread.cpp: the levels only call it.
#pragma once
#include <cstdint>

namespace separatrix {

class HelperThread {
 public:
  using Task = void (*)(void* of, int64_t number);

  HelperThread();
  ~HelperThread();  // when all pieces are done
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  // From now on the next piece is task(of, 0), then task(of, 1). If no thread can be started, or it
  // is not scheduled, the caller that waits for the pieces works on them.
  void set_task(Task task, void* of);
  // Posts one more piece.
  void post();
  // Returns when at most `left` pieces are left to do.
  void drain(int64_t left);

 private:
  struct State;
  State* state_;
};

}  // namespace separatrix
