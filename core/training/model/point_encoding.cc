#include "core/training/model/point_encoding.h"

#include <algorithm>

#include "core/training/terms/basis.h"
#include "core/training/terms/term_encoding.h"

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

// All but the bases. `named_terms` are the terms that no other field has.
void VisitRest(auto& visit, auto& point, auto& named_terms) {
  visit(TermsOfKind(point.function.terms, KernelTerm::kKind), point.function.bias, point.summary);
  VisitFeatures(visit, point.function, point.summary);
  visit(point.summary.tables);
  VisitLabels(visit, point.function, point.summary);
  visit(named_terms);
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

// Whether the parts of a function that was read fit together as far as MergeOutputs relies on it.
bool FunctionFits(const ModelFunction& function) {
  for (const Basis& basis : function.bases) {
    for (const PreparedBlock& block : basis.data->blocks) {
      if (basis.training_rows.empty() && block.values.rows() != basis.data->rows) {
        return false;
      }
    }
  }
  const TermPlace place = function.place();
  return std::all_of(function.terms.begin(), function.terms.end(),
                     [&](const auto& term) { return term->CheckShape(place).ok(); });
}

}  // namespace

void WritePoint(const TrainedPoint& point, ByteWriter& writer) {
  writer.WriteUint64(point.function.bases.size());
  for (const Basis& basis : point.function.bases) {
    WriteBasis(basis, writer);
  }
  FieldWriter visit(writer);
  const NamedTerms named_terms = SaveNamedTerms(point.function.terms);
  VisitRest(visit, point, named_terms);
}

TrainedPoint ReadPoint(const PreparedData& inputs, ByteReader& reader) {
  TrainedPoint point;
  const uint64_t num_bases = reader.ReadUint64();
  for (uint64_t b = 0; b < num_bases && reader.ok(); ++b) {
    point.function.bases.push_back(ReadBasis(inputs, reader));
  }
  FieldReader visit(reader);
  NamedTerms named_terms;
  VisitRest(visit, point, named_terms);
  if (!reader.ok() || !LoadNamedTerms(named_terms, point.function.terms).ok() ||
      !FunctionFits(point.function) || !GroupsFit(point.summary) ||
      !CheckTables(point.summary.tables, point.function.num_outputs()).ok()) {
    reader.Fail();
    return {};
  }
  return point;
}

}  // namespace mercer
