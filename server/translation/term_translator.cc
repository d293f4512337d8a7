#include "server/translation/term_translator.h"

#include <string>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/features/gabor_family.h"
#include "core/training/terms/feature_term.h"
#include "core/training/terms/kernel_term.h"
#include "server/translation/kernel_translator.h"
#include "server/translation/matrix_translator.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

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
  for (TermShare& share : term.Shares(PreparedData())) {
    message->add_shares(std::move(share.name));
  }
}

}  // namespace

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

}  // namespace mercer::server
