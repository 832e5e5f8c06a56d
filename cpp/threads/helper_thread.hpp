// A second thread that takes a part of a loop's work.
//
// Compiled once, in threads/helper_thread.cpp: the levels only call it.
#pragma once

namespace separatrix {

class HelperThread {
 public:
  using Task = void (*)(void* of);

  HelperThread();
  ~HelperThread();
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  // Runs task(of) on the thread; finish() must follow, and returns when it has run. If no thread
  // could be started, or it is not scheduled, finish() runs the task itself.
  void begin(Task task, void* of);
  void finish();

 private:
  struct State;
  State* state_;
};

}  // namespace separatrix
