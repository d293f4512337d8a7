#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/kernels/gram/strip_coefficients.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/kernels/spec/normalization.h"
#include "core/kernels/spec/pair_values.h"
#include "core/linalg/vector_math.h"

namespace mercer {
namespace {

constexpr Index kCrossRows = 64;
constexpr Index kColumnsAtOnce = StripCoefficients::kWidth;
constexpr Index kValuesPerCheck = 4'000'000;  // of kernels: some 10 ms

// What kernels read of the basis, shared by all of one source.
struct BasisSource {
  KernelSource source;
  SharedMatrix features;  // basis rows x columns; none for square sources
};

// One kernel with a weight other than zero.
struct WeightedKernel {
  const KernelSpec* spec = nullptr;
  double weight = 0;
  Vector row_factors;                      // unit diagonal: 1 / sqrt(k(x, x)); else empty
  const Vector* column_factors = nullptr;  // of the basis, padded
};

// The kernels of one source that have a weight, and the rows to predict.
struct SourceKernels {
  const BasisSource* basis = nullptr;
  SharedMatrix x;             // rows to predict x columns; square sources: x basis
  std::vector<double> rates;  // exp(-rate t)
  std::vector<double> weights;
  std::vector<double> root_rates;  // the same of the root of t
  std::vector<double> root_weights;
  std::vector<WeightedKernel> others;
  bool reads_roots = false;  // some kernel does
};

absl::Status NamedViolation(size_t kernel, const absl::Status& status) {
  FieldViolations violations;
  violations.AddAll(KernelField(kernel), status);
  return violations.ToStatus();
}

absl::StatusOr<SharedMatrix> GatherSquare(const KernelSpec& spec, const PreparedData& x,
                                          Index num_basis,
                                          const std::vector<Index>& square_columns) {
  MERCER_ASSIGN_OR_RETURN(const SquareBlock* square, ResolveSquare(spec, x));
  const auto values = square->values.view();
  const Index needed = square_columns.empty()
                           ? num_basis
                           : *std::max_element(square_columns.begin(), square_columns.end()) + 1;
  const bool fits = square_columns.empty() ? values.cols() == needed : values.cols() >= needed;
  if (!fits) {
    FieldViolations violations;
    violations.Add("block", absl::StrCat("'", square->name, "' has ", values.cols(),
                                         " columns, the model's training rows need ",
                                         square_columns.empty() ? "" : "at least ", needed));
    return violations.ToStatus();
  }
  const Index width = square_columns.empty() ? needed : static_cast<Index>(square_columns.size());
  RowMatrix gathered(values.rows(), width);
  for (Index i = 0; i < values.rows(); ++i) {
    const double limit = DistanceRounding(values.row(i).cwiseAbs().maxCoeff());
    for (Index c = 0; c < width; ++c) {
      const Index column = square_columns.empty() ? c : square_columns[static_cast<size_t>(c)];
      const double value = values(i, column);
      if (square->kind == SquareKind::kDistance && value < -limit) {
        return NegativeDistanceError(*square, value, x.RowNumber(i), column);
      }
      gathered(i, c) = square->kind == SquareKind::kDistance ? std::max(0.0, value) : value;
    }
  }
  return SharedMatrix(std::move(gathered));
}

// 1 / sqrt(k(x, x)) for each row of `data`, of which `features` holds what the kernel reads; padded
// with zeros.
absl::StatusOr<Vector> UnitFactors(const KernelSpec& spec, const PreparedData& data,
                                   const SourceRows& features, const RunContext& context) {
  const Index padded = PaddedLength(features.rows());
  Vector self = Vector::Zero(padded);
  RowMatrix gathered;
  const PairValue value = std::get<PairValue>(FormulaOf(spec.type).reads);
  for (Index begin = 0; begin < features.rows(); begin += kColumnsAtOnce) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const auto rows =
        features.Rows(begin, std::min(begin + kColumnsAtOnce, features.rows()), gathered);
    for (Index i = 0; i < rows.rows(); ++i) {
      self(begin + i) = PairValueOfRow(value, rows.row(i).data(), rows.cols());
    }
  }
  KernelValuesOfRead(spec, {self.data(), 1, padded, padded}, self.data());
  for (Index i = 0; i < features.rows(); ++i) {
    if (!(self(i) > 0)) {
      return ZeroDiagonalError("row", data.RowNumber(i), self(i));
    }
    self(i) = 1.0 / std::sqrt(self(i));
  }
  self.tail(padded - features.rows()).setZero();
  return self;
}

absl::Status AddKernel(const KernelSpec& spec, double weight, const PreparedData& x,
                       const Vector& basis_factors, SourceKernels& kernels,
                       const RunContext& context) {
  const KernelFormula& formula = FormulaOf(spec.type);
  kernels.reads_roots = kernels.reads_roots || formula.of_root;
  if (formula.is_exponential()) {
    (formula.of_root ? kernels.root_rates : kernels.rates).push_back(ExponentialRate(spec));
    (formula.of_root ? kernels.root_weights : kernels.weights).push_back(weight);
    return absl::OkStatus();
  }
  WeightedKernel kernel{&spec, weight, {}, &basis_factors};
  if (spec.normalization.unit_diagonal) {
    MERCER_ASSIGN_OR_RETURN(kernel.row_factors,
                            UnitFactors(spec, x, SourceRows(kernels.x), context));
  }
  kernels.others.push_back(std::move(kernel));
  return absl::OkStatus();
}

struct CrossScratch {
  std::vector<double> roots;
  std::vector<double> values;
};

// sums += all kernels of one source for the values `strip`, the rows from `row` and the basis rows
// from `column`.
void AddSource(const SourceKernels& kernels, const Strip& strip, Index row, Index column,
               CrossScratch& scratch, double* sums) {
  AddExponentials(strip, kernels.rates, kernels.weights, sums);
  const auto size = static_cast<size_t>(strip.rows * strip.stride);
  Strip roots = strip;
  if (kernels.reads_roots) {
    scratch.roots.resize(size);
    SquareRoots(strip, scratch.roots.data());
    roots.values = scratch.roots.data();
    AddExponentials(roots, kernels.root_rates, kernels.root_weights, sums);
  }
  std::vector<double>& values = scratch.values;
  for (const WeightedKernel& kernel : kernels.others) {
    const KernelFormula& formula = FormulaOf(kernel.spec->type);
    Strip result = formula.of_root ? roots : strip;
    values.resize(size);
    if (formula.values != nullptr) {
      formula.values(*kernel.spec, result, values.data());
      result.values = values.data();
    }
    if (kernel.row_factors.size() > 0) {
      ScaleRowsAndColumns(result, kernel.row_factors.data() + row,
                          kernel.column_factors->data() + column, values.data());
      result.values = values.data();
    }
    AddScaled(result, kernel.weight, sums);
  }
}

// Adds the products of the weighted sum of all kernels for the rows [begin, end) to `values`. Of the
// sum some columns are in memory at a time.
void AddProductsOfRows(const std::vector<SourceKernels>& sources, Index num_basis, Index begin,
                       Index end, const RunContext& context, const StripCoefficients& coefficients,
                       MatrixRef values) {
  const Vector ones = Vector::Ones(coefficients.num_outputs());
  std::vector<double> strip_values;
  std::vector<double> sums;
  CrossScratch scratch;
  PacedCheck check(context);
  for (Index column = 0; column < num_basis && !context.cancelled(); column += kColumnsAtOnce) {
    const Index width = std::min(kColumnsAtOnce, num_basis - column);
    const Index stride = PaddedLength(width);
    sums.assign(static_cast<size_t>((end - begin) * stride), 0.0);
    for (const SourceKernels& source : sources) {
      strip_values.assign(sums.size(), 0.0);
      const auto x = source.x.view();
      if (source.basis->source.is_square) {
        RowMatrix::Map(strip_values.data(), end - begin, stride).leftCols(width) =
            x.block(begin, column, end - begin, width);
      } else {
        ComputePairValues(source.basis->source.value, x.middleRows(begin, end - begin),
                          source.basis->features.view().middleRows(column, width),
                          strip_values.data(), stride, context);
      }
      const auto kernels =
          static_cast<Index>(source.rates.size() + source.root_rates.size() + source.others.size());
      const Index most = std::max<Index>(1, kValuesPerCheck / (stride * kernels));
      for (Index row = begin; row < end; row += most) {
        if (!check.After(stride * most * kernels).ok()) {
          return;
        }
        const Index first = (row - begin) * stride;
        AddSource(source, {strip_values.data() + first, std::min(most, end - row), width, stride},
                  row, column, scratch, sums.data() + first);
      }
    }
    coefficients.AddProducts(column, {sums.data(), end - begin, width, stride}, ones,
                             values.middleRows(begin, end - begin));
  }
}

// A kernel and its factors of the rows and of the basis (unit diagonal), or none.
struct ScaledKernel {
  const KernelSpec& spec;
  const Vector& row_factors;
  const Vector& column_factors;
};

// Computes one kernel from the values `strip`, whose rows begin at `row`.
void OneKernel(const ScaledKernel& kernel, const Strip& strip, Index row, double* out) {
  KernelValuesOfRead(kernel.spec, strip, out);
  if (kernel.row_factors.size() > 0) {
    ScaleRowsAndColumns({out, strip.rows, strip.cols, strip.stride},
                        kernel.row_factors.data() + row, kernel.column_factors.data(), out);
  }
}

// The source of a kernel in the rows of a model's basis, which has no square blocks.
absl::StatusOr<KernelSource> BasisSourceOf(const KernelSpec& spec, const SourceFinder& basis) {
  const KernelFormula& formula = FormulaOf(spec.type);
  if (!formula.is_square()) {
    return basis.Find(spec);
  }
  KernelSource source;
  source.is_square = true;
  source.square = absl::StrCat(
      std::get<SquareKind>(formula.reads) == SquareKind::kDistance ? "distance " : "kernel ",
      spec.block);
  return source;
}

absl::StatusOr<BasisSource> ReadBasis(KernelSource source, const PreparedData& basis,
                                      const RunContext& context) {
  BasisSource read;
  if (!source.is_square) {
    MERCER_ASSIGN_OR_RETURN(read.features, SourceFeatures(source, basis, context));
  }
  read.source = std::move(source);
  return read;
}

}  // namespace

struct CrossKernels::Parts {
  std::shared_ptr<const PreparedData> basis;
  std::vector<KernelSpec> kernels;
  std::vector<Index> square_columns;
  std::vector<BasisSource> sources;
  std::vector<size_t> source_of;                // of each kernel
  std::vector<std::vector<size_t>> kernels_of;  // of each source
  std::vector<Vector> factors;  // of each kernel: UnitFactors of the basis with unit diagonal

  // What `kernel` reads of the rows to predict: all of it, or to be read in blocks.
  absl::StatusOr<SharedMatrix> Features(size_t kernel, const PreparedData& x,
                                        const SourceFinder& finder,
                                        const RunContext& context) const {
    if (IsSquareType(kernels[kernel].type)) {
      return Square(kernel, x);
    }
    MERCER_ASSIGN_OR_RETURN(const KernelSource source, SourceOf(kernel, finder));
    return SourceFeatures(source, x, context);
  }
  absl::StatusOr<SourceRows> FeatureRows(size_t kernel, const PreparedData& x,
                                         const SourceFinder& finder,
                                         const RunContext& context) const {
    if (IsSquareType(kernels[kernel].type)) {
      MERCER_ASSIGN_OR_RETURN(SharedMatrix square, Square(kernel, x));
      return SourceRows(std::move(square));
    }
    MERCER_ASSIGN_OR_RETURN(const KernelSource source, SourceOf(kernel, finder));
    return SourceRows::Make(source, x, context);
  }

  absl::StatusOr<SharedMatrix> Square(size_t kernel, const PreparedData& x) const {
    absl::StatusOr<SharedMatrix> square =
        GatherSquare(kernels[kernel], x, basis->rows, square_columns);
    return square.ok() || GetFieldViolations(square.status()).empty()
               ? square
               : NamedViolation(kernel, square.status());
  }
  absl::StatusOr<KernelSource> SourceOf(size_t kernel, const SourceFinder& finder) const {
    const KernelSpec& spec = kernels[kernel];
    absl::StatusOr<KernelSource> source = finder.Find(spec);
    if (!source.ok()) {
      return NamedViolation(kernel, source.status());
    }
    const size_t expected = sources[source_of[kernel]].source.columns.size();
    if (source->columns.size() != expected) {
      return absl::InvalidArgumentError(absl::StrCat(KernelField(kernel), ": the rows have ",
                                                     source->columns.size(),
                                                     " columns, the model's have ", expected));
    }
    return source;
  }
};

absl::StatusOr<CrossKernels> CrossKernels::Make(std::shared_ptr<const PreparedData> basis,
                                                std::vector<KernelSpec> kernels,
                                                std::vector<Index> square_columns,
                                                const RunContext& context) {
  const bool mismatch =
      !square_columns.empty() && static_cast<Index>(square_columns.size()) != basis->rows;
  if (mismatch ||
      std::any_of(square_columns.begin(), square_columns.end(), [](Index c) { return c < 0; })) {
    return absl::InvalidArgumentError(absl::StrCat("a basis of ", basis->rows,
                                                   " rows needs as many columns of square blocks, ",
                                                   square_columns.size(), " are given"));
  }
  auto parts = std::make_shared<Parts>();
  parts->factors.resize(kernels.size());
  const SourceFinder finder(*basis);
  HashMap<std::string, size_t> source_of_key;
  PacedCheck check(context);
  for (size_t k = 0; k < kernels.size(); ++k) {
    MERCER_RETURN_IF_ERROR(check.After(kSourceWork));
    const absl::Status valid = ValidateKernelSpec(kernels[k]);
    if (!valid.ok()) {
      return NamedViolation(k, valid);
    }
    absl::StatusOr<KernelSource> source = BasisSourceOf(kernels[k], finder);
    if (!source.ok()) {
      return NamedViolation(k, source.status());
    }
    const auto [place, is_new] =
        source_of_key.try_emplace(SourceKey(*source), parts->sources.size());
    if (is_new) {
      MERCER_ASSIGN_OR_RETURN(BasisSource added, ReadBasis(*std::move(source), *basis, context));
      parts->sources.push_back(std::move(added));
      parts->kernels_of.emplace_back();
    }
    parts->source_of.push_back(place->second);
    parts->kernels_of[place->second].push_back(k);
    if (kernels[k].normalization.unit_diagonal && !IsExponential(kernels[k].type)) {
      MERCER_ASSIGN_OR_RETURN(
          parts->factors[k],
          UnitFactors(kernels[k], *basis, SourceRows(parts->sources[place->second].features),
                      context));
    }
  }
  parts->basis = std::move(basis);
  parts->kernels = std::move(kernels);
  parts->square_columns = std::move(square_columns);
  CrossKernels result;
  result.parts_ = std::move(parts);
  return result;
}

Index CrossKernels::num_basis() const { return parts_->basis->rows; }

size_t CrossKernels::MemoryBytes() const {
  Index values = 0;
  for (const BasisSource& source : parts_->sources) {
    if (!source.source.is_square && !IsWholeBlock(source.source, *parts_->basis)) {
      values += source.features.rows() * source.features.cols();
    }
  }
  for (const Vector& factors : parts_->factors) {
    values += factors.size();
  }
  return static_cast<size_t>(values) * sizeof(double);
}

absl::Status CrossKernels::AddProducts(const PreparedData& x, ConstVectorRef weights,
                                       const StripCoefficients& coefficients, MatrixRef values,
                                       RunContext& context) const {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  const SourceFinder finder(x);
  std::vector<SourceKernels> used;
  std::vector<size_t> place(parts_->sources.size(), kNone);  // of each source in `used`
  for (size_t k = 0; k < parts_->kernels.size(); ++k) {
    const double weight = weights(static_cast<Index>(k));
    if (weight == 0) {
      continue;
    }
    const size_t source = parts_->source_of[k];
    if (place[source] == kNone) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      SourceKernels added;
      added.basis = &parts_->sources[source];
      MERCER_ASSIGN_OR_RETURN(added.x, parts_->Features(k, x, finder, context));
      place[source] = used.size();
      used.push_back(std::move(added));
    }
    MERCER_RETURN_IF_ERROR(
        AddKernel(parts_->kernels[k], weight, x, parts_->factors[k], used[place[source]], context));
  }
  context.parallel().ForBlocks(x.rows, kCrossRows, [&](Index begin, Index end) {
    if (!context.cancelled()) {
      AddProductsOfRows(used, num_basis(), begin, end, context, coefficients, values);
    }
  });
  return context.CheckCancelled();
}

absl::StatusOr<BoundCrossKernels> CrossKernels::Bind(const PreparedData& x,
                                                     RunContext& context) const {
  const SourceFinder finder(x);
  BoundCrossKernels bound;
  bound.parts_ = parts_;
  bound.stride_ = PaddedLength(num_basis());
  bound.features_.resize(parts_->sources.size());
  bound.row_factors_.resize(parts_->kernels.size());
  std::vector<bool> gathered(parts_->sources.size());
  for (size_t k = 0; k < parts_->kernels.size(); ++k) {
    const size_t source = parts_->source_of[k];
    if (!gathered[source]) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      MERCER_ASSIGN_OR_RETURN(bound.features_[source], parts_->FeatureRows(k, x, finder, context));
      gathered[source] = true;
    }
    if (parts_->factors[k].size() > 0) {
      MERCER_ASSIGN_OR_RETURN(bound.row_factors_[k],
                              UnitFactors(parts_->kernels[k], x, bound.features_[source], context));
    }
  }
  return bound;
}

void BoundCrossKernels::ForEachSource(
    Index begin, Index end, const RunContext& context,
    const std::function<void(size_t source, const Strip& pairs)>& visit) const {
  const Index rows = end - begin;
  const Index columns = parts_->basis->rows;
  std::vector<double> values(static_cast<size_t>(rows * stride_));
  RowMatrix gathered;
  for (size_t s = 0; s < features_.size() && !context.cancelled(); ++s) {
    const BasisSource& source = parts_->sources[s];
    const auto x = features_[s].Rows(begin, end, gathered);
    if (source.source.is_square) {
      RowMatrix::Map(values.data(), rows, stride_).leftCols(columns) = x;
    } else {
      ComputePairValues(source.source.value, x, source.features.view(), values.data(), stride_,
                        context);
    }
    visit(s, {values.data(), rows, columns, stride_});
  }
}

void BoundCrossKernels::Values(Index begin, Index end, double* out,
                               const RunContext& context) const {
  const Index size = (end - begin) * stride_;
  PacedCheck check(context);
  ForEachSource(begin, end, context, [&](size_t source, const Strip& pairs) {
    for (const size_t k : parts_->kernels_of[source]) {
      if (!check.After(size).ok()) {
        return;
      }
      OneKernel({parts_->kernels[k], row_factors_[k], parts_->factors[k]}, pairs, begin,
                out + static_cast<Index>(k) * size);
    }
  });
}

void BoundCrossKernels::ForEachKernel(
    Index begin, Index end, const RunContext& context,
    const std::function<void(Index kernel, const double* values)>& visit) const {
  std::vector<double> values(static_cast<size_t>((end - begin) * stride_));
  ForEachSource(begin, end, context, [&](size_t source, const Strip& pairs) {
    for (const size_t k : parts_->kernels_of[source]) {
      if (context.cancelled()) {
        return;
      }
      OneKernel({parts_->kernels[k], row_factors_[k], parts_->factors[k]}, pairs, begin,
                values.data());
      visit(static_cast<Index>(k), values.data());
    }
  });
}

}  // namespace mercer
