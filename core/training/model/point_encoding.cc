#include "core/training/model/point_encoding.h"

#include <algorithm>

#include "core/training/model/basis.h"

namespace mercer {
namespace {

void WriteBasis(const Basis& basis, ByteWriter& writer) {
  writer.WriteIndices(basis.training_rows);
  if (basis.training_rows.empty()) {
    WriteFields(*basis.data, writer);
  } else {
    writer.WriteStrings(BlockNames(*basis.data));
  }
}

Basis ReadBasis(const PreparedData& inputs, ByteReader& reader) {
  std::vector<Index> rows = reader.ReadIndices();
  if (rows.empty()) {
    auto data = std::make_shared<PreparedData>();
    ReadFields(reader, *data);
    return {std::move(data), {}};
  }
  const std::vector<std::string> blocks = reader.ReadStrings();
  if (!HasBasis(inputs, rows, blocks)) {
    reader.Fail();
  }
  return BasisByNumber(std::move(rows), blocks);
}

// All but the bases.
void VisitRest(auto& visit, auto& point) {
  visit(point.function.kernel_terms, point.function.bias, point.summary);
  VisitFeatures(visit, point.function, point.summary);
  visit(point.summary.tables);
  VisitLabels(visit, point.function, point.summary);
  visit(Custom(
            point.witness,
            [](const Witness& witness, ByteWriter& writer) {
              writer.WriteString(SaveWitness(witness));
            },
            [](ByteReader& reader) {
              absl::StatusOr<Witness> witness = LoadWitness(reader.ReadString());
              if (!witness.ok()) {
                reader.Fail();
                return Witness();
              }
              return *std::move(witness);
            }),
        point.limit_reached);
}

bool TermFits(const KernelTerm& term, const ModelFunction& function) {
  if (term.basis < 0 || static_cast<size_t>(term.basis) >= function.bases.size()) {
    return false;
  }
  const auto num_outputs = static_cast<Index>(term.outputs.size());
  int previous = -1;
  for (const int output : term.outputs) {
    if (output <= previous || output >= function.num_outputs()) {
      return false;
    }
    previous = output;
  }
  return num_outputs > 0 && term.weights.cols() == num_outputs &&
         term.weights.rows() == static_cast<Index>(term.kernels.size()) &&
         term.coefficients.cols() == num_outputs &&
         term.coefficients.rows() == function.bases[static_cast<size_t>(term.basis)].data->rows;
}

// Whether the parts of a function that was read fit together as far as MergeOutputs relies on it.
bool FunctionFits(const ModelFunction& function) {
  for (const Basis& basis : function.bases) {
    for (const PreparedBlock& block : basis.data->blocks) {
      if (basis.training_rows.empty() && block.values.rows() != basis.data->rows) {
        return false;
      }
    }
  }
  return std::all_of(function.kernel_terms.begin(), function.kernel_terms.end(),
                     [&](const KernelTerm& term) { return TermFits(term, function); }) &&
         std::all_of(function.feature_terms.begin(), function.feature_terms.end(),
                     [&](const FeatureTerm& term) {
                       return CheckFeatureTerm(term, function.num_outputs()).ok();
                     });
}

}  // namespace

void WritePoint(const TrainedPoint& point, ByteWriter& writer) {
  writer.WriteUint64(point.function.bases.size());
  for (const Basis& basis : point.function.bases) {
    WriteBasis(basis, writer);
  }
  FieldWriter visit(writer);
  VisitRest(visit, point);
}

TrainedPoint ReadPoint(const PreparedData& inputs, ByteReader& reader) {
  TrainedPoint point;
  const uint64_t num_bases = reader.ReadUint64();
  for (uint64_t b = 0; b < num_bases && reader.ok(); ++b) {
    point.function.bases.push_back(ReadBasis(inputs, reader));
  }
  FieldReader visit(reader);
  VisitRest(visit, point);
  if (!reader.ok() || !FunctionFits(point.function) || !GroupsFit(point.summary) ||
      !CheckTables(point.summary.tables, point.function.num_outputs()).ok()) {
    reader.Fail();
    return {};
  }
  return point;
}

}  // namespace mercer
