// A second thread that follows a loop: it works on the pieces that the loop leaves behind, one
// after another, while the loop goes on.
//
// Compiled once, in threads/helper_thread.cpp: the levels only call it.
#pragma once
#include <cstdint>

namespace separatrix {

class Beside {
 public:
  using Work = void (*)(void* of, int64_t number);

  Beside();
  ~Beside();  // when all pieces are done
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  // From now on the next piece is work(of, 0), then work(of, 1). Where no thread can be had, or it
  // does not get to run, the one who waits for the pieces works on them.
  void follow(Work work, void* of);
  // One more piece is there.
  void give();
  // Returns when no more than so many pieces are left to do.
  void wait(int64_t left);

 private:
  struct State;
  State* state_;
};

}  // namespace separatrix
