// Memory that is given back at the end of a scope. Not a class of the standard library: see
// levels/loops.hpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace separatrix::SEPARATRIX_LEVEL {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t size) : data_(new T[size_t(size)]) {}
  static Buffer zeros(int64_t size) { return Buffer(new T[size_t(size)]()); }
  Buffer& operator=(Buffer&& other) {  // which is not copied, nor are classes that have one
    T* const own = data_;
    data_ = other.data_;
    other.data_ = own;
    return *this;
  }
  ~Buffer() { delete[] data_; }

  T* get() const { return data_; }
  operator T*() const { return data_; }

 private:
  explicit Buffer(T* data) : data_(data) {}
  T* data_ = nullptr;
};

}  // namespace separatrix::SEPARATRIX_LEVEL
