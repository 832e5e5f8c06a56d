// Bindings of the loops that go row by row.
#include "python/bind.hpp"

#include <vector>

#include "threads/helper_thread.hpp"
#include "rows/permutation.hpp"
#include "online/epochs.hpp"

namespace separatrix {

namespace {

std::tuple<double, double, int64_t, int64_t> online_pass(
    nb::handle rows, int loss, AnyArray y, std::optional<Numbers> weight, double weight_scale,
    std::optional<Longs> order, Numbers steps, double l1, double l2, int64_t batch, bool intercept,
    int64_t max_updates, Output v, Output scalars, std::optional<Output> sum,
    std::optional<Output> lag, std::optional<Output> received, std::optional<LongOutput> log,
    OwnedScreeningState* screening, std::optional<Output> ends, int64_t threads) {
  OnlinePass pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    const int64_t count = order ? int64_t(order->size()) : view.n;
    const int64_t k = int64_t(v.size()) / (view.d + 1);
    // Numbers of classes were checked by the source of the rows: a call may visit very few of them.
    const Labels labels(y);
    expect(int64_t(y.size()) == view.n && int64_t(v.size()) == k * (view.d + 1), "y or v: size");
    expect(batch >= 1 && scalars.size() == 3, "batch or scalars: wrong");
    expect(received ? received->size() == v.size() && !sum && !ends : l1 == 0, "received: wrong");
    expect(!screening ||
               (screening->view.n == view.n && screening->view.size == int64_t(v.size())),
           "screening: of other rows or weights");
    expect(steps.size() == 1 || int64_t(steps.size()) * batch >= count, "steps: too few");
    pass = OnlinePass{loss, labels.signs, labels.numbers, k, pointer(weight), weight_scale,
                      pointer(order),
                      count, steps.data(), steps.size() == 1, l2, batch, intercept, max_updates,
                      v.data(), scalars.data(), pointer(sum), pointer(lag), scalars.data() + 1,
                      l1, scalars.data() + 2, pointer(received), pointer(log),
                      screening ? &screening->view : nullptr, nullptr, should_stop, 0, 0, 0, 0,
                      false};
    const int64_t passes = ends ? int64_t(ends->shape(0)) : 0;
    expect(!ends || (order && steps.size() == 1 && count % passes == 0 &&
                     ends->size() == passes * (3 + v.size() * (sum ? 2 : 1))),
           "ends: wrong size");
    const auto loop = labels.numbers ? loops.online_joint : loops.online;
    nb::gil_scoped_release free;
    std::optional<HelperThread> helper;
    if (threads > 1) pass.helper = &helper.emplace();
    if (ends) pass = several_epochs(view, loop, pass, passes, ends->data());
    else loop(view, pass);
  });
  raise_if(pass.stopped);
  return {pass.loss_sum, pass.mistakes, pass.updates, pass.position};
}

// The active rows are left at the front of `order`.
std::tuple<int64_t, double, double> coordinate_epoch(
    nb::handle rows, int loss, Numbers y, std::optional<Numbers> weight, double inv_weight_sum,
    Numbers row_norm2, double inv_2l2, double bias_inv_penalty, LongOutput order, Output alpha,
    Output w, double shrink_margin) {
  CoordinateEpoch pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    expect(int64_t(y.size()) == view.n && int64_t(alpha.size()) == view.n &&
               int64_t(row_norm2.size()) == view.n && int64_t(w.size()) == view.d + 1,
           "y, alpha, row_norm2 or w: size");
    for (size_t t = 0; t < order.size(); ++t)
      expect(order.data()[t] >= 0 && order.data()[t] < view.n, "order: no such row");
    pass = CoordinateEpoch{loss, y.data(), pointer(weight), inv_weight_sum, row_norm2.data(),
                           inv_2l2, bias_inv_penalty, order.data(), int64_t(order.size()),
                           alpha.data(), w.data(), shrink_margin, should_stop, 0, 0, 0, false,
                           nullptr};
    nb::gil_scoped_release free;
    loops.coordinate_epoch(view, pass);
  });
  raise_if(pass.stopped);
  return {pass.n_active, pass.projected_gradient, pass.gap};
}

// Epochs one after another; the active rows are left at the front of `active`.
std::tuple<int64_t, int64_t, double, double, bool, bool, int64_t, int64_t> ascent_round(
    nb::handle rows, int loss, Numbers y, std::optional<Numbers> weight, double inv_weight_sum,
    Numbers row_norm2, double inv_2l2, double bias_inv_penalty, LongOutput active, Output alpha,
    Output w, double shrink_margin, uint64_t seed, uint64_t first_order, int64_t block_rows,
    int64_t blocks_per_group, int64_t most_epochs, double enough, double careful,
    double identified, double stands_out, double gap,
    std::optional<Output> step_history, std::optional<Output> weight_history) {
  AscentRound round{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    expect(int64_t(y.size()) == view.n && int64_t(alpha.size()) == view.n &&
               int64_t(row_norm2.size()) == view.n && int64_t(w.size()) == view.d + 1,
           "y, alpha, row_norm2 or w: size");
    const bool subspace = step_history && weight_history;
    expect(!subspace || (int64_t(step_history->size()) == 2 * view.n &&
                         int64_t(weight_history->size()) == 2 * (view.d + 1)),
           "step_history or weight_history: size");
    expect(block_rows >= 1 && blocks_per_group >= 1 && view.n < int64_t(1) << 32,
           "orders: wrong sizes");
    expect(stands_out >= 3, "stands_out: less than 3");
    for (size_t t = 0; t < active.size(); ++t)
      expect(active.data()[t] >= 0 && active.data()[t] < view.n &&
                 (t == 0 || active.data()[t - 1] < active.data()[t]),
             "active: no such row, or not in order");
    round.epoch = CoordinateEpoch{loss, y.data(), pointer(weight), inv_weight_sum,
                                  row_norm2.data(), inv_2l2, bias_inv_penalty, nullptr, 0,
                                  alpha.data(), w.data(), shrink_margin, should_stop, 0, 0, 0,
                                  false, nullptr};
    round.seed = seed;
    round.first_order = first_order;
    round.block_rows = block_rows;
    round.blocks_per_group = blocks_per_group;
    round.most_epochs = most_epochs;
    round.enough = enough;
    round.careful = careful;
    round.identified = identified;
    round.stands_out = stands_out;
    round.active = active.data();
    round.n_active = int64_t(active.size());
    round.gap = gap;
    round.subspace = subspace;
    round.step_history = subspace ? step_history->data() : nullptr;
    round.weight_history = subspace ? weight_history->data() : nullptr;
    nb::gil_scoped_release free;
    loops.ascent_round(view, round);
  });
  raise_if(round.stopped);
  return {round.n_active, round.epochs, round.gap, round.epoch.shrink_margin, round.subspace,
          round.reached, round.subspace_steps, round.visits};
}

// The same for more than two classes.
std::tuple<int64_t, double, double> multiclass_epoch(
    nb::handle rows, Longs y, std::optional<Numbers> weight, double inv_weight_sum,
    Numbers row_norm2, double inv_2l2, double bias_inv_penalty, LongOutput order, Output alpha,
    Output lines, double shrink_margin) {
  MulticlassEpoch pass{};
  with_rows(rows, [&](const auto& view, const auto& loops) {
    expect(alpha.ndim() == 2 && lines.ndim() == 2, "alpha or lines: not two dimensions");
    const auto k = int64_t(alpha.shape(1)), width = int64_t(lines.shape(1));
    expect(int64_t(y.size()) == view.n && int64_t(alpha.shape(0)) == view.n &&
               int64_t(row_norm2.size()) == view.n && int64_t(lines.shape(0)) == view.d + 1,
           "y, alpha, row_norm2 or lines: size");
    expect(k >= 2 && width >= k && width % 8 == 0, "lines: width");
    for (size_t t = 0; t < order.size(); ++t)
      expect(order.data()[t] >= 0 && order.data()[t] < view.n, "order: no such row");
    pass = MulticlassEpoch{y.data(), pointer(weight), inv_weight_sum, row_norm2.data(),
                           inv_2l2, bias_inv_penalty, order.data(), int64_t(order.size()), k,
                           width, alpha.data(), lines.data(), shrink_margin, should_stop, 0, 0, 0,
                           false};
    nb::gil_scoped_release free;
    loops.multiclass_epoch(view, pass);
  });
  raise_if(pass.stopped);
  return {pass.n_active, pass.gap, pass.violation};
}

// Of the orders that a seed stands for, those from a number on: (count, n).
void draw_orders(LongOutput orders, int64_t block_rows, int64_t blocks_per_group, uint64_t seed,
                 uint64_t number) {
  expect(orders.ndim() == 2, "orders: not (count, n)");
  const auto count = int64_t(orders.shape(0)), n = int64_t(orders.shape(1));
  expect(block_rows >= 1 && blocks_per_group >= 1 && n < int64_t(1) << 32, "orders: wrong sizes");
  std::vector<int64_t> blocks((n + block_rows - 1) / block_rows);
  nb::gil_scoped_release free;
  for (int64_t i = 0; i < count; ++i) {
    draw_numbered_order(n, block_rows, blocks_per_group, seed, number + uint64_t(i), blocks.data(),
                        orders.data() + i * n);
  }
}

}  // namespace

void bind_online(nb::module_& m) {
  nb::class_<OwnedScreeningState>(m, "ScreeningState")
      .def(nb::init<int64_t, int64_t>(), "n"_a, "size"_a)
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
        "screening"_a.none(), "ends"_a.none().noconvert(), "threads"_a);
  m.def("coordinate_epoch", &coordinate_epoch, "rows"_a, "loss"_a, "y"_a, "weight"_a.none(),
        "inv_weight_sum"_a, "row_norm2"_a, "inv_2l2"_a, "bias_inv_penalty"_a, "order"_a.noconvert(),
        "alpha"_a.noconvert(), "w"_a.noconvert(), "shrink_margin"_a);
  m.def("ascent_round", &ascent_round, "rows"_a, "loss"_a, "y"_a, "weight"_a.none(),
        "inv_weight_sum"_a, "row_norm2"_a, "inv_2l2"_a, "bias_inv_penalty"_a, "active"_a.noconvert(),
        "alpha"_a.noconvert(), "w"_a.noconvert(), "shrink_margin"_a, "seed"_a, "first_order"_a,
        "block_rows"_a, "blocks_per_group"_a, "most_epochs"_a, "enough"_a, "careful"_a,
        "identified"_a, "stands_out"_a, "gap"_a,
        "step_history"_a.none().noconvert(), "weight_history"_a.none().noconvert());
  m.def("multiclass_epoch", &multiclass_epoch, "rows"_a, "y"_a, "weight"_a.none(),
        "inv_weight_sum"_a, "row_norm2"_a, "inv_2l2"_a, "bias_inv_penalty"_a, "order"_a.noconvert(),
        "alpha"_a.noconvert(), "lines"_a.noconvert(), "shrink_margin"_a);
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
