#include "core/learners/sparse_multitask_svm/options.h"

namespace mercer::sparse_multitask_svm {
namespace {

constexpr char kOfProblem[] = "docs/mathematics/sparse_multitask_svm.md";

void AddNorm(OptionSchema<SparseMultitaskSvmOptions>& made) {
  made.Choice(
      "form", &SparseMultitaskSvmOptions::form,
      {{"squared", Form::kSquared}, {"plain", Form::kPlain}},
      {.meaning =
           "squared: half the square of the norm is the penalty, as of a support vector machine. "
           "plain: the norm itself; C then means something else, and up to some C no block is "
           "selected. Both have the same solutions at values of C that belong together. plain is "
           "for p at most 1 and q=2.",
       .source = kOfProblem});
  made.Real("p", &SparseMultitaskSvmOptions::p,
            {.meaning = "Exponent over the blocks. 1: few blocks are selected; 2: all are used. "
                        "Below 1: fewer still, by a penalty that is not convex: the result is a "
                        "stationary point, found from the solution of p=1, and the certificate "
                        "tells a measure of stationarity in place of a gap. Below 1 is for q=2.",
             .min = 0.1,
             .max = 100.0,
             .source = kOfProblem});
  made.Real("q", &SparseMultitaskSvmOptions::q,
            {.meaning = "Exponent over the tasks. 2: a block is selected for all tasks or for "
                        "none; 1: each task selects its own.",
             .min = 1.0,
             .max = 4.0,
             .source = kOfProblem});
  made.Reals("block_weights", &SparseMultitaskSvmOptions::block_weights,
             {.meaning = "Factors of the norms of the blocks, one for each kernel in their order; "
                         "a larger one makes a block enter later. Empty: all are 1. For p from 1 "
                         "on.",
              .min = 1e-6,
              .max = 1e6,
              .source = kOfProblem});
  made.Choice("normalization_scope", &SparseMultitaskSvmOptions::normalization_scope,
              {{"task", NormalizationScope::kTask}, {"pooled", NormalizationScope::kPooled}},
              {.meaning = "The rows by which the scaling of kernels, where they ask for one, "
                          "measures a block. task: in each task its own rows, so that a block "
                          "counts as much in each. pooled: all rows together, so that a block "
                          "which varies little in a task counts little there.",
               .source = kOfProblem});
  made.Real("smoothing", &SparseMultitaskSvmOptions::smoothing,
            {.meaning = "p below 1: what is added to norms under the power, as a share of the "
                        "largest norm of the solution of p=1. Smaller makes it harder for a block "
                        "to come back. Without effect for p from 1 on.",
             .min = 1e-6,
             .max = 0.1,
             .source = kOfProblem});
}

}  // namespace

const OptionSchema<SparseMultitaskSvmOptions>& SparseMultitaskSvmOptions::Fields() {
  static const auto& schema = *[] {
    auto* made = new OptionSchema<SparseMultitaskSvmOptions>();
    made->Real("C", &SparseMultitaskSvmOptions::C,
               {.meaning = "Weight of the losses against the penalty. Larger fits the training "
                           "rows more closely and selects more blocks.",
                .min = 0.0,
                .min_open = true,
                .max_open = true,
                .source = "LIBSVM's default"});
    made->Choice("sharing", &SparseMultitaskSvmOptions::sharing,
                 {{"joint", Sharing::kJoint}, {"separate", Sharing::kSeparate}},
                 {.meaning = "joint: tasks share which blocks they use. separate: each task is a "
                             "problem of its own, with its own norm as the penalty, and selects "
                             "for itself; q is then 2. What joint selection is compared with.",
                  .source = kOfProblem});
    AddNorm(*made);
    made->Choice("task_weighting", &SparseMultitaskSvmOptions::task_weighting,
                 {{"rows", TaskWeighting::kRows}, {"equal", TaskWeighting::kEqual}},
                 {.meaning = "rows: a row counts as much as any other, and a task with more rows "
                             "more than one with few. equal: tasks count alike; the costs of a "
                             "task's rows are divided by their sum and multiplied by the mean sum "
                             "of all tasks.",
                  .source = kOfProblem});
    made->Bool("allow_one_class", &SparseMultitaskSvmOptions::allow_one_class,
               {.meaning = "Whether a task may have rows of one class alone: it then has the "
                           "constant function of that class. Otherwise it is refused.",
                .source = kOfProblem});
    made->Choice(
        "method", &SparseMultitaskSvmOptions::method,
        {{"auto", Method::kAuto},
         {"interior_point", Method::kInteriorPoint},
         {"newton", Method::kNewton},
         {"closed_form", Method::kClosedForm},
         {"reduced_gradient", Method::kReducedGradient},
         {"coordinate_descent", Method::kCoordinateDescent}},
        {.meaning = "interior_point: all tasks and weights at once, on a working set of blocks, "
                    "for q=2 and p up to 1. newton: machines of fixed weights, and second-order "
                    "steps of the weights, in turn, for p=1, q=2 and form=squared. closed_form: "
                    "machines and weights in turn, for p and q from 1 on. reduced_gradient: the "
                    "algorithm of the paper, for what newton is for. coordinate_descent: "
                    "steps in pairs of dual variables, which bring machines nearer to their "
                    "solutions, and weights in closed form, in turn, for p and q from 1 on; of "
                    "columns it forms no kernel matrix. auto: interior_point where it is possible, "
                    "else closed_form. Changes time only.",
         .source = kOfProblem});
    made->Integer(
        "max_steps", &SparseMultitaskSvmOptions::max_steps,
        {.meaning = "The most convex problems for p below 1, and of newton, closed_form, "
                    "reduced_gradient and coordinate_descent the most weights that machines are "
                    "solved for; the best point then is the result, with its certificate; of "
                    "separate tasks for each. 0: 100 for p below 1, else 2000.",
         .min = 0,
         .max = 1'000'000,
         .source = kOfProblem});
    return made;
  }();
  return schema;
}

}  // namespace mercer::sparse_multitask_svm
