#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/training/encoding/encoding.h"
#include "core/training/model/basis.h"
#include "core/training/model/model.h"

namespace mercer {
namespace {

constexpr std::string_view kMagic = "MRCRMODL";
constexpr uint64_t kVersionWithoutFeatures = 1;
constexpr uint64_t kVersionWithoutTasks = 2;
constexpr uint64_t kVersionWithoutHeldOut = 3;
constexpr uint64_t kVersionWithoutTables = 4;

bool HasLabels(const Model& model) {
  const auto& terms = model.function.kernel_terms;
  return !model.summary.kernel_groups.empty() ||
         std::any_of(terms.begin(), terms.end(), [](const KernelTerm& term) {
           return std::any_of(term.kernels.begin(), term.kernels.end(),
                              [](const KernelSpec& kernel) { return !kernel.labels.empty(); });
         });
}

uint64_t VersionOf(const Model& model) {
  if (!model.summary.tables.empty() || HasLabels(model)) {
    return kModelFormatVersion;
  }
  if (model.held_out.rows > 0) {
    return kVersionWithoutTables;
  }
  if (model.tasks.has_column()) {
    return kVersionWithoutHeldOut;
  }
  const bool has_features =
      !model.function.feature_terms.empty() || !model.summary.feature_names.empty();
  return has_features ? kVersionWithoutTasks : kVersionWithoutFeatures;
}

absl::Status Inconsistent(std::string_view what) {
  return absl::DataLossError(absl::StrCat("not a readable model: ", std::string(what)));
}

absl::Status CheckBasis(const Basis& basis) {
  if (basis.data == nullptr || basis.data->rows < 0 || !basis.data->squares.empty()) {
    return Inconsistent("a basis has no rows");
  }
  for (const PreparedBlock& block : basis.data->blocks) {
    if (block.values.rows() != basis.data->rows || !block.values.view().allFinite() ||
        static_cast<Index>(block.sources.size()) != block.values.cols()) {
      return Inconsistent("a block of a basis has another shape than its basis");
    }
  }
  const auto& rows = basis.training_rows;
  if (!rows.empty() && (static_cast<Index>(rows.size()) != basis.data->rows ||
                        *std::min_element(rows.begin(), rows.end()) < 0)) {
    return Inconsistent("the row numbers of a basis do not fit its rows");
  }
  return absl::OkStatus();
}

absl::Status CheckTerm(const KernelTerm& term, const Model& model) {
  const ModelFunction& function = model.function;
  if (term.basis < 0 || static_cast<size_t>(term.basis) >= function.bases.size()) {
    return Inconsistent("a kernel term names a basis that does not exist");
  }
  const Basis& basis = function.bases[static_cast<size_t>(term.basis)];
  const auto num_kernels = static_cast<Index>(term.kernels.size());
  const auto num_outputs = static_cast<Index>(term.outputs.size());
  int previous = -1;
  for (const int output : term.outputs) {
    if (output <= previous || output >= function.num_outputs()) {
      return Inconsistent("a kernel term names an output that does not exist");
    }
    previous = output;
  }
  if (num_kernels == 0 || num_outputs == 0 || term.weights.rows() != num_kernels ||
      term.weights.cols() != num_outputs || !term.weights.allFinite()) {
    return Inconsistent("the weights of a kernel term do not fit its kernels and outputs");
  }
  if (term.coefficients.rows() != basis.data->rows || term.coefficients.cols() != num_outputs ||
      !term.coefficients.isCompressed() || !term.coefficients.coeffs().allFinite()) {
    return Inconsistent("the coefficients of a kernel term do not fit its basis and outputs");
  }
  for (const KernelSpec& kernel : term.kernels) {
    if (!ValidateKernelSpec(kernel).ok()) {
      return Inconsistent("a kernel has a parameter out of range");
    }
    if (ReadsSquare(kernel) &&
        (basis.training_rows.empty() ||
         *std::max_element(basis.training_rows.begin(), basis.training_rows.end()) >=
             model.num_square_columns)) {
      return Inconsistent("a precomputed kernel has no row numbers");
    }
  }
  return absl::OkStatus();
}

// The fields of a model file of this version.
void VisitModel(auto& visit, auto& model, uint64_t version) {
  visit(model.learner, model.options, model.target, model.preprocessing, model.coding,
        model.function, model.summary, model.certificate,
        UpTo(model.stop_reason, StopReason::kObjectiveZero), model.metrics, model.num_training_rows,
        model.num_square_columns, model.seed, model.code_version);
  if (version > kVersionWithoutFeatures) {
    VisitFeatures(visit, model.function, model.summary);
  }
  if (version > kVersionWithoutTasks) {
    visit(model.tasks);
  }
  if (version > kVersionWithoutHeldOut) {
    visit(model.held_out);
  }
  if (version > kVersionWithoutTables) {
    visit(model.summary.tables);
    VisitLabels(visit, model.function, model.summary);
  }
}

}  // namespace

std::vector<std::string> OutputNames(const Model& model) {
  if (model.tasks.has_column()) {
    return model.tasks.names();
  }
  std::vector<std::string> names;
  for (Index output = 0; output < model.coding.num_outputs(); ++output) {
    names.push_back(model.coding.OutputName(output));
  }
  return names;
}

absl::Status CheckModel(const Model& model) {
  if (model.function.num_outputs() != model.coding.num_outputs() * model.tasks.num_tasks() ||
      !model.function.bias.allFinite()) {
    return Inconsistent("the biases do not fit the outputs");
  }
  if (model.tasks.has_column() && model.coding.num_outputs() != 1) {
    return Inconsistent("several tasks have several outputs each");
  }
  for (const Basis& basis : model.function.bases) {
    MERCER_RETURN_IF_ERROR(CheckBasis(basis));
  }
  for (const KernelTerm& term : model.function.kernel_terms) {
    MERCER_RETURN_IF_ERROR(CheckTerm(term, model));
  }
  for (const FeatureTerm& term : model.function.feature_terms) {
    MERCER_RETURN_IF_ERROR(CheckFeatureTerm(term, model.function.num_outputs()));
  }
  if (model.summary.feature_weights.rows() !=
          static_cast<Index>(model.summary.feature_names.size()) ||
      !model.summary.feature_weights.allFinite()) {
    return Inconsistent("the weights of the features do not fit their names");
  }
  if (!GroupsFit(model.summary)) {
    return Inconsistent("the groups of the kernels do not fit their names");
  }
  return CheckTables(model.summary.tables, model.function.num_outputs());
}

std::string SaveModel(const Model& model) {
  const uint64_t version = VersionOf(model);
  ByteWriter writer;
  FieldWriter visit(writer);
  VisitModel(visit, model, version);
  return FramePayload(kMagic, version, writer.bytes());
}

absl::StatusOr<Model> LoadModel(std::string_view bytes) {
  MERCER_ASSIGN_OR_RETURN(const std::string_view payload,
                          UnframePayload(kMagic, kModelFormatVersion, "model", bytes));
  ByteReader reader(payload);
  FieldReader visit(reader);
  Model model;
  VisitModel(visit, model, FormatVersion(bytes));
  if (!reader.AtEnd()) {
    return Inconsistent("its content is inconsistent");
  }
  MERCER_RETURN_IF_ERROR(CheckModel(model));
  return model;
}

}  // namespace mercer
