#include "core/learners/sparse_multitask_svm/options.h"

namespace mercer::sparse_multitask_svm {
namespace {

constexpr char kOfProblem[] = "docs/mathematics/sparse_multitask_svm.md";

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
    made->Choice(
        "form", &SparseMultitaskSvmOptions::form,
        {{"squared", Form::kSquared}, {"plain", Form::kPlain}},
        {.meaning =
             "squared: half the square of the norm is the penalty, as of a support vector machine. "
             "plain: the norm itself; C then means something else, and up to some C no block is "
             "selected. Both have the same solutions at values of C that belong together.",
         .source = kOfProblem});
    made->Real("p", &SparseMultitaskSvmOptions::p,
               {.meaning = "Exponent over the blocks. 1: few blocks are selected; 2: all are used.",
                .min = 1.0,
                .max = 100.0,
                .source = kOfProblem});
    made->Real("q", &SparseMultitaskSvmOptions::q,
               {.meaning = "Exponent over the tasks. 2: a block is selected for all tasks or for "
                           "none; 1: each task selects its own.",
                .min = 1.0,
                .max = 4.0,
                .source = kOfProblem});
    made->Bool("allow_one_class", &SparseMultitaskSvmOptions::allow_one_class,
               {.meaning = "Whether a task may have rows of one class alone: it then has the "
                           "constant function of that class.",
                .source = kOfProblem});
    made->Choice(
        "method", &SparseMultitaskSvmOptions::method,
        {{"auto", Method::kAuto},
         {"interior_point", Method::kInteriorPoint},
         {"closed_form", Method::kClosedForm},
         {"reduced_gradient", Method::kReducedGradient}},
        {.meaning = "interior_point: all tasks and weights at once, on a working set of blocks, "
                    "for p=1 and q=2. closed_form: machines of fixed weights, and weights, in "
                    "turn, for all exponents. reduced_gradient: the algorithm of the paper, for "
                    "p=1, q=2 and form=squared. auto: interior_point where it is possible, else "
                    "closed_form. Changes time only.",
         .source = kOfProblem});
    made->Integer("max_steps", &SparseMultitaskSvmOptions::max_steps,
                  {.meaning = "closed_form and reduced_gradient: the most weights that machines "
                              "are solved for; the best point then is the result, with its gap. "
                              "0: 2000.",
                   .min = 0,
                   .max = 1'000'000,
                   .source = kOfProblem});
    return made;
  }();
  return schema;
}

}  // namespace mercer::sparse_multitask_svm
