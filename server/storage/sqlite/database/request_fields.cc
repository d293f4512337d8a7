#include "server/storage/sqlite/database/request_fields.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include "server/storage/records.h"

namespace mercer::server {
namespace {

// The numbers of the fields display_name and of the name of a version, 0 for none, in TrainRequest, PredictDatasetRequest,
// EvaluateModelRequest and VerifyModelRequest. EvaluateModel and VerifyModel had no display_name then.
struct FieldNumbers {
  JobKind kind;
  uint64_t display_name;
  uint64_t version;
};
constexpr FieldNumbers kFieldNumbers[] = {{JobKind::kTraining, 16, 0},
                                          {JobKind::kPrediction, 8, 1},
                                          {JobKind::kEvaluation, 0, 1},
                                          {JobKind::kVerification, 0, 1}};

constexpr size_t kMaxDisplayNameBytes = 200;

// Takes a number from the front of `bytes`.
std::optional<uint64_t> TakeVarint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  return std::nullopt;
}

// The texts, or messages, of the field. None: the message has none, or cannot be read.
std::vector<std::string_view> FindTexts(std::string_view message, uint64_t number) {
  std::vector<std::string_view> found;
  while (!message.empty()) {
    const std::optional<uint64_t> tag = TakeVarint(message);
    if (!tag.has_value()) {
      return {};
    }
    uint64_t size = 0;
    switch (*tag & 7) {
      case 0:
        if (!TakeVarint(message).has_value()) {
          return {};
        }
        break;
      case 1:
        size = 8;
        break;
      case 2: {
        const std::optional<uint64_t> length = TakeVarint(message);
        size = length.value_or(message.size() + 1);
        break;
      }
      case 5:
        size = 4;
        break;
      default:
        return {};
    }
    if (size > message.size()) {
      return {};
    }
    if (*tag == (number << 3 | 2)) {
      found.push_back(message.substr(0, size));
    }
    message.remove_prefix(size);
  }
  return found;
}

// The last of them; empty: there is none.
std::string_view FindText(std::string_view message, uint64_t number) {
  const std::vector<std::string_view> found = FindTexts(message, number);
  return found.empty() ? std::string_view() : found.back();
}

}  // namespace

RequestFields ReadRequestFields(int64_t kind, std::string_view request) {
  RequestFields fields;
  const auto* const numbers =
      std::find_if(std::begin(kFieldNumbers), std::end(kFieldNumbers),
                   [&](const FieldNumbers& of) { return static_cast<int64_t>(of.kind) == kind; });
  if (numbers == std::end(kFieldNumbers)) {
    return fields;
  }
  if (const std::string_view name = FindText(request, numbers->display_name);
      name.size() <= kMaxDisplayNameBytes) {
    fields.display_name = std::string(name);
  }
  const std::string name(FindText(request, numbers->version));
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  int64_t version = 0;
  if (parts.size() == 4 && parts[0] == "models" && parts[2] == "versions" &&
      absl::SimpleAtoi(parts[3], &version)) {
    fields.model = parts[1];
    fields.version = version;
  }
  return fields;
}

std::vector<std::string> ReadTrainedDatasets(std::string_view summary) {
  constexpr uint64_t kLineage = 18;  // of ModelVersion
  constexpr uint64_t kRequest = 2;   // of Lineage
  constexpr uint64_t kData = 1;      // of TrainRequest
  constexpr uint64_t kDataset = 1;   // of DataInput
  std::vector<std::string> ids;
  for (const std::string_view input :
       FindTexts(FindText(FindText(summary, kLineage), kRequest), kData)) {
    const std::vector<std::string> parts =
        absl::StrSplit(std::string(FindText(input, kDataset)), '/');
    if (parts.size() == 2 && parts[0] == "datasets" && !parts[1].empty()) {
      ids.push_back(parts[1]);
    }
  }
  return ids;
}

}  // namespace mercer::server
