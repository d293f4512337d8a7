#include "core/learners/infinite_features/options.h"

#include <utility>

namespace mercer::infinite_features {
namespace {

using Schema = OptionSchema<InfiniteFeaturesOptions>;

constexpr char kPaper[] =
    "Rakotomamonjy, Flamary, Yger: Learning with infinitely many features. Machine Learning 91 "
    "(2013) 43-66";
constexpr char kChosen[] = "chosen here; the paper gives none";

void AddProblem(Schema& schema) {
  schema.Choice(
      "loss", &InfiniteFeaturesOptions::loss,
      {{"auto", LossChoice::kAuto},
       {"squared_hinge", LossChoice::kSquaredHinge},
       {"logistic", LossChoice::kLogistic},
       {"square", LossChoice::kSquare},
       {"hinge", LossChoice::kHinge}},
      {.meaning = "What a score f costs at a target y. auto: squared_hinge for classes, square for "
                  "numbers. Classes: squared_hinge max(0, 1 - y f)^2, logistic log(1 + exp(-y f)), "
                  "square (y - f)^2 with y = -1 or +1, hinge max(0, 1 - y f), which solver admm "
                  "alone takes. "
                  "Numbers: square. None has a factor 1/2.",
       .source = kPaper,
       .classification_choices = {"squared_hinge", "logistic", "hinge"}});
  schema.Real(
      "lambda", &InfiniteFeaturesOptions::lambda,
      {.meaning =
           "Weight of the penalty against the sum of the losses, in the unit of lambda_unit. "
           "Larger chooses fewer features; from the maximum on, none. Without it, lambda_shared, "
           "lambda_unit and a path: a path chooses it, unless the rows are too few.",
       .min = 0.0,
       .min_open = true,
       .source = kChosen});
  schema.Real(
      "lambda_shared", &InfiniteFeaturesOptions::lambda_shared,
      {.meaning =
           "Weight of the penalty of a part of the weights that all outputs share, in the "
           "unit of lambda_unit; inf leaves it out. With lambda inf there is that part alone.",
       .min = 0.0,
       .min_open = true,
       .source = kPaper});
  schema.Choice(
      "lambda_unit", &InfiniteFeaturesOptions::lambda_unit,
      {{"share_of_maximum", LambdaUnit::kShareOfMaximum}, {"absolute", LambdaUnit::kAbsolute}},
      {.meaning = "share_of_maximum: lambda is a share of the least value at which no candidate of "
                  "the first round enters the model, so that it means the same whatever the number "
                  "of rows and the normalization. absolute: lambda itself.",
       .source = kChosen});
}

void AddFamily(Schema& schema) {
  schema.Choice(
      "family", &InfiniteFeaturesOptions::family,
      {{"fourier", FamilyChoice::kFourier},
       {"columns", FamilyChoice::kColumns},
       {"gabor", FamilyChoice::kGabor}},
      {.meaning =
           "What the features are drawn from. fourier: cosine and sine of a random direction, "
           "the pairs that a kernel is the mean of. columns: the columns of the data "
           "themselves, which makes it a sparse linear model. gabor: how strongly a square patch "
           "of an "
           "image, the columns of a row being its pixels row by row, answers to an oriented wave.",
       .source = kPaper});
  schema.Choice(
      "kernel", &InfiniteFeaturesOptions::kernel,
      {{"gaussian", KernelChoice::kGaussian}, {"laplacian", KernelChoice::kLaplacian}},
      {.meaning = "fourier: the kernel whose directions are drawn. gaussian exp(-|x-z|^2 / (2 "
                  "bandwidth^2)), laplacian exp(-|x-z|_1 / bandwidth).",
       .source = kPaper});
  schema.Reals(
      "bandwidths", &InfiniteFeaturesOptions::bandwidths,
      {.meaning =
           "fourier: bandwidths of the kernel; with bandwidth_rule list each of them, else "
           "the two ends of the range that they are drawn from. Empty: the median distance of "
           "the training rows (1 where that is 0), or a range from a quarter of it to four times "
           "it.",
       .unit = "that of the distance",
       .min = 0.0,
       .min_open = true,
       .max_open = true,
       .source = kChosen});
  schema.Choice(
      "bandwidth_rule", &InfiniteFeaturesOptions::bandwidth_rule,
      {{"list", BandwidthChoice::kList},
       {"linear", BandwidthChoice::kLinear},
       {"logarithmic", BandwidthChoice::kLogarithmic}},
      {.meaning = "fourier: list draws candidates for each bandwidth. linear and logarithmic draw "
                  "bandwidths anew in every round, uniformly between the two ends, or their "
                  "logarithms.",
       .source = kPaper});
  schema.Integer(
      "bandwidths_per_round", &InfiniteFeaturesOptions::bandwidths_per_round,
      {.meaning = "fourier: number of bandwidths that a round draws, with bandwidth_rule "
                  "linear or logarithmic.",
       .min = 1,
       .max = 1000,
       .source = kPaper});
  schema.Integer(
      "candidates", &InfiniteFeaturesOptions::candidates,
      {.meaning =
           "Features that a round draws, fourier: for each bandwidth. The best of 59 lies, with "
           "probability 0.95, in the best 5 % of the family. Time of the search grows with "
           "it. The family columns is searched whole.",
       .min = 1,
       .max = 10'000,
       .source = kChosen});
  schema.Choice(
      "normalization", &InfiniteFeaturesOptions::normalization,
      {{"column", NormalizationChoice::kColumn},
       {"group", NormalizationChoice::kGroup},
       {"none", NormalizationChoice::kNone}},
      {.meaning =
           "What the features are divided by before they are penalised. column: the norm of "
           "each column over the training rows; group: one number for the columns of a group, "
           "which keeps the result independent of the phase of a pair; none.",
       .source = kPaper});
  schema.Choice(
      "normalization_scope", &InfiniteFeaturesOptions::normalization_scope,
      {{"task", ScopeChoice::kTask}, {"pooled", ScopeChoice::kPooled}},
      {.meaning =
           "Several tasks: whose rows a feature is normalised over. task: those of each task, "
           "so that every task has a scale of its own; pooled: one scale for all, the root "
           "mean square of theirs, so that the part that the tasks share is one function.",
       .source = kPaper});
}

void AddGabor(Schema& schema) {
  schema.Integer("positions_per_side", &InfiniteFeaturesOptions::positions_per_side,
                 {.meaning = "gabor: a filter looks at the patch from the middle of each cell of a "
                             "grid with so many cells per side, at most as many as pixels; the "
                             "feature is the sum of its "
                             "absolute answers.",
                  .min = 1,
                  .max = 64,
                  .source = kChosen});
  schema.Bool("subtract_patch_mean", &InfiniteFeaturesOptions::subtract_patch_mean,
              {.meaning = "gabor: each patch less its mean is filtered, so that its brightness has "
                          "no influence.",
               .source = kChosen});
  schema.Real(
      "min_scale", &InfiniteFeaturesOptions::min_scale,
      {.meaning = "gabor: the least of a filter's two widths, whose logarithms are uniform.",
       .unit = "pixels",
       .min = 0.0,
       .min_open = true,
       .max_open = true,
       .source = kChosen});
  schema.Real("max_scale", &InfiniteFeaturesOptions::max_scale,
              {.meaning = "gabor: the largest width. 0: half the patch.",
               .unit = "pixels",
               .min = 0.0,
               .max_open = true,
               .source = kChosen});
  schema.Real("min_frequency", &InfiniteFeaturesOptions::min_frequency,
              {.meaning = "gabor: the least frequency of a filter's wave; frequencies are uniform.",
               .unit = "1/pixel",
               .min = 0.0,
               .max_open = true,
               .source = kChosen});
  schema.Real("max_frequency", &InfiniteFeaturesOptions::max_frequency,
              {.meaning = "gabor: the largest frequency.",
               .unit = "1/pixel",
               .min = 0.0,
               .max_open = true,
               .source = kChosen});
}

void AddSearch(Schema& schema) {
  schema.Choice(
      "selection", &InfiniteFeaturesOptions::selection,
      {{"generated", SelectionChoice::kGenerated},
       {"selected", SelectionChoice::kSelected},
       {"fixed", SelectionChoice::kFixed}},
      {.meaning = "generated: candidates are drawn in every round, and those that break the "
                  "conditions of optimality most enter the model (groups_per_round). selected: "
                  "all candidates are drawn once. fixed: the features are given in advance and "
                  "enter at once: gabor "
                  "a grid, fourier the first max_groups that are drawn, columns all. The last two "
                  "are baselines.",
       .source = kPaper});
  schema.Integer("values_per_parameter", &InfiniteFeaturesOptions::values_per_parameter,
                 {.meaning = "gabor, fixed: values of each of the four parameters; the grid has "
                             "every combination.",
                  .min = 1,
                  .max = 10,
                  .source = kPaper});
  schema.Integer("dictionary_size", &InfiniteFeaturesOptions::dictionary_size,
                 {.meaning = "selected: number of candidates in all.",
                  .min = 1,
                  .max = 100'000,
                  .source = kPaper});
  schema.Integer(
      "max_groups", &InfiniteFeaturesOptions::max_groups,
      {.meaning = "Groups of features (for fourier: pairs) that the model may have. Time "
                  "grows with the square, memory with the number.",
       .min = 1,
       .max = 10'000,
       .source = kPaper});
  schema.Integer(
      "groups_per_round", &InfiniteFeaturesOptions::groups_per_round,
      {.meaning = "Groups that enter the model in one round. More save rounds and choose "
                  "worse features. 0: one; fourier with a list of bandwidths and without "
                  "ascent_steps: another with every 50 groups in the model; columns, where all "
                  "may enter: as many as the model has, at least 16 and at most 100.",
       .min = 0,
       .max = 100,
       .source = kChosen});
  schema.Integer(
      "ascent_steps", &InfiniteFeaturesOptions::ascent_steps,
      {.meaning =
           "fourier: steps uphill that the best candidate of a round makes before it enters, "
           "in its direction and, with bandwidths from a range, in its bandwidth. It takes "
           "the place of most draws. The model fits more closely at the same lambda, so that a "
           "larger one, with fewer features, is as accurate. 0: none, as in the paper.",
       .min = 0,
       .max = 1000,
       .source = "measured, docs/results/infinite-features.md"});
  schema.Integer(
      "patience", &InfiniteFeaturesOptions::patience,
      {.meaning = "Rounds without any candidate that breaks the conditions of optimality, "
                  "one after the other, after which the search ends.",
       .min = 1,
       .max = 100,
       .source = kChosen});
  schema.Real("violation", &InfiniteFeaturesOptions::violation,
              {.meaning = "A candidate enters only when it breaks the conditions of optimality by "
                          "more than this share.",
               .min = 0.0,
               .max = 1.0,
               .source = kChosen});
  schema.Integer(
      "max_rounds", &InfiniteFeaturesOptions::max_rounds,
      {.meaning = "Rounds of the search, at most.", .min = 1, .max = 1'000'000, .source = kPaper});
  schema.Real(
      "min_decrease", &InfiniteFeaturesOptions::min_decrease,
      {.meaning = "The search ends when what entered in a round has lowered the objective by "
                  "less than this share of it. 0: it goes on.",
       .min = 0.0,
       .max = 1.0,
       .max_open = true,
       .source = kPaper});
  schema.Real(
      "master_gap", &InfiniteFeaturesOptions::master_gap,
      {.meaning = "Relative gap to which the problem of the features in the model is solved "
                  "between two rounds, unless what is left is sure to be less than the next "
                  "one brings. After the search it is solved to the gap asked for.",
       .min = 1e-12,
       .max = 0.1,
       .source = kChosen});
}

void AddPenalty(Schema& schema) {
  schema.Choice(
      "penalty_shape", &InfiniteFeaturesOptions::penalty_shape,
      {{"nested", ShapeChoice::kNested}, {"flat", ShapeChoice::kFlat}},
      {.meaning = "The norm of a group's weights. nested: the penalty_q norm, over the outputs, of "
                  "their Euclidean norms; the features of a group then enter or leave together. "
                  "flat: the penalty_q norm of all of them; with penalty_q 1 each enters alone.",
       .source = kPaper});
  schema.Real(
      "penalty_q", &InfiniteFeaturesOptions::penalty_q,
      {.meaning = "Exponent of the norm, 1, inf, or between 1.01 and 100. Several outputs: 1 "
                  "lets each choose its own features, 2 and above share them.",
       .min = 1.0,
       .source = kPaper});
  schema.Reals(
      "group_weights", &InfiniteFeaturesOptions::group_weights,
      {.meaning =
           "columns: factors of the penalty, one for each column of the data after "
           "preprocessing, in their order; a larger one makes a column enter later. Empty: 1 "
           "for all.",
       .min = 0.0,
       .min_open = true,
       .max_open = true,
       .source = kPaper});
  schema.Choice(
      "solver", &InfiniteFeaturesOptions::solver,
      {{"auto", SolverChoice::kAuto},
       {"newton", SolverChoice::kNewton},
       {"admm", SolverChoice::kAdmm},
       {"fista", SolverChoice::kFista}},
      {.meaning =
           "How the weights of the features in the model are found. newton: quadratic models "
           "of the risk, solved by descent in groups and Newton steps on the weights that are "
           "not 0. admm (alternating directions) and fista (accelerated proximal gradients): "
           "baselines. auto: newton, for the loss hinge admm. Changes time only.",
       .source = "measured, docs/results/infinite-features.md"});
}

Schema MakeSchema() {
  Schema schema;
  AddProblem(schema);
  AddFamily(schema);
  AddGabor(schema);
  AddSearch(schema);
  AddPenalty(schema);
  return schema;
}

}  // namespace

const OptionSchema<InfiniteFeaturesOptions>& InfiniteFeaturesOptions::Fields() {
  static const auto& schema = *new Schema(MakeSchema());
  return schema;
}

}  // namespace mercer::infinite_features
