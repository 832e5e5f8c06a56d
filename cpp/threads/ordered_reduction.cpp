#include "threads/ordered_reduction.hpp"

#include <algorithm>

namespace separatrix {

void BlockSum::add(int64_t block, std::vector<double>& numbers) {
  const Locked lock(guard_);
  waiting_[block].swap(numbers);
  for (auto next = waiting_.begin(); next != waiting_.end() && next->first == added_; ++added_) {
    std::vector<double>& part = next->second;
    if (added_ == 0) std::copy(part.begin(), part.end(), sum_);
    else for (size_t j = 0; j < size_; ++j) sum_[j] += part[j];
    numbers.swap(part);
    next = waiting_.erase(next);
  }
}

}  // namespace separatrix
