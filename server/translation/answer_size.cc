#include "server/translation/answer_size.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/status/errors.h"
#include "core/training/terms/learned_gradient.h"

namespace mercer::server {
namespace {

// The shares of all terms, those that are one thing in several terms counted once, and the bias.
int64_t CountContributions(const Model& model) {
  HashSet<std::string> joined;
  int64_t others = 0;
  for (const std::shared_ptr<const Term>& term : model.function.terms) {
    for (TermShare& share : term->Shares(PreparedData())) {
      if (share.joins_its_name) {
        joined.insert(std::move(share.name));
      } else {
        ++others;
      }
    }
  }
  return static_cast<int64_t>(joined.size()) + others + 1;
}

// Numbers in the answer to one row. Beyond any limit it need not be exact, but it never wraps round.
double ValuesPerRow(const Model& model, const PredictOptions& asked) {
  const int64_t matrices = asked.contributions ? 1 + CountContributions(model) : 1;
  double values = static_cast<double>(matrices) * static_cast<double>(model.function.num_outputs());
  for (const Term* term : WithGradients(model.function.terms)) {
    values += asked.gradients ? static_cast<double>(term->gradient()->columns.size()) : 0;
    values += asked.projections ? static_cast<double>(term->gradient()->directions.cols()) : 0;
  }
  return values;
}

// What the names of the columns of gradients take in each answer at most.
double GradientNameBytes(const Model& model, const PredictOptions& asked) {
  double bytes = 0;
  const std::vector<std::string> names = model.preprocessing.OutputNames();
  if ((asked.gradients || asked.projections) && !names.empty()) {
    for (const Term* term : WithGradients(model.function.terms)) {
      for (const Index column : term->gradient()->columns) {
        constexpr double kTagAndLength = 6;
        bytes += static_cast<double>(names[static_cast<size_t>(column)].size()) + kTagAndLength;
      }
    }
  }
  return bytes;
}

}  // namespace

absl::Status CheckMessageSize(const google::protobuf::Message& answer, int64_t limit_bytes) {
  const size_t bytes = answer.ByteSizeLong();
  if (bytes <= static_cast<size_t>(limit_bytes)) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::ResourceExhaustedError(
          absl::StrCat("the answer has ", bytes, " bytes, a message at most ", limit_bytes)),
      "RESPONSE_TOO_LARGE",
      {{"limit_bytes", absl::StrCat(limit_bytes)}, {"got_bytes", absl::StrCat(bytes)}});
}

absl::Status CheckAnswerSize(const Model& model, const PredictOptions& asked, Index rows,
                             int64_t limit_bytes) {
  const double values = ValuesPerRow(model, asked) * static_cast<double>(rows);
  if (values * sizeof(double) <= static_cast<double>(limit_bytes)) {
    return absl::OkStatus();
  }
  const Index outputs = model.function.num_outputs();
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat(
          "the answer to ", rows, " rows with ", outputs, " outputs",
          asked.contributions ? " and the contributions of each kernel" : "",
          asked.gradients ? " and the gradients" : "",
          asked.projections ? " and the projections" : "", " exceeds the limit of ", limit_bytes,
          " bytes of a message: send fewer rows at a time, over PredictStream")),
      "RESPONSE_TOO_LARGE",
      {{"rows", absl::StrCat(rows)},
       {"outputs", absl::StrCat(outputs)},
       {"limit_bytes", absl::StrCat(limit_bytes)},
       {"use", "PredictStream"}});
}

Index RowsPerAnswer(const Model& model, const PredictOptions& asked, Index most,
                    int64_t limit_bytes) {
  size_t label_bytes = 0;
  for (const std::string& label : model.coding.classes()) {
    label_bytes = std::max(label_bytes, label.size());
  }
  // Tag and length of a label, and the names of outputs and kernels, have the other half. Of gradients there may be many names.
  const double row_bytes =
      ValuesPerRow(model, asked) * sizeof(double) + static_cast<double>(label_bytes) + 6;
  const auto limit = static_cast<double>(limit_bytes);
  const double rows = std::min(limit / 2, limit - GradientNameBytes(model, asked)) / row_bytes;
  return rows >= static_cast<double>(most) ? most : std::max<Index>(1, static_cast<Index>(rows));
}

}  // namespace mercer::server
