#include "core/learners/lp_mkl/options.h"

#include <utility>

namespace mercer::lp_mkl {
namespace {

constexpr char kPaper[] =
    "Rakotomamonjy, Chanda: lp-norm multiple kernel learning with low-rank kernels";
constexpr char kChosen[] = "chosen here; the paper gives none";

void AddLowRankOptions(OptionSchema<LpMklOptions>& schema) {
  schema.Choice(
      "approximation", &LpMklOptions::approximation,
      {{"none", Approximation::kNone},
       {"nystrom", Approximation::kNystrom},
       {"pivoted_cholesky", Approximation::kPivotedCholesky}},
      {.meaning = "none: the kernels themselves; memory and time grow with the square of the "
                  "rows. The others are kernels of low rank; memory and time grow with the rows, "
                  "and the certificate is about these kernels. nystrom: they see the rows through "
                  "landmarks. pivoted_cholesky: each kernel is its own incomplete Cholesky factor, "
                  "whose pivots, its landmarks, are in turn the row of all that those before it "
                  "represent worst.",
       .source = kChosen});
  schema.Integer(
      "landmarks", &LpMklOptions::landmarks,
      {.meaning = "Low rank: number of landmarks, of all kernels together or of each its own; all "
                  "rows when there are fewer. More come closer to the kernels themselves; time "
                  "grows with the square.",
       .min = 1,
       .max = 10'000,
       .source = "the paper's experiments"});
  schema.Choice(
      "landmark_selection", &LpMklOptions::landmark_selection,
      {{"uniform", LandmarkSelection::kUniform},
       {"k_means", LandmarkSelection::kKMeans},
       {"leverage", LandmarkSelection::kLeverage},
       {"pivoted_cholesky", LandmarkSelection::kPivotedCholesky}},
      {.meaning = "nystrom: uniform draws training rows; k_means takes centres of the rows, which "
                  "represent them better at a small cost; leverage draws rows by approximate "
                  "leverage scores of all rows; pivoted_cholesky takes in turn the row of all that "
                  "those before it represent worst, well for wide kernels, poorly for narrow ones.",
       .source = kPaper});
  schema.Bool(
      "own_landmarks", &LpMklOptions::own_landmarks,
      {.meaning =
           "nystrom, with landmark_selection leverage or pivoted_cholesky: each kernel has "
           "landmarks chosen for it alone, in place of those for the mean of all. Closer to each "
           "kernel; the "
           "kernels have less in common then, so that memory and time grow with their number.",
       .source = kChosen});
  schema.Integer(
      "rank", &LpMklOptions::rank,
      {.meaning = "Low rank: the largest rank of each kernel. 0: as many as there are landmarks.",
       .min = 0,
       .max = 10'000,
       .source = kPaper});
  schema.Real(
      "eigenvalue_threshold", &LpMklOptions::eigenvalue_threshold,
      {.meaning =
           "nystrom: eigenvalues of a kernel among the landmarks are kept above this share of "
           "the largest one times the number of landmarks, the largest always. pivoted_cholesky: "
           "pivots are taken while a row has more than this share of the largest value left.",
       .min = 1e-15,
       .max = 1e-2,
       .source = kChosen});
  schema.Real(
      "compression_tolerance", &LpMklOptions::compression_tolerance,
      {.meaning =
           "Low rank: the share of the kernels' traces that their joint basis may leave out; of a "
           "kernel that the landmarks represent badly, where that is more, 1e5 times the "
           "tolerance, and 1e-3 at most, of what they lose of it. At most 1e-4 times the gap asked "
           "for keeps the objective but for a small part of what the landmarks change of it; 0 "
           "keeps all that can be told apart.",
       .min = 0,
       .max = 1e-2,
       .source = "measured, docs/results/lowrank-lp-mkl.md"});
  schema.Bool(
      "exact_certificate", &LpMklOptions::exact_certificate,
      {.meaning =
           "Low rank: also bounds the optimum with the kernels themselves at the solution's dual "
           "variables and weights. The model's metrics then say how far it is from that optimum. "
           "The verification then goes through all pairs of rows for every kernel.",
       .source = kChosen});
}

OptionSchema<LpMklOptions> MakeSchema() {
  OptionSchema<LpMklOptions> schema;
  schema.Real("p", &LpMklOptions::p,
              {.meaning = "Norm of the kernel weights: |weights|_p <= 1. 1 selects few kernels, 2 "
                          "spreads the weights, inf gives "
                          "every kernel the weight 1. Values near 1 need a few more iterations.",
               .min = 1.0,
               .source = kChosen});
  schema.Real(
      "C", &LpMklOptions::C,
      {.meaning =
           "Cost of one unit of loss at one sample against half the squared norm of the function. "
           "Larger fits the training rows more closely and takes longer.",
       .min = 0.0,
       .min_open = true,
       .max_open = true,
       .source = "LIBSVM's default"});
  schema.Real("epsilon", &LpMklOptions::epsilon, EpsilonDoc());
  schema.Choice("loss", &LpMklOptions::loss, LossWords(), LossDoc(kPaper));
  schema.Choice("inner_solver", &LpMklOptions::inner_solver,
                {{"auto", InnerSolverChoice::kAuto},
                 {"newton", InnerSolverChoice::kNewton},
                 {"smo", InnerSolverChoice::kSmo},
                 {"interior_point", InnerSolverChoice::kInteriorPoint},
                 {"gfb", InnerSolverChoice::kGfb},
                 {"gfb_merged", InnerSolverChoice::kGfbMerged},
                 {"coordinate_descent", InnerSolverChoice::kCoordinateDescent}},
                {.meaning = "How the SVM of fixed weights is solved. auto: SMO within a budget of "
                            "pair steps, then Newton; with kernels of low rank Newton. With "
                            "kernels of low rank only: interior_point (Mehrotra), gfb "
                            "(generalized forward-backward, one set per kernel), gfb_merged (one "
                            "set for all) and coordinate_descent; the last three may end at a "
                            "numerical limit for large C. The losses squared_hinge, logistic and "
                            "square are for auto and newton. Changes time only.",
                 .source = "measured, tests/bench/lp_mkl_bench.cc and factor_svm_bench.cc"});
  schema.Choice(
      "outer_loop", &LpMklOptions::outer_loop,
      {{"newton", OuterLoopChoice::kNewton},
       {"over_relaxed", OuterLoopChoice::kOverRelaxed},
       {"alternation", OuterLoopChoice::kAlternation},
       {"smo_mkl", OuterLoopChoice::kSmoMkl},
       {"interleaved", OuterLoopChoice::kInterleaved}},
      {.meaning =
           "How weights follow from the SVM's solution. newton: a second-order model of the "
           "optimum in the weights; over_relaxed: the closed form of the weights with "
           "longer steps; alternation: the closed form. smo_mkl: no SVMs of fixed weights "
           "but pair steps on dual and weights together, a baseline for comparisons, with "
           "1.000001 <= p < inf, approximation=none, the losses hinge and epsilon_insensitive, and "
           "inner_solver=auto only. interleaved: the closed form after every Newton step, "
           "with 1 < p < inf, kernels of low rank and the same other options only. Changes time "
           "only.",
       .source = "measured, tests/bench/lp_mkl_bench.cc"});
  schema.Real(
      "weight_penalty", &LpMklOptions::weight_penalty,
      {.meaning =
           "smo_mkl: 0 keeps |weights|_p <= 1; above 0 the weights are free and half of this times "
           "|weights|_p^2 is added to the objective, as in the paper of SMO-MKL. Its solution of "
           "the norm t has the function of the constrained form with t times the C.",
       .min = 0,
       .max_open = true,
       .source =
           "Vishwanathan, Sun, Theera-Ampornpunt, Varma: Multiple kernel learning and the SMO "
           "algorithm. NIPS 2010"});
  AddLowRankOptions(schema);
  return schema;
}

}  // namespace

const OptionSchema<LpMklOptions>& LpMklOptions::Fields() {
  static const auto& schema = *new OptionSchema<LpMklOptions>(MakeSchema());
  return schema;
}

}  // namespace mercer::lp_mkl
