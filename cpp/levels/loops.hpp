// All loops over rows of one storage. A level is compiled in a few parts of about the same cost, so
// that several cores share the work: level.cpp, dense.cpp and two files for sparse rows.
//
// Each part is compiled once per instruction-set level, with SEPARATRIX_LEVEL set to the level's name
// and the level's flags. Everything the headers define sits in that namespace, and nothing from
// the standard library that could be emitted as a shared symbol is used.
#pragma once
#include "batch/accuracy.hpp"
#include "batch/column_descent.hpp"
#include "batch/compensated.hpp"
#include "batch/gram.hpp"
#include "batch/interior_point.hpp"
#include "batch/moments.hpp"
#include "batch/multiclass.hpp"
#include "batch/products.hpp"
#include "batch/value_gradient.hpp"
#include "dual/ascent_round.hpp"
#include "dual/multiclass_ascent.hpp"
#include "online/multiclass_sgd.hpp"
#include "online/rules.hpp"
#include "online/sgd.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class Rows>
constexpr LoopsFor<Rows> loops() {
  return {online_pass<Rows>,
          batch_pass<Rows>,
          online_joint_pass<Rows>,
          batch_joint_pass<Rows>,
          scores<Rows>,
          transpose_product<Rows>,
          squared_norms<Rows>,
          hessian_product<Rows>,
          moments<Rows>,
          weighted_correct<Rows>,
          max_standardised_norm2<Rows>,
          gram<Rows>,
          ascent_round<Rows>,
          multiclass_epoch<Rows>,
          interior_points<Rows>,
          compensated_scores<Rows>,
          compensated_transpose_product<Rows>,
          column_curvatures<Rows>,
          column_descent<Rows>,
          online_rule<Rows>};
}

}  // namespace separatrix::SEPARATRIX_LEVEL
