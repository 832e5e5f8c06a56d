// The module: which level its loops run at, how they are stopped, and all bindings.
#include <nanobind/stl/string.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "python/bind.hpp"

namespace separatrix {

std::atomic<const Table*> active{nullptr};

namespace {

std::atomic<bool> stop_requested{false};
unsigned long main_thread = 0;
constexpr auto kBetweenChecks = std::chrono::milliseconds(50);
constexpr unsigned kBetweenClocks = 16;  // calls: the clock takes as long as half a row

struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

// On the main thread also lets Python handle signals now and then: a handler may call request_stop,
// or raise.
bool should_stop() {
  if (stop_requested.load(std::memory_order_relaxed)) return true;
  if (PyThread_get_thread_ident() != main_thread) return false;
  static unsigned calls = 0;
  if (++calls % kBetweenClocks) return false;
  static auto last = std::chrono::steady_clock::now();
  const auto now = std::chrono::steady_clock::now();
  if (now - last < kBetweenChecks) return false;
  last = now;
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0 || stop_requested.load();
}

void raise_if(bool stopped) {
  if (!stopped) return;
  if (PyErr_Occurred()) throw nb::python_error();
  throw Interrupted("the loop was asked to stop before its end");
}

namespace {

nb::list names_of(const Table* const* levels) {
  nb::list names;
  for (; *levels; ++levels) names.append((*levels)->level);
  return names;
}

// The widest level; an ImportError if the processor runs none.
const Table* widest_level() {
  const Table* widest = nullptr;
  for (const Table* const* level = usable_levels(); *level; ++level) widest = *level;
  if (!widest)
    throw std::runtime_error(
        "separatrix was compiled with SEPARATRIX_LEVELS=native for a processor with other "
        "instructions than this one has: install it again on this machine, or with all levels "
        "(pip install .)");
  return widest;
}

// The numbers by which the loops know the losses.
template <size_t kCount>
nb::dict numbered(const char* const (&names)[kCount]) {
  nb::dict numbers;
  for (size_t i = 0; i < kCount; ++i) numbers[names[i]] = int(i);
  return numbers;
}

void use_level(const std::string& name) {
  const Table* level = find_level(name.c_str());
  expect(level != nullptr, "not an instruction-set level that is compiled and runs on this machine: see levels()");
  active = level;
}

}  // namespace

}  // namespace separatrix

using namespace separatrix;

NB_MODULE(_loops, m) {
  m.doc() = "Compiled loops; reached only through separatrix.loops.";
  active = widest_level();
  main_thread = nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  nb::exception<Interrupted>(m, "Interrupted", PyExc_KeyboardInterrupt);
  bind_online(m);
  bind_batch(m);
  bind_sparse(m);
  bind_kernel(m);
  bind_models(m);
  bind_text(m);
  m.def("levels", [] { return names_of(usable_levels()); });
  m.def("compiled_levels", [] { return names_of(compiled_levels()); });
  m.def("level", [] { return active.load()->level; });
  m.def("use_level", &use_level, "name"_a);
  m.def("request_stop", [] { stop_requested = true; });
  m.def("clear_stop", [] { stop_requested = false; });
  m.def("stop_requested", [] { return stop_requested.load(); });
  m.attr("loss_ids") = numbered(kLossNames);
  m.attr("joint_ids") = numbered(kJointNames);
  m.attr("rule_ids") = numbered(kRuleNames);
  m.attr("compiler") = SEPARATRIX_COMPILER;
  m.attr("has_threads") = SEPARATRIX_THREADS != 0;
}
