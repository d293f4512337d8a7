#include "core/training/model/kernel_term.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

// How many rows are evaluated at a time: a multiple of 8, so that every chunk begins at a multiple
// of 64 bytes, and few enough that rows x basis stays below 16 MB.
Index ChunkRows(Index num_basis) {
  return std::clamp<Index>((Index{1} << 21) / std::max<Index>(num_basis, 1) / 8 * 8, 8, 1024);
}

SharedMatrix RowRange(const SharedMatrix& matrix, Index begin, Index count) {
  auto owner = std::make_shared<SharedMatrix>(matrix);
  const double* first = owner->view().data() + begin * matrix.cols();
  return {std::move(owner), first, count, matrix.cols()};
}

// The rows begin .. begin + count - 1, sharing memory.
PreparedData RowRange(const PreparedData& data, Index begin, Index count) {
  PreparedData range;
  range.rows = count;
  range.row_numbers.reserve(static_cast<size_t>(count));
  for (Index row = begin; row < begin + count; ++row) {
    range.row_numbers.push_back(data.RowNumber(row));
  }
  if (!data.tasks.empty()) {
    range.tasks.assign(data.tasks.begin() + begin, data.tasks.begin() + begin + count);
  }
  for (const PreparedBlock& block : data.blocks) {
    range.blocks.push_back({block.name, block.sources, RowRange(block.values, begin, count)});
  }
  for (const SquareBlock& square : data.squares) {
    range.squares.push_back({square.name, square.kind, RowRange(square.values, begin, count)});
  }
  return range;
}

// values(:, j) += factor * cross * coefficients(:, j), element by element, so that a row's value
// does not depend on its neighbours.
void AddProduct(const Matrix& cross, const Eigen::SparseMatrix<double>& coefficients, Index j,
                double factor, Eigen::Ref<Vector> values) {
  for (Eigen::SparseMatrix<double>::InnerIterator entry(coefficients, j); entry; ++entry) {
    values += (factor * entry.value()) * cross.col(entry.row());
  }
}

// Outputs of a term that have the same kernel weights share one combination of kernels.
std::vector<std::vector<Index>> EqualWeightGroups(const Matrix& weights) {
  std::vector<std::vector<Index>> groups;
  for (Index j = 0; j < weights.cols(); ++j) {
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const std::vector<Index>& group) {
          return weights.col(group.front()) == weights.col(j);
        });
    if (same == groups.end()) {
      groups.push_back({j});
    } else {
      same->push_back(j);
    }
  }
  return groups;
}

// Calls visit(range, begin) for the rows, chunk by chunk.
template <typename Visit>
absl::Status ForChunks(const PreparedData& rows, Index chunk, const RunContext& context,
                       const Visit& visit) {
  for (Index begin = 0; begin < rows.rows; begin += chunk) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index count = std::min(chunk, rows.rows - begin);
    MERCER_RETURN_IF_ERROR(count == rows.rows ? visit(rows, begin)
                                              : visit(RowRange(rows, begin, count), begin));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KernelTermValues> KernelTermValues::Make(const KernelTerm& term, const Basis& basis,
                                                        const RunContext& context) {
  absl::StatusOr<CrossKernels> cross =
      CrossKernels::Make(basis.data, term.kernels, basis.training_rows, context);
  if (absl::IsCancelled(cross.status())) {
    return cross.status();
  }
  if (!cross.ok()) {
    return absl::DataLossError(absl::StrCat("not a readable model: ", cross.status().message()));
  }
  return KernelTermValues(term, *std::move(cross));
}

size_t KernelTermValues::MemoryBytes() const {
  return static_cast<size_t>(term_.weights.size()) * sizeof(double) +
         term_.kernels.size() * 2 * sizeof(KernelSpec) +
         static_cast<size_t>(term_.coefficients.nonZeros()) * (sizeof(double) + sizeof(int)) +
         cross_kernels_.MemoryBytes();
}

absl::Status KernelTermValues::Add(const PreparedData& rows, MatrixRef values,
                                   RunContext& context) const {
  return ForChunks(rows, ChunkRows(cross_kernels_.num_basis()), context,
                   [&](const PreparedData& range, Index begin) {
                     return AddRows(range, values.middleRows(begin, range.rows), context);
                   });
}

// Combining all kernels of a group of outputs costs one pass over the kernels per group; evaluating
// kernel by kernel costs as much as one group and the products.
absl::Status KernelTermValues::AddRows(const PreparedData& rows, MatrixRef values,
                                       RunContext& context) const {
  const std::vector<std::vector<Index>> groups = EqualWeightGroups(term_.weights);
  Matrix cross(rows.rows, cross_kernels_.num_basis());
  if (groups.size() > 1 && static_cast<Index>(groups.size()) * 4 > term_.weights.rows()) {
    for (Index k = 0; k < term_.weights.rows(); ++k) {
      MERCER_RETURN_IF_ERROR(AddKernel(rows, k, cross, values, context));
    }
    return absl::OkStatus();
  }
  for (const std::vector<Index>& group : groups) {
    MERCER_RETURN_IF_ERROR(
        cross_kernels_.Combine(rows, term_.weights.col(group.front()), cross, context));
    for (const Index j : group) {
      AddProduct(cross, term_.coefficients, j, 1.0,
                 values.col(term_.outputs[static_cast<size_t>(j)]));
    }
  }
  return absl::OkStatus();
}

absl::Status KernelTermValues::AddKernel(const PreparedData& rows, Index kernel, Matrix& cross,
                                         MatrixRef values, RunContext& context) const {
  MERCER_RETURN_IF_ERROR(
      cross_kernels_.Combine(rows, Vector::Unit(term_.weights.rows(), kernel), cross, context));
  for (Index j = 0; j < term_.weights.cols(); ++j) {
    if (term_.weights(kernel, j) != 0) {
      AddProduct(cross, term_.coefficients, j, term_.weights(kernel, j),
                 values.col(term_.outputs[static_cast<size_t>(j)]));
    }
  }
  return absl::OkStatus();
}

std::vector<TermShare> KernelTermValues::Shares(const PreparedData& /*rows*/) const {
  std::vector<TermShare> shares;
  for (const KernelSpec& kernel : term_.kernels) {
    shares.push_back({KernelName(kernel), /*joins_its_name=*/true});
  }
  return shares;
}

absl::Status KernelTermValues::AddByShare(const PreparedData& rows,
                                          const std::vector<Matrix*>& shares,
                                          RunContext& context) const {
  return ForChunks(
      rows, ChunkRows(cross_kernels_.num_basis()), context,
      [&](const PreparedData& range, Index begin) {
        Matrix cross(range.rows, cross_kernels_.num_basis());
        for (size_t k = 0; k < shares.size(); ++k) {
          MERCER_RETURN_IF_ERROR(AddKernel(range, static_cast<Index>(k), cross,
                                           shares[k]->middleRows(begin, range.rows), context));
        }
        return absl::OkStatus();
      });
}

}  // namespace mercer
