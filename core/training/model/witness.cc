#include "core/training/model/witness.h"

#include "core/base/encoding/bytes.h"
#include "core/base/status/status_macros.h"
#include "core/training/encoding/encoding.h"

namespace mercer {
namespace {

constexpr std::string_view kWitnessMagic = "MRCRWITN";
constexpr uint64_t kFormatVersion = 1;
// A composite has children; theirs have none yet. Deeper nesting than this is damage.
constexpr int kMaxDepth = 4;

void Write(const Witness& witness, ByteWriter& writer) {
  writer.WriteUint64(witness.tasks.size());
  for (const TaskWitness& task : witness.tasks) {
    writer.WriteMatrix(task.dual);
    writer.WriteVector(task.bias);
  }
  writer.WriteUint64(witness.arrays.size());
  for (const auto& [name, array] : witness.arrays) {
    writer.WriteString(name);
    writer.WriteMatrix(array);
  }
  writer.WriteUint64(witness.values.size());
  for (const auto& [name, value] : witness.values) {
    writer.WriteString(name);
    writer.WriteDouble(value);
  }
  writer.WriteUint64(witness.children.size());
  for (const Witness& child : witness.children) {
    Write(child, writer);
  }
}

Witness Read(int depth, ByteReader& reader) {
  Witness witness;
  const uint64_t num_tasks = reader.ReadUint64();
  for (uint64_t i = 0; i < num_tasks && reader.ok(); ++i) {
    TaskWitness& task = witness.tasks.emplace_back();
    task.dual = reader.ReadMatrix();
    task.bias = reader.ReadVector();
  }
  const uint64_t num_arrays = reader.ReadUint64();
  for (uint64_t i = 0; i < num_arrays && reader.ok(); ++i) {
    auto& [name, array] = witness.arrays.emplace_back();
    name = reader.ReadString();
    array = reader.ReadMatrix();
  }
  const uint64_t num_values = reader.ReadUint64();
  for (uint64_t i = 0; i < num_values && reader.ok(); ++i) {
    auto& [name, value] = witness.values.emplace_back();
    name = reader.ReadString();
    value = reader.ReadDouble();
  }
  const uint64_t num_children = reader.ReadUint64();
  if (num_children > 0 && depth >= kMaxDepth) {
    reader.Fail();
  }
  for (uint64_t i = 0; i < num_children && reader.ok(); ++i) {
    witness.children.push_back(Read(depth + 1, reader));
  }
  return witness;
}

template <typename Pairs>
auto FindByName(const Pairs& pairs, std::string_view name) -> decltype(&pairs[0].second) {
  for (const auto& pair : pairs) {
    if (pair.first == name) {
      return &pair.second;
    }
  }
  return nullptr;
}

}  // namespace

const Matrix* Witness::FindArray(std::string_view name) const { return FindByName(arrays, name); }

const double* Witness::FindValue(std::string_view name) const { return FindByName(values, name); }

std::string SaveWitness(const Witness& witness) {
  ByteWriter writer;
  Write(witness, writer);
  return FramePayload(kWitnessMagic, kFormatVersion, writer.bytes());
}

absl::StatusOr<Witness> LoadWitness(std::string_view bytes) {
  MERCER_ASSIGN_OR_RETURN(const std::string_view payload,
                          UnframePayload(kWitnessMagic, kFormatVersion, "witness", bytes));
  ByteReader reader(payload);
  Witness witness = Read(0, reader);
  if (!reader.AtEnd()) {
    return absl::DataLossError("not a readable witness: its content is inconsistent");
  }
  return witness;
}

}  // namespace mercer
