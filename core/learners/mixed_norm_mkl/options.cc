#include "core/learners/mixed_norm_mkl/options.h"

namespace mercer::mixed_norm_mkl {
namespace {

constexpr char kMeasured[] = "measured on random kernels, docs/mathematics/mixed_norm_mkl.md";
constexpr char kOfProblem[] = "docs/mathematics/mixed_norm_mkl.md";
constexpr char kOfLosses[] = "the paper has the hinge loss";

void AddProblemOptions(OptionSchema<MixedNormMklOptions>& schema) {
  schema.Real(
      "C", &MixedNormMklOptions::C,
      {.meaning = "Cost of one unit of loss at one sample against half the squared norm of the "
                  "function; cost_scale says in which unit. Larger fits the training rows more "
                  "closely and takes longer.",
       .min = 0.0,
       .min_open = true,
       .max_open = true,
       .source = "LIBSVM's default"});
  schema.Choice(
      "cost_scale", &MixedNormMklOptions::cost_scale,
      {{"plain", CostScale::kPlain}, {"comparable", CostScale::kComparable}},
      {.meaning =
           "plain: a row costs C times its weight. comparable: C times the number of rows over the "
           "trace of the kernel that training begins with, so that the same C regularizes alike "
           "whatever the regularization, the number of kernels and groups, and their "
           "normalization; the useful values are then about 1, 10 and 100.",
       .source = kOfProblem});
  schema.Real("epsilon", &MixedNormMklOptions::epsilon, EpsilonDoc());
  schema.Choice("loss", &MixedNormMklOptions::loss, LossWords(), LossDoc(kOfLosses));
  schema.Bool(
      "shared_weights", &MixedNormMklOptions::shared_weights,
      {.meaning =
           "Classification only: of more than two classes, whether all machines, one against "
           "the rest or one for each pair of classes, share one combination of the kernels, so "
           "that the model says which kernels serve the whole problem, and not each machine "
           "one of its own. The norm of a kernel's function is then the root of the sum of its "
           "squares over the machines; all are learned in one run, and kernels are normalized "
           "on all training rows. No matter for two classes.",
       .source = kOfProblem});
  schema.Choice(
      "regularization", &MixedNormMklOptions::regularization,
      {{"mixed_norm", Regularization::kMixedNorm},
       {"l1", Regularization::kL1},
       {"sum", Regularization::kSum}},
      {.meaning =
           "mixed_norm: the largest of the groups' sums of norms, which uses every group and few "
           "kernels of each. l1: the sum of all norms, whatever the groups (SimpleMKL), which uses "
           "few kernels of few groups. sum: every kernel with the weight 1, a plain SVM.",
       .source = kOfProblem});
}

void AddMethodOptions(OptionSchema<MixedNormMklOptions>& schema) {
  schema.Choice(
      "method", &MixedNormMklOptions::method,
      {{"auto", Method::kAuto},
       {"newton", Method::kNewton},
       {"interior_point", Method::kInteriorPoint},
       {"closed_form", Method::kClosedForm},
       {"mirror_descent", Method::kMirrorDescent},
       {"alternating_mirror_descent", Method::kAlternatingMirrorDescent},
       {"simple_mkl", Method::kSimpleMkl}},
      {.meaning =
           "How weights are found, together with the dual or from the solutions of SVMs. auto: "
           "newton; with more than 300 kernels on at most 5,000 rows interior_point, at once where "
           "all are in one group, and where newton ends above the gap with at most 2,000 kernels "
           "in groups. newton: the saddle point of a second-order model, on the kernels in use and "
           "those that would come in. interior_point: weights and dual at once, and newton from "
           "there; time grows with the cube of the rows; with another loss than the hinge, "
           "shared_weights or more than 100 groups it is newton. closed_form: block updates. "
           "mirror_descent: multiplicative steps, of the groups' weights after every SVM; "
           "alternating_mirror_descent: after the weights within groups are found, the paper's "
           "algorithm. simple_mkl: reduced gradient with a line search, for one group or "
           "regularization=l1 only. No matter for regularization=sum. Changes time only.",
       .source = kMeasured});
  schema.Integer("max_svm_solves", &MixedNormMklOptions::max_svm_solves,
                 {.meaning = "The most SVMs of fixed weights that are solved; the best point then "
                             "is the result, with its gap. 0: 200 with auto, newton and "
                             "interior_point, else 2000.",
                  .min = 0,
                  .max = 1'000'000,
                  .source = kMeasured});
  schema.Real(
      "kappa", &MixedNormMklOptions::kappa,
      {.meaning = "mirror_descent and alternating_mirror_descent: the step against the one that "
                  "the analysis asks for. Larger is faster, and oscillates from about 20 "
                  "on. Without effect with other methods.",
       .min = 0,
       .max = 20,
       .min_open = true,
       .source = kMeasured});
  schema.Real("power", &MixedNormMklOptions::power,
              {.meaning = "closed_form: the power of the energies by which weights are multiplied. "
                          "It is halved, to 0.5 at the least, whenever the gap has stalled for "
                          "three SVMs. 0.5 never raises the optimum of one group; 2 is about four "
                          "times as fast. Without effect with other methods.",
               .min = 0.5,
               .max = 2,
               .source = kMeasured});
  schema.Real(
      "gamma_floor", &MixedNormMklOptions::gamma_floor,
      {.meaning =
           "The least weight of a group among the groups, below 1 over their number. A group of "
           "kernels of low rank may need the weight 0, which leaves its function undetermined; the "
           "floor bends the optimum by at most itself times the number of groups, and smaller ones "
           "make the SVMs harder. 0: half the gap asked for, at most 0.1 over the number of "
           "groups; else at least 1e-12. Without effect with one group or regularization=sum.",
       .min = 0,
       .max = 0.5,
       .source = kOfProblem});
  schema.Real("weight_threshold", &MixedNormMklOptions::weight_threshold,
              {.meaning = "Kernels with less than this share of the largest weight of their group "
                          "are taken out at the end, when an SVM without them still has the gap "
                          "asked for.",
               .min = 0,
               .max = 0.1,
               .source = kOfProblem});
}

}  // namespace

const OptionSchema<MixedNormMklOptions>& MixedNormMklOptions::Fields() {
  static const auto& schema = *[] {
    auto* made = new OptionSchema<MixedNormMklOptions>();
    AddProblemOptions(*made);
    AddMethodOptions(*made);
    return made;
  }();
  return schema;
}

}  // namespace mercer::mixed_norm_mkl
