#include "core/learners/lp_mkl/options.h"

#include <utility>

namespace mercer::lp_mkl {
namespace {

OptionSchema<LpMklOptions> MakeSchema() {
  OptionSchema<LpMklOptions> schema;
  schema.Real("p", &LpMklOptions::p,
              {.meaning = "Norm of the kernel weights: |weights|_p <= 1. 1 selects few kernels, 2 "
                          "spreads the weights, inf gives "
                          "every kernel the weight 1. Values near 1 need a few more iterations.",
               .min = 1.0,
               .source = "specification of lp-norm MKL, section (a)"});
  schema.Real(
      "C", &LpMklOptions::C,
      {.meaning =
           "Cost of one unit of loss at one sample against half the squared norm of the function; "
           "the box of "
           "the dual is [0, C]. Larger fits the training rows more closely and takes longer.",
       .min = 0.0,
       .min_open = true,
       .max_open = true,
       .source = "specification of lp-norm MKL, section (a)"});
  schema.Real("epsilon", &LpMklOptions::epsilon,
              {.meaning = "Regression only: residuals up to epsilon cost nothing. Larger gives "
                          "fewer support vectors.",
               .unit = "that of the target",
               .min = 0.0,
               .max_open = true,
               .source = "LIBSVM's default",
               .regression_only = true});
  schema.Choice("inner_solver", &LpMklOptions::inner_solver,
                {{"auto", InnerSolverChoice::kAuto},
                 {"newton", InnerSolverChoice::kNewton},
                 {"smo", InnerSolverChoice::kSmo}},
                {.meaning = "How the SVM of fixed weights is solved. auto: SMO within a budget of "
                            "pair steps, then Newton. "
                            "Changes time only.",
                 .source = "measured, tests/bench/lp_mkl_bench.cc"});
  schema.Choice(
      "outer_loop", &LpMklOptions::outer_loop,
      {{"newton", OuterLoopChoice::kNewton},
       {"over_relaxed", OuterLoopChoice::kOverRelaxed},
       {"alternation", OuterLoopChoice::kAlternation}},
      {.meaning = "How weights follow from the SVM's solution. newton: a second-order model of the "
                  "optimum in the "
                  "weights; alternation: the closed form of the weights. Changes time only.",
       .source = "specification of lp-norm MKL, section (b7)"});
  return schema;
}

}  // namespace

const OptionSchema<LpMklOptions>& LpMklOptions::Fields() {
  static const auto& schema = *new OptionSchema<LpMklOptions>(MakeSchema());
  return schema;
}

}  // namespace mercer::lp_mkl
