#include "core/learners/coordinate_gradients/options.h"

namespace mercer::coordinate_gradients {
namespace {

constexpr char kOfProblem[] = "docs/mathematics/coordinate_gradients.md";

using Schema = OptionSchema<CoordinateGradientsOptions>;

void AddPairs(Schema& made) {
  made.Choice(
      "pairs", &CoordinateGradientsOptions::pairs,
      {{"neighbors", PairChoice::kNeighbors}, {"gaussian", PairChoice::kGaussian}},
      {.meaning = "Which pairs of rows are compared. neighbors: each row and its nearest "
                  "ones, all alike. gaussian: more of them, with weights that fall with the "
                  "distance.",
       .source = kOfProblem});
  made.Integer(
      "neighbors", &CoordinateGradientsOptions::neighbors,
      {.meaning = "How many rows a row is compared with, the nearest ones. With include_self, "
                  "and of gaussian pairs always, it is one of them. 0: 8, of gaussian pairs "
                  "50, or as many as there are.",
       .min = 0,
       .max = 1'000'000,
       .source = kOfProblem});
  made.Bool("include_self", &CoordinateGradientsOptions::include_self,
            {.meaning = "Whether a row is its own first neighbour, which ties the function at the "
                        "row to its target.",
             .source = kOfProblem});
  made.Real("pair_width", &CoordinateGradientsOptions::pair_width,
            {.meaning = "Width of the weights of gaussian pairs, in the unit of the distance of "
                        "prepared rows. 0: the median distance. Without effect for other pairs.",
             .min = 0,
             .max_open = true,
             .source = kOfProblem});
}

}  // namespace

int64_t CoordinateGradientsOptions::MostSteps() const {
  if (max_steps > 0) {
    return max_steps;
  }
  switch (method) {
    case CoordinateMethod::kNewton:
      return 100;
    case CoordinateMethod::kAlternation:
      return 1000;
    case CoordinateMethod::kSilp:
      return 500;
  }
  return 0;
}

const Schema& CoordinateGradientsOptions::Fields() {
  static const auto& schema = *[] {
    auto* made = new Schema();
    made->Real(
        "C", &CoordinateGradientsOptions::C,
        {.meaning = "Weight of the losses of the pairs against the norms. The weights of the "
                    "pairs add up to 1, whatever the rows: with a Gaussian kernel try 1, 10, 100 "
                    "and 1000; the paper has 1.",
         .min = 0.0,
         .min_open = true,
         .max_open = true,
         .source = kOfProblem});
    made->Choice(
        "loss", &CoordinateGradientsOptions::loss,
        {{"auto", LossWord::kAuto},
         {"square", LossWord::kSquare},
         {"hinge", LossWord::kHinge},
         {"squared_hinge", LossWord::kSquaredHinge}},
        {.meaning = "What a prediction t costs at a target y; that of a class is -1 or +1. "
                    "square: (y - t)^2. hinge: max(0, 1 - y t); squared_hinge: its square; "
                    "both for classes. auto: squared_hinge for classes, square for "
                    "numbers.",
         .source = kOfProblem,
         .classification_choices = {"hinge", "squared_hinge"}});
    made->Choice("column_weights", &CoordinateGradientsOptions::column_weights,
                 {{"learned", ColumnWeights::kLearned}, {"fixed", ColumnWeights::kFixed}},
                 {.meaning = "learned: the columns have weights of the sum 1, and few are above 0: "
                             "GradKL of the paper. fixed: all are 1, the paper's Grad.",
                  .source = kOfProblem});
    AddPairs(*made);
    made->Choice(
        "method", &CoordinateGradientsOptions::method,
        {{"newton", CoordinateMethod::kNewton},
         {"alternation", CoordinateMethod::kAlternation},
         {"silp", CoordinateMethod::kSilp}},
        {.meaning = "How weights are learned. newton: second-order steps among the columns "
                    "in use and the best of the others. alternation: the paper's steps, "
                    "each to the shares of the norms of the last one; slow, and after few "
                    "steps the ranking of a function that is not the optimum. silp: the "
                    "paper's linear programs of cutting planes, with short steps to where they "
                    "lead; 4 to 80 times the time of newton. Changes the time alone, unless "
                    "max_steps ends it.",
         .source = kOfProblem});
    made->Integer(
        "max_steps", &CoordinateGradientsOptions::max_steps,
        {.meaning = "The most changes of the weights; the best function so far is then the "
                    "result, with its certificate. 0: 100 of newton, 1000 of alternation, 500 of "
                    "silp.",
         .min = 0,
         .max = 1'000'000,
         .source = kOfProblem});
    made->Integer(
        "columns", &CoordinateGradientsOptions::columns,
        {.meaning = "How many columns are selected, the first of the ranking; the function "
                    "does not depend on it. 0: those that have a weight.",
         .min = 0,
         .max = 10'000'000,
         .source = kOfProblem});
    made->Integer("covariance_columns", &CoordinateGradientsOptions::covariance_columns,
                  {.meaning = "Of how many columns, the first of the ranking, the model tells how "
                              "they vary together. 0: of none.",
                   .min = 0,
                   .max = 1000,
                   .source = kOfProblem});
    made->Integer("directions", &CoordinateGradientsOptions::directions,
                  {.meaning = "On how many leading directions of the gradient the model projects "
                              "rows, at most. 0: on none.",
                   .min = 0,
                   .max = 1000,
                   .source = kOfProblem});
    made->Bool(
        "symmetric", &CoordinateGradientsOptions::symmetric,
        {.meaning = "Whether two rows are compared both ways where one is a neighbour of the "
                    "other. Without effect for gaussian pairs.",
         .source = kOfProblem});
    made->Bool(
        "own_gradient", &CoordinateGradientsOptions::own_gradient,
        {.meaning = "Whether the gradient is that of the function itself, and not a function of "
                    "its own in each column: of one Gaussian kernel by its derivatives, of one "
                    "linear kernel its slopes. Columns then have no weights, so that none is left "
                    "out; column_weights, method and max_steps are without effect.",
         .source = kOfProblem});
    return made;
  }();
  return schema;
}

}  // namespace mercer::coordinate_gradients
