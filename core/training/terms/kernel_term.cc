#include "core/training/terms/kernel_term.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/numeric/index_range.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/gram/strip_coefficients.h"
#include "core/kernels/spec/kernel_labels.h"
#include "core/training/terms/term_kinds.h"

namespace mercer {
namespace {

using SparseMatrix = Eigen::SparseMatrix<double>;

// How many rows are evaluated at a time, so that what the kernels read of them is gathered for some.
constexpr Index kChunkRows = 1024;

// How many where kernels are evaluated one by one: their values of a block of rows stay in the
// second-level cache.
Index BlockRows(Index num_basis) {
  return std::clamp<Index>((Index{1} << 16) / std::max<Index>(num_basis, 1) / 8 * 8, 8, 64);
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

// Whether all outputs have the same weights, and so share one combination of kernels.
bool HasOneCombination(const Matrix& weights) {
  return weights == weights.col(0).replicate(1, weights.cols());
}

// Calls visit(range, begin) for the rows, chunk by chunk.
template <typename Visit>
absl::Status ForChunks(const PreparedData& rows, const RunContext& context, const Visit& visit) {
  for (Index begin = 0; begin < rows.rows; begin += kChunkRows) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index count = std::min(kChunkRows, rows.rows - begin);
    MERCER_RETURN_IF_ERROR(count == rows.rows ? visit(rows, begin)
                                              : visit(RowRange(rows, begin, count), begin));
  }
  return absl::OkStatus();
}

// Evaluates a combination of kernels.
class KernelTermValues : public TermValues {
 public:
  // The term must outlive the values.
  KernelTermValues(const KernelTerm& term, CrossKernels cross_kernels)
      : term_(term),
        cross_kernels_(std::move(cross_kernels)),
        coefficients_(term.coefficients, term.outputs),
        one_combination_(HasOneCombination(term.weights)) {}

  size_t MemoryBytes() const override;
  absl::Status Add(const PreparedData& rows, MatrixRef values, RunContext& context) const override;
  absl::Status AddByShare(const PreparedData& rows, const std::vector<Matrix*>& shares,
                          RunContext& context) const override;

 private:
  // The values of a kernel at the rows from `begin` on: rows x basis.
  using KernelVisit = std::function<void(Index kernel, Index begin, const Strip& cross)>;

  absl::Status ForKernels(const PreparedData& rows, RunContext& context,
                          const KernelVisit& visit) const;
  void AddKernel(Index kernel, const Strip& cross, MatrixRef values) const;

  const KernelTerm& term_;
  const CrossKernels cross_kernels_;
  const StripCoefficients coefficients_;
  const bool one_combination_;
};

size_t KernelTermValues::MemoryBytes() const {
  return static_cast<size_t>(term_.weights.size()) * sizeof(double) +
         term_.kernels.size() * 2 * sizeof(KernelSpec) +
         static_cast<size_t>(term_.coefficients.nonZeros()) * (sizeof(double) + sizeof(int)) +
         coefficients_.MemoryBytes() + cross_kernels_.MemoryBytes();
}

// One combination costs one pass over kernels. Of several, each would have a pass of its own, with
// distances of its own: kernel by kernel costs as much as one of them, and the products.
absl::Status KernelTermValues::Add(const PreparedData& rows, MatrixRef values,
                                   RunContext& context) const {
  if (!one_combination_) {
    return ForKernels(rows, context, [&](Index kernel, Index begin, const Strip& cross) {
      AddKernel(kernel, cross, values.middleRows(begin, cross.rows));
    });
  }
  return ForChunks(rows, context, [&](const PreparedData& range, Index begin) {
    return cross_kernels_.AddProducts(range, term_.weights.col(0), coefficients_,
                                      values.middleRows(begin, range.rows), context);
  });
}

// Calls visit for all kernels at all rows, concurrently for different rows.
absl::Status KernelTermValues::ForKernels(const PreparedData& rows, RunContext& context,
                                          const KernelVisit& visit) const {
  const Index basis = cross_kernels_.num_basis();
  const auto add_chunk = [&](const PreparedData& range, Index first) -> absl::Status {
    MERCER_ASSIGN_OR_RETURN(const BoundCrossKernels bound, cross_kernels_.Bind(range, context));
    context.parallel().ForBlocks(range.rows, BlockRows(basis), [&](Index begin, Index end) {
      bound.ForEachKernel(begin, end, context, [&](Index kernel, const double* values) {
        visit(kernel, first + begin, {values, end - begin, basis, bound.stride()});
      });
    });
    return context.CheckCancelled();
  };
  return ForChunks(rows, context, add_chunk);
}

void KernelTermValues::AddKernel(Index kernel, const Strip& cross, MatrixRef values) const {
  coefficients_.AddProducts(0, cross, Vector(term_.weights.row(kernel)), values);
}

absl::Status KernelTermValues::AddByShare(const PreparedData& rows,
                                          const std::vector<Matrix*>& shares,
                                          RunContext& context) const {
  return ForKernels(rows, context, [&](Index kernel, Index begin, const Strip& cross) {
    AddKernel(kernel, cross, shares[static_cast<size_t>(kernel)]->middleRows(begin, cross.rows));
  });
}

// The coefficients of `from` moved to the rows of `to`.
SparseMatrix MoveRows(const SparseMatrix& coefficients, const Basis& from, const Basis& to) {
  if (from.training_rows.empty()) {
    return coefficients;
  }
  std::vector<Index> position;
  for (const Index number : from.training_rows) {
    const auto found = std::lower_bound(to.training_rows.begin(), to.training_rows.end(), number);
    position.push_back(found - to.training_rows.begin());
  }
  std::vector<Eigen::Triplet<double>> entries;
  for (Index column = 0; column < coefficients.cols(); ++column) {
    for (SparseMatrix::InnerIterator entry(coefficients, column); entry; ++entry) {
      entries.emplace_back(static_cast<int>(position[static_cast<size_t>(entry.row())]),
                           static_cast<int>(column), entry.value());
    }
  }
  SparseMatrix moved(to.data->rows, coefficients.cols());
  moved.setFromTriplets(entries.begin(), entries.end());
  return moved;
}

// Adds the outputs of `term` to `target`, which has the same basis; the kernel k of `term` is the
// kernel places[k] of `target`.
void AppendOutputs(const KernelTerm& term, const std::vector<Index>& places, KernelTerm& target) {
  const Index before = target.weights.cols();
  const Index known = target.weights.rows();
  const auto kernels = static_cast<Index>(target.kernels.size());
  target.outputs.insert(target.outputs.end(), term.outputs.begin(), term.outputs.end());
  target.weights.conservativeResize(kernels, before + term.weights.cols());
  target.weights.bottomRows(kernels - known).setZero();
  auto added = target.weights.rightCols(term.weights.cols());
  added.setZero();
  for (size_t k = 0; k < places.size(); ++k) {
    added.row(places[k]) += term.weights.row(static_cast<Index>(k));
  }
  SparseMatrix joined(target.coefficients.rows(), before + term.coefficients.cols());
  joined.reserve(target.coefficients.nonZeros() + term.coefficients.nonZeros());
  for (Index column = 0; column < joined.cols(); ++column) {
    joined.startVec(column);
    const bool old = column < before;
    const SparseMatrix& source = old ? target.coefficients : term.coefficients;
    for (SparseMatrix::InnerIterator entry(source, old ? column : column - before); entry;
         ++entry) {
      joined.insertBack(entry.row(), column) = entry.value();
    }
  }
  joined.finalize();
  target.coefficients = std::move(joined);
}

// All that tells a kernel from others.
std::string KeyOf(const KernelSpec& kernel) {
  ByteWriter writer;
  WriteFields(kernel, writer);
  WriteFields(kernel.labels, writer);
  return std::move(writer).Take();
}

// Adds the kernels of `more` that are not among `kernels`. Returns the places of all of them.
std::vector<Index> UniteKernels(const std::vector<KernelSpec>& more,
                                std::vector<KernelSpec>& kernels) {
  HashMap<std::string, Index> place_of;
  for (size_t k = 0; k < kernels.size(); ++k) {
    place_of.try_emplace(KeyOf(kernels[k]), static_cast<Index>(k));
  }
  std::vector<Index> places;
  for (const KernelSpec& kernel : more) {
    const auto [found, is_new] =
        place_of.try_emplace(KeyOf(kernel), static_cast<Index>(kernels.size()));
    if (is_new) {
      kernels.push_back(kernel);
    }
    places.push_back(found->second);
  }
  return places;
}

const Basis& BasisOf(const KernelTerm& term, const std::vector<Basis>& bases) {
  return bases[static_cast<size_t>(term.basis)];
}

}  // namespace

namespace terms {
TermKind Kernel() { return MakeTermKind<KernelTerm>(); }
}  // namespace terms

absl::Status KernelTerm::CheckOwnShape(const TermPlace& place) const {
  if (basis < 0 || static_cast<size_t>(basis) >= place.bases.size()) {
    return UnreadableModel("a kernel term names a basis that does not exist");
  }
  const auto num_outputs = static_cast<Index>(outputs.size());
  if (kernels.empty() || weights.rows() != static_cast<Index>(kernels.size()) ||
      weights.cols() != num_outputs) {
    return UnreadableModel("the weights of a kernel term do not fit its kernels and outputs");
  }
  if (coefficients.rows() != BasisOf(*this, place.bases).data->rows ||
      coefficients.cols() != num_outputs || !coefficients.isCompressed()) {
    return UnreadableModel("the coefficients of a kernel term do not fit its basis and outputs");
  }
  return absl::OkStatus();
}

absl::Status KernelTerm::CheckValues(const TermPlace& place, Index num_square_columns) const {
  if (!weights.allFinite() || !coefficients.coeffs().allFinite()) {
    return UnreadableModel("a kernel term has a number that is not finite");
  }
  const std::vector<Index>& rows = BasisOf(*this, place.bases).training_rows;
  for (const KernelSpec& kernel : kernels) {
    if (!ValidateKernelSpec(kernel).ok()) {
      return UnreadableModel("a kernel has a parameter out of range");
    }
    if (!IsLabelText(kernel.labels.name) || !IsLabelText(kernel.labels.group)) {
      return UnreadableModel("a kernel has a name or a group that is no text");
    }
    if (ReadsSquare(kernel) &&
        (rows.empty() || *std::max_element(rows.begin(), rows.end()) >= num_square_columns)) {
      return UnreadableModel("a precomputed kernel has no row numbers");
    }
  }
  return absl::OkStatus();
}

void KernelTerm::MoveBases(const TermMove& move) {
  const Basis& before = BasisOf(*this, move.from);
  basis = move.united[static_cast<size_t>(basis)];
  coefficients = MoveRows(coefficients, before, BasisOf(*this, move.to));
}

// Outputs that use few kernels of many have distances in common, which are computed once for all of
// a term; but their weights together may be nearly all 0.
std::shared_ptr<const Term> KernelTerm::Joined(const Term& later) const {
  constexpr Index kMostZeros = 16;  // places of weights for each that is not 0
  if (later.kind() != kKind) {
    return nullptr;
  }
  const auto& other = static_cast<const KernelTerm&>(later);
  if (other.basis != basis || other.outputs.front() <= outputs.back()) {
    return nullptr;
  }
  std::vector<KernelSpec> united = kernels;
  std::vector<Index> places = IndexRange(0, static_cast<Index>(other.kernels.size()));
  if (other.kernels != kernels) {
    const Index room =
        kMostZeros * ((weights.array() != 0).count() + (other.weights.array() != 0).count());
    const Index count = weights.cols() + other.weights.cols();
    const auto too_many = [&](Index rows) { return rows * count > room; };
    if (too_many(std::max(weights.rows(), other.weights.rows()))) {
      return nullptr;
    }
    places = UniteKernels(other.kernels, united);
    if (too_many(static_cast<Index>(united.size()))) {
      return nullptr;
    }
  }
  auto joined = std::make_shared<KernelTerm>(*this);
  joined->kernels = std::move(united);
  AppendOutputs(other, places, *joined);
  return joined;
}

absl::StatusOr<std::unique_ptr<const TermValues>> KernelTerm::MakeValues(
    const TermPlace& place, const RunContext& context) const {
  const Basis& of = BasisOf(*this, place.bases);
  absl::StatusOr<CrossKernels> cross =
      CrossKernels::Make(of.data, kernels, of.training_rows, context);
  if (absl::IsCancelled(cross.status())) {
    return cross.status();
  }
  if (!cross.ok()) {
    return UnreadableModel(std::string(cross.status().message()));
  }
  return std::make_unique<KernelTermValues>(*this, *std::move(cross));
}

std::vector<TermShare> KernelTerm::Shares(const PreparedData& /*rows*/) const {
  std::vector<TermShare> shares;
  for (const KernelSpec& kernel : kernels) {
    shares.push_back({KernelName(kernel), /*joins_its_name=*/true});
  }
  return shares;
}

void KernelTerm::MarkRows(std::vector<std::vector<bool>>& used) const {
  std::vector<bool>& rows = used[static_cast<size_t>(basis)];
  for (Index j = 0; j < coefficients.cols(); ++j) {
    for (SparseMatrix::InnerIterator entry(coefficients, j); entry; ++entry) {
      rows[static_cast<size_t>(entry.row())] = true;
    }
  }
}

int64_t KernelTerm::WorkPerRow(int64_t columns, bool by_share) const {
  const auto count = static_cast<int64_t>(kernels.size());
  const int64_t evaluation = coefficients.rows() * (columns + 8 * count);
  return (by_share ? 2 : 1) * evaluation + coefficients.nonZeros() * (by_share ? count : 1);
}

bool HasKernelLabels(const Terms& terms) {
  const auto has_labels = [](const KernelTerm* term) {
    return std::any_of(term->kernels.begin(), term->kernels.end(),
                       [](const KernelSpec& kernel) { return !kernel.labels.empty(); });
  };
  const std::vector<const KernelTerm*> of_kernels = TermsOf<KernelTerm>(terms);
  return std::any_of(of_kernels.begin(), of_kernels.end(), has_labels);
}

void WriteKernelLabels(const Terms& terms, ByteWriter& writer) {
  for (const KernelTerm* term : TermsOf<KernelTerm>(terms)) {
    for (const KernelSpec& kernel : term->kernels) {
      WriteFields(kernel.labels, writer);
    }
  }
}

Terms WithKernelLabels(Terms terms, ByteReader& reader) {
  for (std::shared_ptr<const Term>& term : terms) {
    if (term->kind() == KernelTerm::kKind) {
      auto labelled = std::make_shared<KernelTerm>(static_cast<const KernelTerm&>(*term));
      for (KernelSpec& kernel : labelled->kernels) {
        ReadFields(reader, kernel.labels);
      }
      term = std::move(labelled);
    }
  }
  return terms;
}

}  // namespace mercer
