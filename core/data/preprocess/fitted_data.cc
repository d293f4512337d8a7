#include "core/data/preprocess/fitted_data.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/memory/shared_cache.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/table_writer.h"

namespace mercer {
namespace {

// Of one data set. Beside a training on a larger one its preprocessing takes little time.
constexpr size_t kMostKeptBytes = size_t{16} << 20;

// A hash of the content that names preprocessing in cache keys: FNV-1a, twice with different
// starts.
std::string ContentHash(std::string_view bytes) {
  uint64_t first = 14695981039346656037ULL;
  uint64_t second = 1099511628211ULL ^ bytes.size();
  for (const char byte : bytes) {
    first = (first ^ static_cast<uint8_t>(byte)) * 1099511628211ULL;
    second = (second ^ static_cast<uint8_t>(byte)) * 11400714819323198485ULL;
  }
  return absl::StrCat(absl::Hex(first), absl::Hex(second));
}

// All that the content of prepared data depends on besides the data set.
std::string SaveWithRepairs(const Preprocessing& preprocessing) {
  ByteWriter writer;
  WriteFields(preprocessing, writer);
  if (!preprocessing.repairs().empty()) {
    FieldWriter visit(writer);
    Preprocessing::VisitRepairs(visit, preprocessing);
  }
  return std::move(writer).Take();
}

// Rows held out may hold categories that training does not know; the model's own rule for them is meant for other rows.
absl::StatusOr<std::shared_ptr<const FittedData>> Fit(const DataToFit& data, RunContext& context) {
  const Dataset& dataset = *data.dataset;
  FittedData fitted;
  MERCER_ASSIGN_OR_RETURN(fitted.preprocessing,
                          Preprocessing::Fit(dataset, *data.rows, *data.options, context));
  MERCER_RETURN_IF_ERROR(
      fitted.preprocessing.FitRepairs(dataset, *data.rows, data.kernel_blocks, context));
  const bool holds_out = static_cast<Index>(data.rows->size()) < dataset.rows;
  const Preprocessing applied =
      holds_out ? fitted.preprocessing.WithUnseenCategory(UnseenCategory::kAllZeros)
                : fitted.preprocessing;
  MERCER_ASSIGN_OR_RETURN(fitted.prepared, applied.ApplyToFitted(dataset, context));
  if (!data.digest.empty()) {
    fitted.prepared.cache_key =
        absl::StrCat(data.digest, "/", ContentHash(SaveWithRepairs(applied)));
  }
  return std::make_shared<const FittedData>(std::move(fitted));
}

bool AreAllInOrder(const std::vector<Index>& rows, const Dataset& dataset) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != static_cast<Index>(i)) {
      return false;
    }
  }
  return static_cast<Index>(rows.size()) == dataset.rows;
}

// Names all that the result depends on; empty when it is not to be kept. Of precomputed kernels nothing is: they are large, and
// which of them are repaired depends on the kernels that read them.
std::string KeyOf(const DataToFit& data) {
  if (data.digest.empty() || !data.dataset->squares.empty() ||
      !AreAllInOrder(*data.rows, *data.dataset)) {
    return "";
  }
  ByteWriter writer;
  WriteFields(*data.options, writer);
  return absl::StrCat(data.digest, "/fitted/", std::move(writer).Take());
}

// What is kept takes memory of its own, and neither a mapped file of the data set nor a scratch file of the run.
size_t KeptBytes(const FittedData& fitted, const Dataset& dataset) {
  size_t bytes = 0;
  for (const PreparedBlock& block : fitted.prepared.blocks) {
    for (const FeatureBlock& source : dataset.blocks) {
      if (!source.is_sparse && source.values.view().data() == block.values.view().data()) {
        return SharedCache::kNotKept;
      }
    }
    if (block.values.in_file()) {
      return SharedCache::kNotKept;
    }
    bytes += TableBytes(block.values.rows(), block.values.cols());
    for (const std::string& name : block.sources) {
      bytes += 2 * (sizeof(std::string) + name.size());  // in the preprocessing, too
    }
  }
  bytes += static_cast<size_t>(fitted.preprocessing.num_outputs()) * sizeof(ColumnTransform);
  return bytes <= kMostKeptBytes ? bytes : SharedCache::kNotKept;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FittedData>> FitData(const DataToFit& data,
                                                          RunContext& context) {
  return context.cache().GetOrMake<FittedData>(
      KeyOf(data), [&](const FittedData& fitted) { return KeptBytes(fitted, *data.dataset); },
      [&] { return Fit(data, context); });
}

}  // namespace mercer
