// Which levels are compiled and used, on processors that run all, some or none of them.
#include "by_hand.hpp"

#include <cstring>

#include "levels/processor.hpp"

namespace {

using namespace separatrix;
using namespace separatrix::tests;

int length(const Table* const* levels) {
  int count = 0;
  while (levels[count]) ++count;
  return count;
}

void check(bool holds, const char* what) {
  ++(holds ? passed : failed);
  if (!holds) std::printf("dispatch: %s\n", what);
}

// Wider processors run the levels of narrower ones, and perhaps more.
void test_narrower_processors() {
  const Table* const* const compiled = compiled_levels();
  int before = 0;
  for (int rank = 0; rank < kMostLevels; ++rank) {
    const TableList levels = levels_up_to(rank);
    const int count = length(levels.at);
    check(count == before || count == before + 1, "a rank adds more than its own level");
    for (int i = 0; i < count; ++i)
      check(levels.at[i] == compiled[i], "levels are not those compiled, from the plainest on");
    for (int i = before; i < count; ++i) {
      static const char* const names[kMostLevels] = {"baseline", "avx2", "avx512"};
      check(std::strcmp(levels.at[i]->level, names[rank]) == 0, "a level of another rank");
    }
    before = count;
  }
  check(before == length(compiled), "the widest processor does not run all levels");
  check(length(levels_up_to(-1).at) == 0, "levels without a processor that runs them");
}

void test_this_processor() {
  const TableList levels = levels_up_to(widest_rank());
  check(length(usable_levels()) == length(levels.at), "usable levels are not those of this rank");
  check(length(usable_levels()) > 0, "no level runs here");
  for (const Table* const* level = usable_levels(); *level; ++level)
    check(find_level((*level)->level) == *level, "a usable level is not found by name");
  check(find_level("mmx") == nullptr, "an unknown level is found");
}

}  // namespace

int main() {
  test_narrower_processors();
  test_this_processor();
  return summary();
}
