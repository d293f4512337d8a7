#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/training/encoding/encoding.h"
#include "core/training/model/model.h"
#include "core/training/terms/learned_gradient.h"
#include "core/training/terms/term_encoding.h"

namespace mercer {
namespace {

constexpr std::string_view kMagic = "MRCRMODL";
constexpr uint64_t kVersionWithoutFeatures = 1;
constexpr uint64_t kVersionWithoutTasks = 2;
constexpr uint64_t kVersionWithoutHeldOut = 3;
constexpr uint64_t kVersionWithoutTables = 4;
constexpr uint64_t kVersionWithoutRepairs = 5;

uint64_t VersionOf(const Model& model, const NamedTerms& named_terms) {
  const bool has_labels =
      !model.summary.kernel_groups.empty() || HasKernelLabels(model.function.terms);
  if (!model.preprocessing.repairs().empty()) {
    return kModelFormatVersion;
  }
  if (!named_terms.empty() || !model.summary.tables.empty() || has_labels) {
    return kVersionWithoutRepairs;
  }
  if (model.held_out.rows > 0) {
    return kVersionWithoutTables;
  }
  if (model.tasks.has_column()) {
    return kVersionWithoutHeldOut;
  }
  const bool has_features =
      !TermsOf<FeatureTerm>(model.function.terms).empty() || !model.summary.feature_names.empty();
  return has_features ? kVersionWithoutTasks : kVersionWithoutFeatures;
}

absl::Status CheckBasis(const Basis& basis) {
  if (basis.data == nullptr || basis.data->rows < 0 || !basis.data->squares.empty()) {
    return UnreadableModel("a basis has no rows");
  }
  for (const PreparedBlock& block : basis.data->blocks) {
    if (block.values.rows() != basis.data->rows || !block.values.view().allFinite() ||
        static_cast<Index>(block.sources.size()) != block.values.cols()) {
      return UnreadableModel("a block of a basis has another shape than its basis");
    }
  }
  const auto& rows = basis.training_rows;
  if (!rows.empty() && (static_cast<Index>(rows.size()) != basis.data->rows ||
                        *std::min_element(rows.begin(), rows.end()) < 0)) {
    return UnreadableModel("the row numbers of a basis do not fit its rows");
  }
  return absl::OkStatus();
}

absl::Status CheckTerms(const Model& model) {
  const TermPlace place = model.function.place();
  for (const std::shared_ptr<const Term>& term : model.function.terms) {
    MERCER_RETURN_IF_ERROR(term->CheckShape(place));
    MERCER_RETURN_IF_ERROR(term->CheckValues(place, model.num_square_columns));
  }
  std::set<int> with_gradient;
  for (const Term* term : WithGradients(model.function.terms)) {
    const Index read = model.preprocessing.num_outputs();  // 0: of rows that come prepared
    if (read > 0 && term->gradient()->num_inputs != read) {
      return UnreadableModel("a gradient is of other columns than the model reads");
    }
    if (!with_gradient.insert(term->outputs.front()).second) {
      return UnreadableModel("an output has two gradients");
    }
  }
  return AreSorted(model.function.terms)
             ? absl::OkStatus()
             : UnreadableModel("its terms are not in the order of their kinds");
}

// The fields of a model file of this version. `named_terms` are the terms that no other field has.
void VisitModel(auto& visit, auto& model, auto& named_terms, uint64_t version) {
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
    visit(named_terms);
  }
  if (version > kVersionWithoutRepairs) {
    Preprocessing::VisitRepairs(visit, model.preprocessing);
  }
}

// Repairs read columns of square blocks, which rows to predict have.
bool RepairsFit(const Model& model) {
  const std::vector<SquareRepair>& repairs = model.preprocessing.repairs();
  return std::all_of(repairs.begin(), repairs.end(), [&](const SquareRepair& repair) {
    return repair.rows.back() < model.num_square_columns;
  });
}

}  // namespace

std::vector<std::string> OutputNames(const Model& model) {
  if (model.tasks.has_column() && model.coding.num_outputs() == 1) {
    return model.tasks.names();
  }
  std::vector<std::string> of_coding;
  for (Index output = 0; output < model.coding.num_outputs(); ++output) {
    of_coding.push_back(model.coding.OutputName(output));
  }
  if (!model.tasks.has_column()) {
    return of_coding;
  }
  std::vector<std::string> names;
  for (const std::string& task : model.tasks.names()) {
    for (const std::string& output : of_coding) {
      names.push_back(OutputOfTask(task, output));
    }
  }
  return names;
}

absl::Status CheckModel(const Model& model) {
  if (model.function.num_outputs() != model.coding.num_outputs() * model.tasks.num_tasks() ||
      !model.function.bias.allFinite()) {
    return UnreadableModel("the biases do not fit the outputs");
  }
  for (const Basis& basis : model.function.bases) {
    MERCER_RETURN_IF_ERROR(CheckBasis(basis));
  }
  MERCER_RETURN_IF_ERROR(CheckTerms(model));
  if (model.summary.feature_weights.rows() !=
          static_cast<Index>(model.summary.feature_names.size()) ||
      !model.summary.feature_weights.allFinite()) {
    return UnreadableModel("the weights of the features do not fit their names");
  }
  if (!RepairsFit(model)) {
    return UnreadableModel("the repairs of kernels do not fit the training rows");
  }
  if (!GroupsFit(model.summary)) {
    return UnreadableModel("the groups of the kernels do not fit their names");
  }
  const absl::Status tables = CheckTables(model.summary.tables, model.function.num_outputs());
  return tables.ok() ? tables : UnreadableModel(std::string(tables.message()));
}

std::string SaveModel(const Model& model) {
  const NamedTerms named_terms = SaveNamedTerms(model.function.terms);
  const uint64_t version = VersionOf(model, named_terms);
  ByteWriter writer;
  FieldWriter visit(writer);
  VisitModel(visit, model, named_terms, version);
  return FramePayload(kMagic, version, writer.bytes());
}

absl::StatusOr<Model> LoadModel(std::string_view bytes) {
  MERCER_ASSIGN_OR_RETURN(const std::string_view payload,
                          UnframePayload(kMagic, kModelFormatVersion, "model", bytes));
  ByteReader reader(payload);
  FieldReader visit(reader);
  Model model;
  NamedTerms named_terms;
  VisitModel(visit, model, named_terms, FormatVersion(bytes));
  if (!reader.AtEnd()) {
    return UnreadableModel("its content is inconsistent");
  }
  MERCER_RETURN_IF_ERROR(LoadNamedTerms(named_terms, model.function.terms));
  MERCER_RETURN_IF_ERROR(CheckModel(model));
  return model;
}

}  // namespace mercer
