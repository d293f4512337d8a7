#include "server/translation/model_translator.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/features/gabor_family.h"
#include "core/training/model/square_use.h"
#include "core/training/terms/feature_term.h"
#include "core/training/terms/kernel_term.h"
#include "server/translation/dataset_translator.h"
#include "server/translation/enum_translator.h"
#include "server/translation/kernel_translator.h"
#include "server/translation/matrix_translator.h"
#include "server/translation/model_tables.h"
#include "server/translation/option_translator.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/resource_names.h"
#include "server/translation/times.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

static_assert(Agree(v1::CODING_KIND_REGRESSION, CodingKind::kRegression));
static_assert(Agree(v1::CODING_KIND_ONE_VS_ONE, CodingKind::kOneVsOne));
static_assert(Agree(v1::CERTIFICATE_KIND_NONE, CertificateKind::kNone));
static_assert(Agree(v1::CERTIFICATE_SCOPE_LISTED_FEATURES, CertificateScope::kListedFeatures));
static_assert(Agree(v1::STOP_REASON_CONVERGED, StopReason::kConverged));
static_assert(Agree(v1::STOP_REASON_OBJECTIVE_ZERO, StopReason::kObjectiveZero));

void WriteCoding(const Model& model, v1::OutputCoding* message) {
  const OutputCoding& coding = model.coding;
  message->set_kind(ToApiEnum<v1::CodingKind>(coding.kind()));
  message->mutable_classes()->Assign(coding.classes().begin(), coding.classes().end());
  const std::vector<std::string> names = OutputNames(model);
  message->mutable_output_names()->Assign(names.begin(), names.end());
}

absl::Status WritePreprocessing(const Model& model, v1::Preprocessing* message) {
  const Preprocessing& preprocessing = model.preprocessing;
  const PreprocessingOptions& options = preprocessing.options();
  v1::PreprocessingOptions& written = *message->mutable_options();
  written.set_scaling(ToApiEnum<v1::Scaling>(options.scaling));
  written.set_imputation(ToApiEnum<v1::Imputation>(options.imputation));
  written.set_unseen_category(ToApiEnum<v1::UnseenCategory>(options.unseen_category));
  written.set_square_repair(ToApiEnum<v1::SquareRepair>(options.square_repair));
  written.mutable_blocks()->Assign(options.blocks.begin(), options.blocks.end());
  for (const BlockTransform& block : preprocessing.blocks()) {
    v1::BlockTransform* block_message = message->add_blocks();
    block_message->set_name(block.name);
    for (const ColumnTransform& column : block.columns) {
      v1::ColumnTransform* transform = block_message->add_columns();
      transform->set_name(column.name);
      transform->set_categorical(column.categorical);
      transform->mutable_categories()->Assign(column.categories.begin(), column.categories.end());
      transform->set_fill(column.fill);
      transform->set_offset(column.offset);
      transform->set_factor(column.factor);
    }
  }
  for (const SquareRepair& repair : preprocessing.repairs()) {
    v1::RepairedSquare* square = message->add_repairs();
    square->set_block(repair.block);
    square->mutable_training_rows()->Assign(repair.rows.begin(), repair.rows.end());
    square->mutable_eigenvalues()->Assign(repair.eigenvalues.begin(), repair.eigenvalues.end());
    square->set_largest_eigenvalue(repair.largest);
    square->set_negative_share(repair.share);
    if (repair.vectors.size() > 0) {
      MERCER_RETURN_IF_ERROR(WriteRowMatrix(repair.vectors, square->mutable_vectors()));
    }
  }
  for (const SquareUse& use : SquaresInUse(model)) {
    v1::SquareUse* square = message->add_squares();
    square->set_name(use.name);
    square->set_kind(ToApiEnum<v1::SquareKind>(use.kind));
    square->mutable_training_rows()->Assign(use.columns.begin(), use.columns.end());
  }
  return absl::OkStatus();
}

absl::Status WriteBasis(const Basis& basis, v1::Basis* message) {
  message->mutable_training_rows()->Assign(basis.training_rows.begin(), basis.training_rows.end());
  if (basis.data == nullptr) {
    message->set_rows(static_cast<int64_t>(basis.training_rows.size()));
    return absl::OkStatus();
  }
  message->set_rows(basis.data->rows);
  for (const PreparedBlock& block : basis.data->blocks) {
    v1::BasisBlock* block_message = message->add_blocks();
    block_message->set_name(block.name);
    block_message->mutable_sources()->Assign(block.sources.begin(), block.sources.end());
    MERCER_RETURN_IF_ERROR(WriteRowMatrix(block.values.view(), block_message->mutable_values()));
  }
  return absl::OkStatus();
}

void WriteSparse(const Eigen::SparseMatrix<double>& matrix, v1::SparseMatrix* message) {
  message->set_rows(matrix.rows());
  message->set_columns(matrix.cols());
  message->add_column_starts(0);
  for (Index c = 0; c < matrix.outerSize(); ++c) {
    for (Eigen::SparseMatrix<double>::InnerIterator entry(matrix, c); entry; ++entry) {
      message->add_row_indices(static_cast<int32_t>(entry.row()));
      message->add_values(entry.value());
    }
    message->add_column_starts(message->values_size());
  }
}

// Rows are the groups, from their parameter `first` on.
Matrix ParametersOf(const FeatureTerm& term, Index first) {
  const auto count = static_cast<Index>(term.groups.front().size()) - first;
  Matrix parameters(static_cast<Index>(term.groups.size()), count);
  for (Index g = 0; g < parameters.rows(); ++g) {
    parameters.row(g) =
        Eigen::Map<const Vector>(term.groups[static_cast<size_t>(g)].data() + first, count);
  }
  return parameters;
}

absl::Status WriteFourier(const FeatureTerm& term, v1::FourierFeatures* message) {
  for (const FeatureParameters& group : term.groups) {
    message->add_bandwidths(group[0]);
  }
  return WriteMatrix(ParametersOf(term, 1), message->mutable_frequencies());
}

absl::Status WriteGabor(const FeatureTerm& term, v1::GaborFeatures* message) {
  const GaborFamily family(term.family, term.num_inputs);
  message->set_patch_size(family.patch_size());
  for (const PatchPosition& position : family.positions()) {
    message->add_position_rows(position.row);
    message->add_position_columns(position.column);
  }
  message->set_subtract_patch_mean(term.family.subtract_patch_mean);
  return WriteMatrix(ParametersOf(term, 0), message->mutable_filters());
}

absl::Status WriteFeatureTerm(const FeatureTerm& term, v1::FeatureTerm* message) {
  switch (term.family.kind) {
    case FeatureFamilyKind::kColumns:
      for (const FeatureParameters& group : term.groups) {
        Choose(*message, &v1::FeatureTerm::mutable_columns)
            .add_positions(static_cast<int64_t>(group[0]));
      }
      break;
    case FeatureFamilyKind::kFourier:
      MERCER_RETURN_IF_ERROR(
          WriteFourier(term, &Choose(*message, &v1::FeatureTerm::mutable_fourier)));
      break;
    case FeatureFamilyKind::kGabor:
      MERCER_RETURN_IF_ERROR(WriteGabor(term, &Choose(*message, &v1::FeatureTerm::mutable_gabor)));
      break;
  }
  message->mutable_outputs()->Assign(term.outputs.begin(), term.outputs.end());
  return WriteMatrix(term.coefficients, message->mutable_coefficients());
}

absl::Status WriteKernelTerm(const KernelTerm& term, v1::KernelTerm* message) {
  message->set_basis(term.basis);
  for (const KernelSpec& kernel : term.kernels) {
    *message->add_kernels() = WriteKernel(kernel);
  }
  message->mutable_outputs()->Assign(term.outputs.begin(), term.outputs.end());
  MERCER_RETURN_IF_ERROR(WriteMatrix(term.weights, message->mutable_weights()));
  WriteSparse(term.coefficients, message->mutable_coefficients());
  return absl::OkStatus();
}

void WriteOtherTerm(const Term& term, v1::OtherTerm* message) {
  message->set_kind(std::string(term.kind()));
  message->mutable_outputs()->Assign(term.outputs.begin(), term.outputs.end());
  message->set_num_coefficients(term.num_coefficients());
  for (const KernelSpec& kernel : term.Kernels()) {
    *message->add_kernels() = WriteKernel(kernel);
  }
  for (const TermShare& share : term.Shares(PreparedData())) {
    message->add_shares(share.name);
  }
}

// Terms of kernels and of features with all that they are, those of other kinds by kind, size and shares.
absl::Status WriteTerm(const Term& term, v1::ModelFunction* function) {
  if (term.kind() == KernelTerm::kKind) {
    return WriteKernelTerm(static_cast<const KernelTerm&>(term), function->add_kernel_terms());
  }
  if (term.kind() == FeatureTerm::kKind) {
    return WriteFeatureTerm(static_cast<const FeatureTerm&>(term), function->add_feature_terms());
  }
  WriteOtherTerm(term, function->add_other_terms());
  return absl::OkStatus();
}

void WriteCurve(const ClassCurve& curve, v1::ClassCurve* message) {
  message->set_label(curve.label);
  message->set_positives(curve.positives);
  message->set_negatives(curve.negatives);
  message->mutable_thresholds()->Assign(curve.thresholds.begin(), curve.thresholds.end());
  message->mutable_true_positive_rates()->Assign(curve.true_positive_rates.begin(),
                                                 curve.true_positive_rates.end());
  message->mutable_false_positive_rates()->Assign(curve.false_positive_rates.begin(),
                                                  curve.false_positive_rates.end());
  message->mutable_precisions()->Assign(curve.precisions.begin(), curve.precisions.end());
  message->set_area_under_roc(curve.area_under_roc);
  message->set_average_precision(curve.average_precision);
}

void WriteResiduals(const Residuals& residuals, v1::Residuals* message) {
  message->mutable_predicted()->Assign(residuals.predicted.begin(), residuals.predicted.end());
  message->mutable_actual()->Assign(residuals.actual.begin(), residuals.actual.end());
  message->mutable_bounds()->Assign(residuals.bounds.begin(), residuals.bounds.end());
  message->mutable_counts()->Assign(residuals.counts.begin(), residuals.counts.end());
}

void WriteHeldOutMessage(const HeldOut& held_out, v1::HeldOut* message) {
  message->set_rows(held_out.rows);
  message->set_folds(held_out.folds);
  message->set_sampled_rows(held_out.sampled_rows);
  if (!held_out.confusion.classes.empty()) {
    v1::ConfusionMatrix& confusion = *message->mutable_confusion();
    confusion.mutable_classes()->Assign(held_out.confusion.classes.begin(),
                                        held_out.confusion.classes.end());
    confusion.mutable_counts()->Assign(held_out.confusion.counts.begin(),
                                       held_out.confusion.counts.end());
  }
  for (const ClassCurve& curve : held_out.curves) {
    WriteCurve(curve, message->add_curves());
  }
  if (!held_out.residuals.bounds.empty()) {
    WriteResiduals(held_out.residuals, message->mutable_residuals());
  }
  for (const MetricSpread& spread : held_out.spreads) {
    v1::MetricSpread* entry = message->add_spreads();
    entry->set_name(spread.name);
    entry->set_standard_deviation(spread.standard_deviation);
    entry->set_folds(spread.folds);
  }
}

}  // namespace

void WriteCertificate(const Certificate& certificate, v1::Certificate* message) {
  message->set_kind(ToApiEnum<v1::CertificateKind>(certificate.kind));
  message->set_scope(ToApiEnum<v1::CertificateScope>(certificate.scope));
  message->set_primal(certificate.primal);
  message->set_dual(certificate.dual);
  message->set_gap(certificate.gap());
  message->set_accuracy(certificate.accuracy);
  message->set_worst_accuracy(certificate.worst_accuracy);
  for (const OutputBounds& bounds : certificate.outputs) {
    v1::OutputBounds* output = message->add_outputs();
    output->set_primal(bounds.primal);
    output->set_dual(bounds.dual);
  }
}

v1::ModelVersion SummarizeModel(const Model& model) {
  v1::ModelVersion message;
  message.set_learner(model.learner);
  WriteOptions(model.options, message.mutable_options());
  message.set_target(model.target);
  WriteCoding(model, message.mutable_coding());
  if (model.tasks.has_column()) {
    message.mutable_tasks()->set_column(model.tasks.column());
    message.mutable_tasks()->mutable_names()->Assign(model.tasks.names().begin(),
                                                     model.tasks.names().end());
  }
  WriteCertificate(model.certificate, message.mutable_certificate());
  message.set_stop_reason(ToApiEnum<v1::StopReason>(model.stop_reason));
  for (const Metric& metric : model.metrics) {
    v1::Metric* entry = message.add_metrics();
    entry->set_name(metric.name);
    entry->set_value(metric.value);
  }
  const ModelSummary& summary = model.summary;
  if (summary.kernel_weights.size() <= kMaxSummaryWeights) {
    v1::KernelWeights& weights = *message.mutable_kernel_weights();
    weights.mutable_kernels()->Assign(summary.kernel_names.begin(), summary.kernel_names.end());
    weights.mutable_groups()->Assign(summary.kernel_groups.begin(), summary.kernel_groups.end());
    WriteMatrix(summary.kernel_weights, weights.mutable_weights()).IgnoreError();  // it fits
  }
  if (!summary.feature_names.empty()) {
    v1::FeatureWeights& features = *message.mutable_feature_weights();
    features.mutable_features()->Assign(summary.feature_names.begin(), summary.feature_names.end());
    WriteMatrix(summary.feature_weights, features.mutable_weights()).IgnoreError();  // it fits
  }
  WriteTables(summary.tables, &message);
  message.set_num_support_vectors(summary.num_support_vectors);
  message.set_num_training_rows(model.num_training_rows);
  if (model.held_out.rows > 0) {
    WriteHeldOutMessage(model.held_out, message.mutable_held_out());
  }
  return message;
}

absl::Status WriteModelFunction(const Model& model, v1::ModelVersion* message) {
  MERCER_RETURN_IF_ERROR(WritePreprocessing(model, message->mutable_preprocessing()));
  v1::ModelFunction* function = message->mutable_function();
  for (const Basis& basis : model.function.bases) {
    MERCER_RETURN_IF_ERROR(WriteBasis(basis, function->add_bases()));
  }
  for (const std::shared_ptr<const Term>& term : model.function.terms) {
    MERCER_RETURN_IF_ERROR(WriteTerm(*term, function));
  }
  function->mutable_bias()->Assign(model.function.bias.begin(), model.function.bias.end());
  return absl::OkStatus();
}

namespace {

// Columns of the training data that are no features, nor what the model is about.
void WriteIgnoredColumns(const VersionContext& context, const Model& model,
                         v1::ModelVersion& message) {
  std::set<std::string> names;
  for (const DatasetRecord& record : context.datasets) {
    const absl::StatusOr<DatasetInfo> info = DecodeDatasetInfo(record.info);
    if (!info.ok()) {
      continue;  // the rows were read; what is told of them is not worth the model
    }
    const auto& ignored = info->description.ignored_columns();
    names.insert(ignored.begin(), ignored.end());
    for (const v1::Column& column : info->description.role_columns()) {
      names.insert(column.name());
    }
  }
  names.erase(model.target);
  if (model.tasks.has_column()) {
    names.erase(model.tasks.column());
  }
  message.mutable_ignored_columns()->Assign(names.begin(), names.end());
}

// The stored summary, and what the record says besides.
absl::StatusOr<v1::ModelVersion> WriteStored(const VersionRecord& record) {
  v1::ModelVersion model;
  if (!ParseWhole(record.summary, model)) {
    return WithReason(absl::DataLossError("a stored model's summary cannot be read"),
                      "STORED_SUMMARY_DAMAGED");
  }
  model.set_name(ModelVersionName(record.model, record.version));
  SetTimestamp(record.create_time, model.mutable_create_time());
  PutAll(record.labels, *model.mutable_labels());
  model.set_description(record.description);
  model.set_etag(VersionEtag(record));
  for (const std::string& alias : record.aliases) {
    *model.add_aliases() = ModelAliasName(record.model, alias);
  }
  model.set_size_bytes(record.model_bytes);
  model.set_digest(record.model_blob);
  model.set_owner(record.owner);
  return model;
}

}  // namespace

std::string EncodeModelSummary(const VersionContext& context, const Model& model) {
  v1::ModelVersion message = SummarizeModel(model);
  v1::Lineage* lineage = message.mutable_lineage();
  lineage->set_job(JobName(context.job->id));
  absl::StatusOr<v1::TrainRequest> request = DecodeTrainRequest(context.job->request);
  if (request.ok()) {
    *message.mutable_warnings() = request->decisions();
    *lineage->mutable_request() = *std::move(request);
  }
  WriteIgnoredColumns(context, model, message);
  for (const TrainingWarning& warning : context.warnings) {
    *message.add_warnings() = WriteWarning(warning);
  }
  for (const DatasetRecord& dataset : context.datasets) {
    lineage->add_data_digests(dataset.blob);
  }
  lineage->set_seed(model.seed);
  lineage->set_code_version(model.code_version);
  return message.SerializeAsString();
}

absl::StatusOr<v1::ModelVersion> WriteVersion(const VersionRecord& record) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  MERCER_ASSIGN_OR_RETURN(v1::ModelVersion model, WriteStored(record));
  model.clear_held_out();
  model.clear_tables();
  LeaveOutPath(&model);
  return model;
}

absl::StatusOr<v1::ModelVersion> WriteVersionInDetail(const VersionRecord& record) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  MERCER_ASSIGN_OR_RETURN(v1::ModelVersion model, WriteStored(record));
  CompleteTables(&model);
  return model;
}

v1::Alias WriteAlias(const AliasRecord& record) {
  v1::Alias alias;
  alias.set_name(ModelAliasName(record.model, record.alias));
  if (record.version != 0) {
    alias.set_version(ModelVersionName(record.model, record.version));
  }
  alias.set_etag(record.etag);
  SetTimestamp(record.update_time, alias.mutable_update_time());
  return alias;
}

absl::StatusOr<v1::Model> WriteModel(const ModelRecord& record, const VersionRecord& newest) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  v1::Model model;
  MERCER_ASSIGN_OR_RETURN(*model.mutable_newest_version(), WriteVersion(newest));
  model.set_name(ModelName(record.name));
  model.set_display_name(record.display_name);
  model.set_description(record.description);
  PutAll(record.labels, *model.mutable_labels());
  model.set_owner(record.owner);
  SetTimestamp(record.create_time, model.mutable_create_time());
  SetTimestamp(record.update_time, model.mutable_update_time());
  model.set_etag(ModelEtag(record));
  model.set_num_versions(record.num_versions);
  for (const AliasRecord& alias : record.aliases) {
    *model.add_aliases() = WriteAlias(alias);
  }
  model.set_keep_newest(static_cast<int32_t>(record.keep_newest));
  return model;
}

}  // namespace mercer::server
