// Helpers of the tests of core/data.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <zlib.h>

#include "core/base/status/errors.h"
#include "core/data/table/dataset.h"
#include "core/io/store/dataset_file.h"
#include "core/io/text/readers.h"

namespace mercer {

inline absl::StatusOr<Dataset> ReadCsvText(std::string text, const CsvOptions& options = {}) {
  const std::unique_ptr<ByteSource> source = MakeMemorySource(std::move(text));
  return ReadCsv(*source, options);
}

inline absl::StatusOr<Dataset> ReadSvmlightText(std::string text,
                                                const SvmlightOptions& options = {}) {
  const std::unique_ptr<ByteSource> source = MakeMemorySource(std::move(text));
  return ReadSvmlight(*source, options);
}

// "BAD_CELL row=3 column=age": the reason and metadata of an error, to be compared at once; the
// message for other errors.
inline std::string Describe(const absl::Status& status) {
  if (status.ok()) {
    return "OK";
  }
  std::string text = GetReason(status);
  for (const auto& [key, value] : GetErrorMetadata(status)) {
    text += " " + key + "=" + value;
  }
  return text.empty() ? std::string(status.message()) : text;
}

// gzip of `text` as one member.
inline std::string Gzip(std::string_view text) {
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Hands out at most `step` bytes at a time.
class SlowSource : public ByteSource {
 public:
  SlowSource(std::string bytes, size_t step) : bytes_(std::move(bytes)), step_(step) {}
  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    const size_t count = std::min({capacity, step_, bytes_.size() - position_});
    std::memcpy(buffer, bytes_.data() + position_, count);
    position_ += count;
    return count;
  }

 private:
  std::string bytes_;
  size_t step_;
  size_t position_ = 0;
};

class StringSink : public ByteSink {
 public:
  absl::Status Write(std::string_view bytes) override {
    content.append(bytes);
    return absl::OkStatus();
  }
  std::string content;
};

inline std::string Encode(const Dataset& dataset) {
  StringSink sink;
  return EncodeDataset(dataset, sink).ok() ? sink.content : "";
}

}  // namespace mercer
