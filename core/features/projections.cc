#include "core/features/projections.h"

#include <algorithm>
#include <memory>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/features/projections.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file again for each target.
#include "hwy/highway.h"

#include "core/features/sine_cosine-inl.h"

#ifndef MERCER_CORE_FEATURES_PROJECTIONS_PANELS
#define MERCER_CORE_FEATURES_PROJECTIONS_PANELS
namespace mercer {

constexpr Index kPanelRows = 32;  // two registers of 16 lanes

// Some rows, transposed panel by panel: input k of the rows of panel p is at (p num_inputs + k)
// kPanelRows. Zeros beyond the last row.
template <typename Scalar>
struct PackedRows {
  const Scalar* values = nullptr;
  Index rows = 0;

  Index panels() const { return (rows + kPanelRows - 1) / kPanelRows; }
};

// Where the columns of some rows go.
template <typename Scalar>
struct ColumnTarget {
  Scalar* values = nullptr;
  Index stride = 0;
};

}  // namespace mercer
#endif

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {

// Vectors of at most 16 lanes, so that a panel is a multiple of them.
template <typename Scalar>
using PanelTag = hn::CappedTag<Scalar, 16>;

// products[g * kPanelRows + i] = v_g'x_i for the rows of a panel: four vectors by two registers of
// rows, since eight independent sums hide the latency of the multiplications. Each product adds its
// inputs one after the other, so that its bits depend neither on the number of lanes nor on the
// rows beside it.
template <typename Scalar>
HWY_INLINE void ProjectPanel(const Scalar* panel, const Scalar* vectors, Index num_inputs,
                             Scalar* products) {
  const PanelTag<Scalar> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < kPanelRows; i += 2 * lanes) {
    auto a0 = hn::Zero(d);
    auto a1 = hn::Zero(d);
    auto a2 = hn::Zero(d);
    auto a3 = hn::Zero(d);
    auto b0 = hn::Zero(d);
    auto b1 = hn::Zero(d);
    auto b2 = hn::Zero(d);
    auto b3 = hn::Zero(d);
    for (Index k = 0; k < num_inputs; ++k) {
      const auto a = hn::LoadU(d, panel + k * kPanelRows + i);
      const auto b = hn::LoadU(d, panel + k * kPanelRows + i + lanes);
      const auto v0 = hn::Set(d, vectors[k * kProjectionWidth]);
      a0 = hn::MulAdd(a, v0, a0);
      b0 = hn::MulAdd(b, v0, b0);
      const auto v1 = hn::Set(d, vectors[k * kProjectionWidth + 1]);
      a1 = hn::MulAdd(a, v1, a1);
      b1 = hn::MulAdd(b, v1, b1);
      const auto v2 = hn::Set(d, vectors[k * kProjectionWidth + 2]);
      a2 = hn::MulAdd(a, v2, a2);
      b2 = hn::MulAdd(b, v2, b2);
      const auto v3 = hn::Set(d, vectors[k * kProjectionWidth + 3]);
      a3 = hn::MulAdd(a, v3, a3);
      b3 = hn::MulAdd(b, v3, b3);
    }
    hn::StoreU(a0, d, products + i);
    hn::StoreU(b0, d, products + i + lanes);
    hn::StoreU(a1, d, products + kPanelRows + i);
    hn::StoreU(b1, d, products + kPanelRows + i + lanes);
    hn::StoreU(a2, d, products + 2 * kPanelRows + i);
    hn::StoreU(b2, d, products + 2 * kPanelRows + i + lanes);
    hn::StoreU(a3, d, products + 3 * kPanelRows + i);
    hn::StoreU(b3, d, products + 3 * kPanelRows + i + lanes);
  }
}

HWY_INLINE void PanelCosinesAndSines(const double* arguments, double* cosines, double* sines) {
  const PanelTag<double> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index i = 0; i < kPanelRows; i += lanes) {
    auto cosine = hn::Zero(d);
    auto sine = hn::Zero(d);
    CosineAndSine(d, hn::LoadU(d, arguments + i), cosine, sine);
    hn::StoreU(cosine, d, cosines + i);
    hn::StoreU(sine, d, sines + i);
  }
}

HWY_INLINE void PanelCosinesAndSines(const double* arguments, float* cosines, float* sines) {
  const PanelTag<double> d;
  const hn::Rebind<float, PanelTag<double>> half;
  const hn::Rebind<int32_t, PanelTag<double>> half_integer;
  HWY_ALIGN float remainders[kPanelRows];
  HWY_ALIGN int32_t quadrants[kPanelRows];
  for (Index i = 0; i < kPanelRows; i += static_cast<Index>(hn::Lanes(d))) {
    auto remainder = hn::Zero(half);
    auto quadrant = hn::Zero(half_integer);
    ReduceToSingle(d, hn::LoadU(d, arguments + i), remainder, quadrant);
    hn::StoreU(remainder, half, remainders + i);
    hn::StoreU(quadrant, half_integer, quadrants + i);
  }
  const PanelTag<float> f;
  const hn::RebindToSigned<PanelTag<float>> integer;
  for (Index i = 0; i < kPanelRows; i += static_cast<Index>(hn::Lanes(f))) {
    auto cosine = hn::Zero(f);
    auto sine = hn::Zero(f);
    CosineAndSine(f, hn::Load(f, remainders + i), hn::Load(integer, quadrants + i), cosine, sine);
    hn::StoreU(cosine, f, cosines + i);
    hn::StoreU(sine, f, sines + i);
  }
}

template <typename Scalar>
HWY_INLINE void PackedCosinesAndSines(const ProjectionVectors<double>& vectors,
                                      const PackedRows<double>& rows,
                                      const ColumnTarget<Scalar>& out) {
  HWY_ALIGN double products[kProjectionWidth * kPanelRows];
  HWY_ALIGN Scalar rest[2 * kPanelRows];
  const Index num_inputs = vectors.num_inputs();
  for (Index g = 0; g < vectors.count(); g += kProjectionWidth) {
    const Index width = std::min(kProjectionWidth, vectors.count() - g);
    for (Index p = 0; p < rows.panels(); ++p) {
      ProjectPanel(rows.values + p * num_inputs * kPanelRows, vectors.block(g), num_inputs,
                   products);
      const Index count = std::min(kPanelRows, rows.rows - p * kPanelRows);
      for (Index w = 0; w < width; ++w) {
        Scalar* cosines = out.values + 2 * (g + w) * out.stride + p * kPanelRows;
        Scalar* sines = cosines + out.stride;
        if (count == kPanelRows) {
          PanelCosinesAndSines(products + w * kPanelRows, cosines, sines);
          continue;
        }
        PanelCosinesAndSines(products + w * kPanelRows, rest, rest + kPanelRows);
        std::copy_n(rest, count, cosines);
        std::copy_n(rest + kPanelRows, count, sines);
      }
    }
  }
}

template <typename Scalar>
HWY_INLINE void PackedAbsoluteSums(const ProjectionVectors<Scalar>& vectors, Index per_sum,
                                   const PackedRows<Scalar>& rows,
                                   const ColumnTarget<Scalar>& out) {
  const PanelTag<Scalar> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  HWY_ALIGN Scalar products[kProjectionWidth * kPanelRows];
  HWY_ALIGN Scalar sums[kPanelRows];
  const Index num_inputs = vectors.num_inputs();
  for (Index j = 0; j < vectors.count() / per_sum; ++j) {
    for (Index p = 0; p < rows.panels(); ++p) {
      std::fill_n(sums, kPanelRows, Scalar{0});
      for (Index g = j * per_sum; g < (j + 1) * per_sum; g += kProjectionWidth) {
        ProjectPanel(rows.values + p * num_inputs * kPanelRows, vectors.block(g), num_inputs,
                     products);
        for (Index i = 0; i < kPanelRows; i += lanes) {
          auto sum = hn::Load(d, sums + i);
          for (Index w = 0; w < kProjectionWidth; ++w) {
            sum = hn::Add(sum, hn::Abs(hn::Load(d, products + w * kPanelRows + i)));
          }
          hn::Store(sum, d, sums + i);
        }
      }
      const Index count = std::min(kPanelRows, rows.rows - p * kPanelRows);
      std::copy_n(sums, count, out.values + j * out.stride + p * kPanelRows);
    }
  }
}

void CosinesAndSinesDouble(const ProjectionVectors<double>& vectors, const PackedRows<double>& rows,
                           const ColumnTarget<double>& out) {
  PackedCosinesAndSines(vectors, rows, out);
}
void CosinesAndSinesSingle(const ProjectionVectors<double>& vectors, const PackedRows<double>& rows,
                           const ColumnTarget<float>& out) {
  PackedCosinesAndSines(vectors, rows, out);
}
void AbsoluteSumsDouble(const ProjectionVectors<double>& vectors, Index per_sum,
                        const PackedRows<double>& rows, const ColumnTarget<double>& out) {
  PackedAbsoluteSums(vectors, per_sum, rows, out);
}
void AbsoluteSumsSingle(const ProjectionVectors<float>& vectors, Index per_sum,
                        const PackedRows<float>& rows, const ColumnTarget<float>& out) {
  PackedAbsoluteSums(vectors, per_sum, rows, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mercer {
namespace {

HWY_EXPORT(CosinesAndSinesDouble);
HWY_EXPORT(CosinesAndSinesSingle);
HWY_EXPORT(AbsoluteSumsDouble);
HWY_EXPORT(AbsoluteSumsSingle);

constexpr Index kPackedValues = Index{1} << 16;  // at a time: they stay in the second cache

// Rows [begin, begin + count) as one panel.
template <typename Scalar>
void PackPanel(const ConstRowMatrixRef& rows, Index begin, Index count, Scalar* panel) {
  for (Index i = 0; i < count; ++i) {
    const double* row = rows.data() + (begin + i) * rows.outerStride();
    for (Index k = 0; k < rows.cols(); ++k) {
      panel[k * kPanelRows + i] = static_cast<Scalar>(row[k]);
    }
  }
  for (Index k = 0; k < rows.cols() && count < kPanelRows; ++k) {
    std::fill(panel + k * kPanelRows + count, panel + (k + 1) * kPanelRows, Scalar{0});
  }
}

// Calls work(packed rows, first row) for a few panels of rows at a time.
template <typename Scalar, typename Work>
void ForPackedRows(const ConstRowMatrixRef& rows, const Work& work) {
  const Index panel_values = std::max<Index>(1, rows.cols()) * kPanelRows;
  const Index most_panels = std::max<Index>(1, kPackedValues / panel_values);
  const Index all_panels = (rows.rows() + kPanelRows - 1) / kPanelRows;
  const Index panels = std::min(most_panels, all_panels);
  const auto values =
      std::make_unique_for_overwrite<Scalar[]>(static_cast<size_t>(panels * panel_values));
  for (Index begin = 0; begin < rows.rows(); begin += panels * kPanelRows) {
    const Index count = std::min(panels * kPanelRows, rows.rows() - begin);
    for (Index p = 0; p * kPanelRows < count; ++p) {
      PackPanel(rows, begin + p * kPanelRows, std::min(kPanelRows, count - p * kPanelRows),
                values.get() + p * panel_values);
    }
    work(PackedRows<Scalar>{values.get(), count}, begin);
  }
}

}  // namespace

template <typename Scalar>
ProjectionVectors<Scalar>::ProjectionVectors(const ConstMatrixRef& vectors)
    : num_inputs_(vectors.rows()), count_(vectors.cols()) {
  const Index padded = (count_ + kProjectionWidth - 1) / kProjectionWidth * kProjectionWidth;
  values_.assign(static_cast<size_t>(padded * num_inputs_), Scalar{0});
  for (Index g = 0; g < count_; ++g) {
    const Index first = g / kProjectionWidth * kProjectionWidth;
    for (Index k = 0; k < num_inputs_; ++k) {
      values_[static_cast<size_t>(first * num_inputs_ + k * kProjectionWidth + (g - first))] =
          static_cast<Scalar>(vectors(k, g));
    }
  }
}

template class ProjectionVectors<double>;
template class ProjectionVectors<float>;

void CosinesAndSines(const ProjectionVectors<double>& vectors, const ConstRowMatrixRef& rows,
                     Eigen::Ref<Eigen::MatrixXd> out) {
  ForPackedRows<double>(rows, [&](const PackedRows<double>& packed, Index begin) {
    HWY_DYNAMIC_DISPATCH(CosinesAndSinesDouble)
    (vectors, packed, {out.data() + begin, out.outerStride()});
  });
}

void CosinesAndSines(const ProjectionVectors<double>& vectors, const ConstRowMatrixRef& rows,
                     Eigen::Ref<Eigen::MatrixXf> out) {
  ForPackedRows<double>(rows, [&](const PackedRows<double>& packed, Index begin) {
    HWY_DYNAMIC_DISPATCH(CosinesAndSinesSingle)
    (vectors, packed, {out.data() + begin, out.outerStride()});
  });
}

void AbsoluteSums(const ProjectionVectors<double>& vectors, Index per_sum,
                  const ConstRowMatrixRef& rows, Eigen::Ref<Eigen::MatrixXd> out) {
  ForPackedRows<double>(rows, [&](const PackedRows<double>& packed, Index begin) {
    HWY_DYNAMIC_DISPATCH(AbsoluteSumsDouble)
    (vectors, per_sum, packed, {out.data() + begin, out.outerStride()});
  });
}

void AbsoluteSums(const ProjectionVectors<float>& vectors, Index per_sum,
                  const ConstRowMatrixRef& rows, Eigen::Ref<Eigen::MatrixXf> out) {
  ForPackedRows<float>(rows, [&](const PackedRows<float>& packed, Index begin) {
    HWY_DYNAMIC_DISPATCH(AbsoluteSumsSingle)
    (vectors, per_sum, packed, {out.data() + begin, out.outerStride()});
  });
}

}  // namespace mercer
#endif  // HWY_ONCE
