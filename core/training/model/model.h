// The one shape of a model:
//
//   f_o(x) = bias_o + sum_g sum_{k in g} eta(k, o) K_k(x, Z_g) A_g[:, o] + sum_c B(c, o) phi_c(x)
//
// o = outputs (classes, pairs, tasks).
// A kernel term g has basis rows Z_g shared by its kernels, weights eta (normalisation factors
// folded in) and coefficients A_g. Exact machines: the support vectors. Factored, never expanded.
// phi are the features of the feature terms. Terms of further kinds add their values in the same way
// (core/training/terms/term.h).
// docs/formats/model.md describes the stored form.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/status/options.h"
#include "core/data/metrics/metrics.h"
#include "core/data/preprocess/preprocessing.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/training/model/certificate.h"
#include "core/training/model/held_out.h"
#include "core/training/model/stop_reason.h"
#include "core/training/tables/model_table.h"
#include "core/training/targets/output_coding.h"
#include "core/training/targets/task_coding.h"
#include "core/training/terms/basis.h"
#include "core/training/terms/feature_term.h"
#include "core/training/terms/kernel_term.h"
#include "core/training/terms/term.h"
#include "core/training/terms/term_encoding.h"

namespace mercer {

// The function that a learner has found.
struct ModelFunction {
  std::vector<Basis> bases;
  Terms terms;
  Vector bias;  // one per output

  Index num_outputs() const { return bias.size(); }
  TermPlace place() const { return {bases, num_outputs()}; }

  // Of the terms the kernel terms alone: VisitFeatures has the feature terms, and all others are
  // saved by the names of their kinds (term_encoding.h).
  static void VisitFields(auto& visit, auto& self) {
    visit(self.bases, TermsOfKind(self.terms, KernelTerm::kKind), self.bias);
  }
};

// Puts the outputs of `parts` side by side. Bases of training rows are united and taken from
// `inputs`, whose rows they number; of their own values nothing is read.
ModelFunction MergeOutputs(const std::vector<ModelFunction>& parts, const PreparedData& inputs);

// Makes a one-output function from coefficients over `rows` of `inputs`: rows of coefficient 0 and
// kernels of weight 0 are left out. `weights(k)` includes the normalisation factor.
ModelFunction MakeKernelFunction(const PreparedData& inputs, const std::vector<Index>& rows,
                                 const std::vector<KernelSpec>& kernels, ConstVectorRef weights,
                                 ConstVectorRef coefficients, double bias);
// The same with an output for each column of the coefficients, all with the same weights: rows
// whose coefficients are all 0 are left out.
ModelFunction MakeKernelFunctions(const PreparedData& inputs, const std::vector<Index>& rows,
                                  const std::vector<KernelSpec>& kernels, ConstVectorRef weights,
                                  const ConstMatrixRef& coefficients, const Vector& bias);

// What a learner says about its solution besides the function; the evaluator never reads it.
struct ModelSummary {
  std::vector<std::string> kernel_names;   // all kernels of the problem
  std::vector<std::string> kernel_groups;  // the group of each; empty: all are in one
  Matrix kernel_weights;  // kernels x outputs, as the learner defines them (normalised kernels)
  Index num_support_vectors = 0;  // basis rows with a coefficient other than 0, over all outputs
  std::vector<std::string> feature_names;  // the groups of features that were chosen
  // The Euclidean norms of the groups' weights, groups x outputs, as the learner defines them.
  Matrix feature_weights;
  std::vector<ModelTable> tables;  // all else

  // Names and groups of the kernels of a problem.
  void SetKernels(const std::vector<KernelSpec>& kernels);

  // Without what it says of features, which VisitFeatures has, without groups of kernels, which
  // VisitLabels has, and without tables.
  static void VisitFields(auto& visit, auto& self) {
    visit(self.kernel_names, self.kernel_weights, self.num_support_vectors);
  }
};

// Whether each kernel has one group, or none has.
inline bool GroupsFit(const ModelSummary& summary) {
  return summary.kernel_groups.empty() ||
         summary.kernel_groups.size() == summary.kernel_names.size();
}

// The saved fields of features, which stand behind those of format version 1.
void VisitFeatures(auto& visit, auto& function, auto& summary) {
  visit(TermsOfKind(function.terms, FeatureTerm::kKind), summary.feature_names,
        summary.feature_weights);
}

// The labels of kernels, which stand behind the tables of format version 5.
void VisitLabels(auto& visit, auto& function, auto& summary) {
  visit(summary.kernel_groups, LabelsOfTerms(function.terms));
}

struct Model {
  std::string learner;
  OptionValues options;  // every option of the learner, defaults included
  std::string target;    // name of the target column
  Preprocessing preprocessing;
  OutputCoding coding;
  // Of several tasks, the function has the outputs of the coding for each, task by task.
  TaskCoding tasks;
  ModelFunction function;
  ModelSummary summary;
  Certificate certificate;
  StopReason stop_reason = StopReason::kConverged;
  // The metrics on held-out rows, "held_out.accuracy", or their means over folds, "folds.accuracy";
  // then those of the verifier.
  std::vector<Metric> metrics;
  HeldOut held_out;  // without a validation, or with folds that were not gone through: without rows
  Index num_training_rows = 0;
  // The number of columns that the square blocks of rows to predict must have: that of the rows of
  // the training data set.
  Index num_square_columns = 0;
  uint64_t seed = 0;
  std::string code_version;
};

// A name for each output of the function: "spam", "3 vs 5", "target"; of several tasks, theirs.
std::vector<std::string> OutputNames(const Model& model);

// Checks that the parts of a model fit together: shapes, indices, parameter ranges, finite numbers.
// Errors: kDataLoss.
absl::Status CheckModel(const Model& model);

// The version of the format: 2 since there are feature terms, 3 since there are tasks, 4 since
// models keep what was said of rows that were not trained on, 5 since there are tables, labels of
// kernels, and terms of further kinds, 6 since precomputed kernels are repaired. A model is written
// in the earliest version that holds what it has.
inline constexpr int kModelFormatVersion = 6;

std::string SaveModel(const Model& model);
// Reads a model. Errors: kDataLoss (not a model, damaged), kFailedPrecondition with reason
// NEWER_FORMAT (written by a newer version) or UNKNOWN_TERM (a term of a kind that is none of this
// build).
absl::StatusOr<Model> LoadModel(std::string_view bytes);

}  // namespace mercer
