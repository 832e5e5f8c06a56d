// Bindings of the loops that go row by row.
#include "python/bind.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include "rows/permutation.hpp"
#include "online/epochs.hpp"

namespace separatrix {

namespace {

// Rows that may move the weights before a pass ends: it looks at max_updates after each batch.
int64_t most_updates(int64_t count, int64_t batch, int64_t max_updates) {
  if (max_updates <= 0 || count == 0) return 0;
  return max_updates - 1 >= count - std::min(batch, count) ? count : max_updates - 1 + batch;
}

// How an order is drawn. Blocks of more rows than there are, or groups of more blocks, are whole.
struct Blocks {
  int64_t rows, per_group;
  Blocks(int64_t n, int64_t block_rows, int64_t blocks_per_group)
      : rows(std::min(block_rows, kMostRows)), per_group(std::min(blocks_per_group, kMostRows)) {
    expect(block_rows >= 1 && blocks_per_group >= 1,
           "block_rows and blocks_per_group: expected 1 or more");
    expect(n < kMostRows, "orders: expected less than 2**32 rows");
  }
  static constexpr int64_t kMostRows = int64_t(1) << 32;
};

void make_screening_state(OwnedScreeningState* state, int64_t n, int64_t size) {
  expect(n >= 0 && size >= 0, "n and size: expected 0 or more");
  checked_product(size, 3 * 8);
  checked_product(n, 8);
  new (state) OwnedScreeningState(n, size);
}

std::tuple<double, double, int64_t, int64_t> online_pass(
    nb::handle rows, int loss, AnyArray y, std::optional<Numbers> weight, double weight_scale,
    std::optional<Longs> order, Numbers steps, double l1, double l2, int64_t batch, bool intercept,
    int64_t max_updates, Output v, Output scalars, std::optional<Output> sum,
    std::optional<Output> lag, std::optional<Output> received, std::optional<LongOutput> log,
    OwnedScreeningState* screening, std::optional<Output> ends, std::optional<Numbers> offset) {
  OnlinePass pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t count = order ? int64_t(order->size()) : view.n;
    const Labels labels(y, true);
    const Size n{"n", view.n}, k{"k", rows_of(v)}, width{"d + 1", view.d + 1};
    labels.check_classes(k.value);
    labels.check_loss(loss);
    expect(batch >= 1, "batch: expected 1 or more");
    expect(bool(sum) == bool(lag), "sum and lag: expected both or neither");
    expect(received ? !sum && !ends : l1 == 0, "received: expected if l1 is not 0, without a sum");
    const Size passes{"passes", ends ? std::max<int64_t>(1, rows_of(*ends)) : 1};
    expect(!ends || (order && steps.size() == 1 && count % passes.value == 0),
           "ends: expected an order of as many whole passes, and one step");
    const int64_t batches = count / batch + (count % batch != 0);
    const Size updates{"updates", ends ? count : most_updates(count, batch, max_updates), true};
    const Size end{"3 and all weights", 3 + int64_t(v.size()) * (sum ? 2 : 1)};
    check_arrays(view, {labels.matrix ? ArrayEntry("y", y, {n, k}) : ArrayEntry("y", y, {n}),
                        {"weight", weight, {n}}, {"order", order, {kAnySize}},
                        {"steps", steps, {{"1, or batches", steps.size() == 1 ? 1 : batches,
                                           true}}},
                        {"v", v, {k, width}}, {"scalars", scalars, {{"3", 3}}},
                        {"sum", sum, {k, width}}, {"lag", lag, {k, width}},
                        {"received", received, {k, width}}, {"log", log, {updates}},
                        {"ends", ends, {passes, end}}, {"offset", offset, {n, k}}});
    expect(!screening ||
               (screening->view.n == view.n && screening->view.size == int64_t(v.size())),
           "screening: of other rows or weights");
    // There is room for the slopes of a batch: no more than there are rows.
    const int64_t most = std::max<int64_t>(2, count);
    pass = OnlinePass{loss, labels.signs, labels.numbers, labels.matrix, k.value, pointer(weight),
                      weight_scale, pointer(order), count, steps.data(), steps.size() == 1, l2,
                      std::min(batch, most), intercept, max_updates, v.data(), scalars.data(),
                      pointer(sum), pointer(lag), scalars.data() + 1, l1, scalars.data() + 2,
                      pointer(received), pointer(log), screening ? &screening->view : nullptr,
                      should_stop, 0, 0, 0, 0, false, nullptr, pointer(offset)};
    const auto loop = labels.signs ? loops.online : loops.online_joint;
    run([&] {
      if (ends) pass = several_epochs(view, loop, pass, passes.value, ends->data());
      else loop(view, pass);
      return !pass.stopped;
    });
  });
  expect(!pass.flaw, pass.flaw);
  return {pass.loss_sum, pass.mistakes, pass.updates, pass.position};
}

std::tuple<double, double, int64_t, int64_t, double> online_rule(
    nb::handle rows, int rule, AnyArray y, std::optional<Numbers> weight,
    std::optional<Longs> order, double parameter, bool intercept, int64_t max_updates, Output v,
    std::optional<Output> variance, std::optional<Output> lag, double area,
    std::optional<LongOutput> log) {
  RulePass pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t count = order ? int64_t(order->size()) : view.n;
    const Labels labels(y);
    const Size n{"n", view.n}, k{"k", rows_of(v)}, width{"d + 1", view.d + 1};
    labels.check_classes(k.value);
    expect(rule >= 0 && rule < int(std::size(kRuleNames)), "rule: no such number");
    const auto id = RuleId(rule);
    expect(bool(variance) == (id == RuleId::arow), "variance: expected for AROW, and only for it");
    expect(id != RuleId::winnow || labels.signs, "y: expected float64 signs for Winnow");
    const Size updates{"updates", most_updates(count, 1, max_updates), true};
    check_arrays(view, {{"y", y, {n}}, {"weight", weight, {n}}, {"order", order, {kAnySize}},
                        {"v", v, {k, width}}, {"variance", variance, {k, width}},
                        {"lag", lag, {k, width}}, {"log", log, {updates}}});
    pass = RulePass{rule, labels.signs, labels.numbers, k.value, pointer(weight), pointer(order),
                    count, parameter, intercept, max_updates, v.data(), pointer(variance),
                    pointer(lag), area, pointer(log), should_stop, 0, 0, 0, 0, false,
                    nullptr};
    run_pass(loops.online_rule, pass, view);
  });
  expect(!pass.flaw, pass.flaw);
  return {pass.loss_sum, pass.mistakes, pass.updates, pass.position, pass.area};
}

// Epochs for two classes, one after another; the active rows are left at the front of `active`.
std::tuple<int64_t, int64_t, double, double, bool, bool, int64_t, int64_t> ascent_round(
    nb::handle rows, int loss, Numbers y, std::optional<Numbers> weight, double inv_weight_sum,
    Numbers row_norm2, double inv_2l2, double bias_inv_penalty, LongOutput active, Output alpha,
    Output w, double shrink_margin, uint64_t seed, uint64_t first_order, int64_t block_rows,
    int64_t blocks_per_group, int64_t most_epochs, double enough, double careful,
    double identified, double stands_out, double gap,
    std::optional<Output> step_history, std::optional<Output> weight_history,
    std::optional<Numbers> offset) {
  AscentRound round{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const auto id = LossId(loss);
    expect(id == LossId::hinge || id == LossId::squared_hinge || id == LossId::logistic,
           "loss: expected the number of hinge, squared_hinge or logistic");
    const Size n{"n", view.n}, width{"d + 1", view.d + 1}, two{"2", 2};
    check_arrays(view, {{"y", y, {n}}, {"weight", weight, {n}}, {"row_norm2", row_norm2, {n}},
                        {"active", active, {kAnySize}}, {"alpha", alpha, {n}}, {"w", w, {width}},
                        {"offset", offset, {n}},
                        {"step_history", step_history, {two, n}},
                        {"weight_history", weight_history, {two, width}}});
    check_below("active", active.data(), int64_t(active.size()), view.n);
    for (size_t t = 1; t < active.size(); ++t)
      expect(active.data()[t - 1] < active.data()[t], "active: expected increasing numbers");
    expect(bool(step_history) == bool(weight_history),
           "step_history and weight_history: expected both or neither");
    const Blocks blocks(view.n, block_rows, blocks_per_group);
    expect(stands_out >= 3, "stands_out: expected 3 or more");
    round = {.epoch = {loss, y.data(), pointer(weight), inv_weight_sum, row_norm2.data(), inv_2l2,
                       bias_inv_penalty, nullptr, 0, alpha.data(), w.data(), shrink_margin,
                       should_stop, 0, 0, 0, false, nullptr, pointer(offset)},
             .seed = seed, .first_order = first_order,
             .block_rows = blocks.rows, .blocks_per_group = blocks.per_group,
             .most_epochs = most_epochs, .enough = enough, .careful = careful,
             .identified = identified, .stands_out = stands_out,
             .active = active.data(), .n_active = int64_t(active.size()), .gap = gap,
             .subspace = bool(step_history), .step_history = pointer(step_history),
             .weight_history = pointer(weight_history)};
    run_pass(loops.ascent_round, round, view);
  });
  return {round.n_active, round.epochs, round.gap, round.epoch.shrink_margin, round.subspace,
          round.reached, round.subspace_steps, round.visits};
}

// One epoch for more than two classes; the active rows are left at the front of `order`.
std::tuple<int64_t, double, double> multiclass_epoch(
    nb::handle rows, Longs y, std::optional<Numbers> weight, double inv_weight_sum,
    Numbers row_norm2, double inv_2l2, double bias_inv_penalty, LongOutput order, Output alpha,
    Output lines, double shrink_margin, std::optional<Numbers> offset) {
  MulticlassEpoch pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, k{"k", columns_of(alpha)}, width{"width", columns_of(lines)};
    check_arrays(view, {{"y", y, {n}}, {"weight", weight, {n}}, {"row_norm2", row_norm2, {n}},
                        {"order", order, {kAnySize}}, {"alpha", alpha, {n, k}},
                        {"lines", lines, {{"d + 1", view.d + 1}, width}},
                        {"offset", offset, {n, k}}});
    expect(k.value >= 2, "alpha: expected 2 columns or more");
    expect(width.value >= k.value && width.value % 8 == 0,
           "lines: expected a multiple of 8 columns, and at least k");
    check_below("order", order.data(), int64_t(order.size()), view.n);
    // Of the rows to visit alone: in the end these may be few.
    for (size_t t = 0; t < order.size(); ++t) check_below("y", y.data() + order.data()[t], 1, k.value);
    pass = MulticlassEpoch{y.data(), pointer(weight), inv_weight_sum, row_norm2.data(),
                           inv_2l2, bias_inv_penalty, order.data(), int64_t(order.size()), k.value,
                           width.value, alpha.data(), lines.data(), shrink_margin, should_stop, 0, 0, 0,
                           false, pointer(offset)};
    run_pass(loops.multiclass_epoch, pass, view);
  });
  return {pass.n_active, pass.gap, pass.violation};
}

// Steps of an interior point method: how many; the point is moved on.
int64_t interior_points(nb::handle rows, Numbers y, Numbers share, double l2, bool intercept,
                        Numbers mean, Numbers scale, Output w, Output alpha, Output upper_slack,
                        Output slack, Output xi, double enough) {
  InteriorPass pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const Size n{"n", view.n}, d{"d", view.d}, width{"d + 1", view.d + 1};
    check_arrays(view, {{"y", y, {n}}, {"share", share, {n}}, {"mean", mean, {d}},
                        {"scale", scale, {width}}, {"w", w, {width}}, {"alpha", alpha, {n}},
                        {"upper_slack", upper_slack, {n}}, {"slack", slack, {n}},
                        {"xi", xi, {n}}});
    pass = InteriorPass{y.data(), share.data(), l2, intercept, mean.data(), scale.data(), w.data(),
                        alpha.data(), upper_slack.data(), slack.data(), xi.data(), enough,
                        should_stop, 0, false};
    run_pass(loops.interior_points, pass, view);
  });
  return pass.steps;
}

// Of the orders that a seed stands for, those from a number on: (count, n).
void draw_orders(LongOutput orders, int64_t block_rows, int64_t blocks_per_group, uint64_t seed,
                 uint64_t number) {
  check_arrays({{"orders", orders, {{"count", 0, true}, {"n", 0, true}}}});
  const auto count = int64_t(orders.shape(0)), n = int64_t(orders.shape(1));
  const Blocks cut(n, block_rows, blocks_per_group);
  std::vector<int64_t> blocks(size_t((n + cut.rows - 1) / cut.rows));
  nb::gil_scoped_release free;
  for (int64_t i = 0; i < count; ++i) {
    draw_numbered_order(n, cut.rows, cut.per_group, seed, number + uint64_t(i), blocks.data(),
                        orders.data() + i * n);
  }
}

}  // namespace

void bind_online(nb::module_& m) {
  nb::class_<OwnedScreeningState>(m, "ScreeningState")
      .def("__init__", &make_screening_state, "n"_a, "size"_a)
      .def_prop_ro("nbytes", &OwnedScreeningState::bytes)
      .def_prop_ro("active", [](const OwnedScreeningState& state) { return state.view.active; })
      .def_prop_ro("screened",
                   [](const OwnedScreeningState& state) { return state.view.screened_total; })
      .def_prop_rw("always", [](const OwnedScreeningState& state) { return state.view.always; },
                   [](OwnedScreeningState& state, bool always) { state.view.always = always; });
  // What a loop writes to is never converted: the numbers would go into a copy.
  m.def("online_pass", &online_pass, "rows"_a, "loss"_a, "y"_a, "weight"_a.none(),
        "weight_scale"_a, "order"_a.none(), "steps"_a, "l1"_a, "l2"_a, "batch"_a, "intercept"_a,
        "max_updates"_a, "v"_a.noconvert(), "scalars"_a.noconvert(), "sum"_a.none().noconvert(),
        "lag"_a.none().noconvert(), "received"_a.none().noconvert(), "log"_a.none().noconvert(),
        "screening"_a.none(), "ends"_a.none().noconvert(), "offset"_a.none());
  m.def("online_rule", &online_rule, "rows"_a, "rule"_a, "y"_a, "weight"_a.none(),
        "order"_a.none(), "parameter"_a, "intercept"_a, "max_updates"_a, "v"_a.noconvert(),
        "variance"_a.none().noconvert(), "lag"_a.none().noconvert(), "area"_a,
        "log"_a.none().noconvert());
  m.def("ascent_round", &ascent_round, "rows"_a, "loss"_a, "y"_a, "weight"_a.none(),
        "inv_weight_sum"_a, "row_norm2"_a, "inv_2l2"_a, "bias_inv_penalty"_a, "active"_a.noconvert(),
        "alpha"_a.noconvert(), "w"_a.noconvert(), "shrink_margin"_a, "seed"_a, "first_order"_a,
        "block_rows"_a, "blocks_per_group"_a, "most_epochs"_a, "enough"_a, "careful"_a,
        "identified"_a, "stands_out"_a, "gap"_a,
        "step_history"_a.none().noconvert(), "weight_history"_a.none().noconvert(),
        "offset"_a.none());
  m.def("multiclass_epoch", &multiclass_epoch, "rows"_a, "y"_a, "weight"_a.none(),
        "inv_weight_sum"_a, "row_norm2"_a, "inv_2l2"_a, "bias_inv_penalty"_a, "order"_a.noconvert(),
        "alpha"_a.noconvert(), "lines"_a.noconvert(), "shrink_margin"_a,
        "offset"_a.none());
  m.def("interior_points", &interior_points, "rows"_a, "y"_a, "share"_a, "l2"_a, "intercept"_a,
        "mean"_a, "scale"_a, "w"_a.noconvert(), "alpha"_a.noconvert(),
        "upper_slack"_a.noconvert(), "slack"_a.noconvert(), "xi"_a.noconvert(), "enough"_a);
  m.attr("smallest_scale") = kSmallestScale;
  m.attr("smallest_scale_of_sum") = kSmallestScaleOfSum;
  m.attr("newton_last_step") = kNewtonLastStep;
  m.attr("newton_max_iter") = kNewtonMaxIter;
  m.attr("surprise") = kSurprise;
  m.attr("crawling") = kCrawling;
  m.attr("left_by_fast") = kLeftByFast;
  m.attr("settled") = kSettled;
  m.attr("gain_rounding") = kGainRounding;
  m.attr("dependent") = kDependent;
  m.attr("nearest_end") = kNearestEnd;
  m.def("draw_orders", &draw_orders, "orders"_a.noconvert(), "block_rows"_a,
        "blocks_per_group"_a, "seed"_a, "number"_a);
}

}  // namespace separatrix
