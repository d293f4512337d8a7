#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "core/kernels/kernel_family.h"
#include "core/kernels/kernel_source.h"
#include "core/kernels/normalization.h"
#include "core/kernels/pair_values.h"
#include "core/kernels/vector_math.h"

namespace mercer {
namespace {

constexpr Index kRows = 64;
constexpr Index kColumns = 256;

// One kernel with a weight other than zero.
struct WeightedKernel {
  const KernelSpec* spec = nullptr;
  double weight = 0;
  Vector row_factors;     // unit diagonal: 1 / sqrt(k(x, x)); else empty
  Vector column_factors;  // of the basis, padded
};

// Kernels of one source.
struct SourceKernels {
  KernelSource source;
  RowMatrix x;                // rows to predict x columns; square sources: x basis
  RowMatrix basis;            // basis rows x columns
  std::vector<double> rates;  // exp(-rate t)
  std::vector<double> weights;
  std::vector<double> root_rates;  // exp(-rate sqrt(t))
  std::vector<double> root_weights;
  std::vector<WeightedKernel> others;
};

absl::Status NamedViolation(size_t kernel, const absl::Status& status) {
  FieldViolations violations;
  violations.AddAll(absl::StrCat("kernels[", kernel, "]"), status);
  return violations.ToStatus();
}

absl::StatusOr<RowMatrix> GatherSquare(const KernelSpec& spec, const PreparedData& x,
                                       Index num_basis, const std::vector<Index>& square_columns) {
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
    const double limit = kSquareRounding * values.row(i).cwiseAbs().maxCoeff();
    for (Index c = 0; c < width; ++c) {
      const Index column = square_columns.empty() ? c : square_columns[static_cast<size_t>(c)];
      const double value = values(i, column);
      if (square->kind == SquareKind::kDistance && value < -limit) {
        return NegativeDistanceError(*square, i, column);
      }
      gathered(i, c) = square->kind == SquareKind::kDistance ? std::max(0.0, value) : value;
    }
  }
  return gathered;
}

// 1 / sqrt(k(x, x)) for each row.
absl::StatusOr<Vector> UnitFactors(const KernelSpec& spec, const RowMatrix& rows, Index padded) {
  Vector self = Vector::Zero(padded);
  for (Index i = 0; i < rows.rows(); ++i) {
    self(i) = Dot(rows.row(i).data(), rows.row(i).data(), rows.cols());
  }
  if (spec.type == KernelType::kPolynomial) {
    PolynomialValues({self.data(), 1, padded, padded}, spec.scale, spec.offset, spec.degree,
                     self.data());
  }
  for (Index i = 0; i < rows.rows(); ++i) {
    if (!(self(i) > 0)) {
      return ZeroDiagonalError("row", i, self(i));
    }
    self(i) = 1.0 / std::sqrt(self(i));
  }
  self.tail(padded - rows.rows()).setZero();
  return self;
}

absl::Status AddKernel(const KernelSpec& spec, double weight, SourceKernels& kernels) {
  if (spec.type == KernelType::kEuclidean) {
    kernels.root_rates.push_back(ExponentialRate(spec));
    kernels.root_weights.push_back(weight);
    return absl::OkStatus();
  }
  if (IsExponential(spec.type)) {
    kernels.rates.push_back(ExponentialRate(spec));
    kernels.weights.push_back(weight);
    return absl::OkStatus();
  }
  WeightedKernel kernel{&spec, weight, {}, {}};
  if (spec.normalization.unit_diagonal) {
    MERCER_ASSIGN_OR_RETURN(kernel.row_factors,
                            UnitFactors(spec, kernels.x, PaddedLength(kernels.x.rows())));
    MERCER_ASSIGN_OR_RETURN(kernel.column_factors,
                            UnitFactors(spec, kernels.basis, PaddedLength(kernels.basis.rows())));
  }
  kernels.others.push_back(std::move(kernel));
  return absl::OkStatus();
}

// sums += all kernels of one source for the values `strip`, the rows from `row` and the basis rows
// from `column`.
void AddSource(const SourceKernels& kernels, const Strip& strip, Index row, Index column,
               std::vector<double>& values, double* sums) {
  AddExponentials(strip, kernels.rates, kernels.weights, sums);
  values.resize(static_cast<size_t>(strip.rows * strip.stride));
  if (!kernels.root_rates.empty()) {
    SquareRoots(strip, values.data());
    AddExponentials({values.data(), strip.rows, strip.cols, strip.stride}, kernels.root_rates,
                    kernels.root_weights, sums);
  }
  for (const WeightedKernel& kernel : kernels.others) {
    Strip result = strip;
    if (kernel.spec->type == KernelType::kPolynomial) {
      PolynomialValues(strip, kernel.spec->scale, kernel.spec->offset, kernel.spec->degree,
                       values.data());
      result.values = values.data();
    }
    if (kernel.row_factors.size() > 0) {
      ScaleRowsAndColumns(result, kernel.row_factors.data() + row,
                          kernel.column_factors.data() + column, values.data());
      result.values = values.data();
    }
    AddScaled(result, kernel.weight, sums);
  }
}

// out for the rows [begin, end).
void CombineRows(const std::vector<SourceKernels>& sources, Index begin, Index end,
                 const RunContext& context, MatrixRef out) {
  std::vector<double> strip_values;
  std::vector<double> values;
  std::vector<double> sums;
  for (Index column = 0; column < out.cols() && !context.cancelled(); column += kColumns) {
    const Index width = std::min(kColumns, out.cols() - column);
    const Index stride = PaddedLength(width);
    sums.assign(static_cast<size_t>((end - begin) * stride), 0.0);
    for (const SourceKernels& source : sources) {
      strip_values.assign(sums.size(), 0.0);
      if (source.source.is_square) {
        for (Index r = begin; r < end; ++r) {
          std::copy_n(source.x.row(r).data() + column, width,
                      strip_values.data() + (r - begin) * stride);
        }
      } else {
        ComputePairValues(source.source.value, source.x.middleRows(begin, end - begin),
                          source.basis.middleRows(column, width), strip_values.data(), stride,
                          context);
      }
      AddSource(source, {strip_values.data(), end - begin, width, stride}, begin, column, values,
                sums.data());
    }
    for (Index c = 0; c < width; ++c) {
      for (Index r = begin; r < end; ++r) {
        out(r, column + c) = sums[static_cast<size_t>((r - begin) * stride + c)];
      }
    }
  }
}

}  // namespace

absl::StatusOr<CrossKernels> CrossKernels::Make(std::shared_ptr<const PreparedData> basis,
                                                std::vector<KernelSpec> kernels,
                                                std::vector<Index> square_columns) {
  for (size_t k = 0; k < kernels.size(); ++k) {
    const absl::Status valid = ValidateKernelSpec(kernels[k]);
    if (!valid.ok()) {
      return NamedViolation(k, valid);
    }
    if (!IsSquareType(kernels[k].type)) {
      const absl::StatusOr<KernelSource> source = ResolveSource(kernels[k], *basis);
      if (!source.ok()) {
        return NamedViolation(k, source.status());
      }
    }
  }
  const bool mismatch =
      !square_columns.empty() && static_cast<Index>(square_columns.size()) != basis->rows;
  if (mismatch ||
      std::any_of(square_columns.begin(), square_columns.end(), [](Index c) { return c < 0; })) {
    return absl::InvalidArgumentError(absl::StrCat("a basis of ", basis->rows,
                                                   " rows needs as many columns of square blocks, ",
                                                   square_columns.size(), " are given"));
  }
  CrossKernels result;
  result.basis_ = std::move(basis);
  result.kernels_ = std::move(kernels);
  result.square_columns_ = std::move(square_columns);
  return result;
}

Index CrossKernels::num_basis() const { return basis_->rows; }

absl::Status CrossKernels::Combine(const PreparedData& x, ConstVectorRef weights, MatrixRef out,
                                   RunContext& context) const {
  std::vector<SourceKernels> sources;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const double weight = weights(static_cast<Index>(k));
    if (weight == 0) {
      continue;
    }
    const KernelSpec& spec = kernels_[k];
    KernelSource basis_source;
    if (!IsSquareType(spec.type)) {
      MERCER_ASSIGN_OR_RETURN(basis_source, ResolveSource(spec, *basis_));
    } else {
      basis_source.is_square = true;
      basis_source.square =
          absl::StrCat(spec.type == KernelType::kDistance ? "distance " : "kernel ", spec.block);
    }
    auto place = std::find_if(sources.begin(), sources.end(), [&](const SourceKernels& candidate) {
      return candidate.source == basis_source;
    });
    if (place == sources.end()) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      SourceKernels added;
      added.source = basis_source;
      if (basis_source.is_square) {
        absl::StatusOr<RowMatrix> square = GatherSquare(spec, x, num_basis(), square_columns_);
        if (!square.ok()) {
          return GetFieldViolations(square.status()).empty() ? square.status()
                                                             : NamedViolation(k, square.status());
        }
        added.x = *std::move(square);
      } else {
        const absl::StatusOr<KernelSource> source = ResolveSource(spec, x);
        if (!source.ok()) {
          return NamedViolation(k, source.status());
        }
        if (source->columns.size() != basis_source.columns.size()) {
          return absl::InvalidArgumentError(
              absl::StrCat("kernels[", k, "]: the rows have ", source->columns.size(),
                           " columns, the model's have ", basis_source.columns.size()));
        }
        MERCER_ASSIGN_OR_RETURN(added.x, GatherFeatures(*source, x, {}, context));
        MERCER_ASSIGN_OR_RETURN(added.basis, GatherFeatures(basis_source, *basis_, {}, context));
      }
      sources.push_back(std::move(added));
      place = sources.end() - 1;
    }
    MERCER_RETURN_IF_ERROR(AddKernel(spec, weight, *place));
  }
  context.parallel().ForBlocks(x.rows, kRows, [&](Index begin, Index end) {
    if (!context.cancelled()) {
      CombineRows(sources, begin, end, context, out);
    }
  });
  return context.CheckCancelled();
}

}  // namespace mercer
