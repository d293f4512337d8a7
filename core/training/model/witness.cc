#include "core/training/model/witness.h"

#include "core/base/status/status_macros.h"
#include "core/training/encoding/encoding.h"

namespace mercer {
namespace {

constexpr std::string_view kWitnessMagic = "MRCRWITN";
constexpr uint64_t kFormatVersion = 1;

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
  return FramePayload(kWitnessMagic, kFormatVersion, SaveFields(witness, 0));
}

absl::StatusOr<Witness> LoadWitness(std::string_view bytes) {
  MERCER_ASSIGN_OR_RETURN(const std::string_view payload,
                          UnframePayload(kWitnessMagic, kFormatVersion, "witness", bytes));
  Witness witness;
  if (!LoadFields(payload, witness, 0)) {
    return absl::DataLossError("not a readable witness: its content is inconsistent");
  }
  return witness;
}

}  // namespace mercer
