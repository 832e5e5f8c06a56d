// A second thread that follows a loop: it works on the pieces that the loop leaves behind, one
// after another, while the loop goes on.
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

  // From now on the next piece is task(of, 0), then task(of, 1). Where no thread can be had, or it
  // does not get to run, the one who waits for the pieces works on them.
  void set_task(Task task, void* of);
  // One more piece is there.
  void post();
  // Returns when no more than so many pieces are left to do.
  void drain(int64_t left);

 private:
  struct State;
  State* state_;
};

}  // namespace separatrix
