#include "core/training/model/function_encoding.h"

#include <algorithm>

#include "core/training/encoding/encoding.h"
#include "core/training/model/basis.h"

namespace mercer {
namespace {

void WriteBasisRows(const PreparedData& data, ByteWriter& writer) {
  writer.WriteInt64(data.rows);
  writer.WriteUint64(data.blocks.size());
  for (const PreparedBlock& block : data.blocks) {
    writer.WriteString(block.name);
    writer.WriteStrings(block.sources);
    writer.WriteRowMatrix(block.values.view());
  }
}

std::shared_ptr<const PreparedData> ReadBasisRows(ByteReader& reader) {
  auto data = std::make_shared<PreparedData>();
  data->rows = reader.ReadInt64();
  const uint64_t count = reader.ReadUint64();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    PreparedBlock& block = data->blocks.emplace_back();
    block.name = reader.ReadString();
    block.sources = reader.ReadStrings();
    block.values = SharedMatrix(reader.ReadRowMatrix());
  }
  return data;
}

void WriteTerms(const ModelFunction& function, ByteWriter& writer) {
  writer.WriteUint64(function.kernel_terms.size());
  for (const KernelTerm& term : function.kernel_terms) {
    writer.WriteInt64(term.basis);
    WriteFields(term.kernels, writer);
    writer.WriteIndices({term.outputs.begin(), term.outputs.end()});
    writer.WriteMatrix(term.weights);
    WriteSparse(term.coefficients, writer);
  }
  writer.WriteVector(function.bias);
}

void ReadTerms(ByteReader& reader, ModelFunction& function) {
  const uint64_t num_terms = reader.ReadUint64();
  for (uint64_t t = 0; t < num_terms && reader.ok(); ++t) {
    KernelTerm& term = function.kernel_terms.emplace_back();
    term.basis = static_cast<int>(reader.ReadInt64());
    ReadFields(reader, term.kernels);
    for (const Index output : reader.ReadIndices()) {
      term.outputs.push_back(static_cast<int>(output));
    }
    term.weights = reader.ReadMatrix();
    term.coefficients = ReadSparse(reader);
  }
  function.bias = reader.ReadVector();
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

void WriteFunction(const ModelFunction& function, ByteWriter& writer) {
  writer.WriteUint64(function.bases.size());
  for (const Basis& basis : function.bases) {
    writer.WriteIndices(basis.training_rows);
    WriteBasisRows(*basis.data, writer);
  }
  WriteTerms(function, writer);
}

ModelFunction ReadFunction(ByteReader& reader) {
  ModelFunction function;
  const uint64_t num_bases = reader.ReadUint64();
  for (uint64_t b = 0; b < num_bases && reader.ok(); ++b) {
    Basis& basis = function.bases.emplace_back();
    basis.training_rows = reader.ReadIndices();
    basis.data = ReadBasisRows(reader);
  }
  ReadTerms(reader, function);
  return function;
}

void WriteSummary(const ModelSummary& summary, ByteWriter& writer) {
  writer.WriteStrings(summary.kernel_names);
  writer.WriteMatrix(summary.kernel_weights);
  writer.WriteInt64(summary.num_support_vectors);
}

ModelSummary ReadSummary(ByteReader& reader) {
  ModelSummary summary;
  summary.kernel_names = reader.ReadStrings();
  summary.kernel_weights = reader.ReadMatrix();
  summary.num_support_vectors = reader.ReadInt64();
  return summary;
}

void WriteFeatures(const ModelFunction& function, const ModelSummary& summary, ByteWriter& writer) {
  writer.WriteUint64(function.feature_terms.size());
  for (const FeatureTerm& term : function.feature_terms) {
    WriteFeatureTerm(term, writer);
  }
  writer.WriteStrings(summary.feature_names);
  writer.WriteMatrix(summary.feature_weights);
}

void ReadFeatures(ByteReader& reader, ModelFunction& function, ModelSummary& summary) {
  const uint64_t count = reader.ReadUint64();
  for (uint64_t t = 0; t < count && reader.ok(); ++t) {
    function.feature_terms.push_back(ReadFeatureTerm(reader));
  }
  summary.feature_names = reader.ReadStrings();
  summary.feature_weights = reader.ReadMatrix();
}

void WritePoint(const TrainedPoint& point, ByteWriter& writer) {
  writer.WriteUint64(point.function.bases.size());
  for (const Basis& basis : point.function.bases) {
    writer.WriteIndices(basis.training_rows);
    if (basis.training_rows.empty()) {
      WriteBasisRows(*basis.data, writer);
    } else {
      writer.WriteStrings(BlockNames(*basis.data));
    }
  }
  WriteTerms(point.function, writer);
  WriteSummary(point.summary, writer);
  WriteFeatures(point.function, point.summary, writer);
  writer.WriteString(SaveWitness(point.witness));
  writer.WriteBool(point.limit_reached.has_value());
  if (point.limit_reached.has_value()) {
    writer.WriteString(point.limit_reached->name);
    writer.WriteDouble(point.limit_reached->value);
  }
}

TrainedPoint ReadPoint(const PreparedData& inputs, ByteReader& reader) {
  TrainedPoint point;
  const uint64_t num_bases = reader.ReadUint64();
  for (uint64_t b = 0; b < num_bases && reader.ok(); ++b) {
    Basis& basis = point.function.bases.emplace_back();
    basis.training_rows = reader.ReadIndices();
    if (basis.training_rows.empty()) {
      basis.data = ReadBasisRows(reader);
      continue;
    }
    const std::vector<std::string> blocks = reader.ReadStrings();
    if (!HasBasis(inputs, basis.training_rows, blocks)) {
      reader.Fail();
    }
    basis = BasisByNumber(std::move(basis.training_rows), blocks);
  }
  ReadTerms(reader, point.function);
  point.summary = ReadSummary(reader);
  ReadFeatures(reader, point.function, point.summary);
  absl::StatusOr<Witness> witness = LoadWitness(reader.ReadString());
  if (reader.ReadBool()) {
    Metric& limit = point.limit_reached.emplace();
    limit.name = reader.ReadString();
    limit.value = reader.ReadDouble();
  }
  if (!reader.ok() || !witness.ok() || !FunctionFits(point.function)) {
    reader.Fail();
    return {};
  }
  point.witness = *std::move(witness);
  return point;
}

}  // namespace mercer
