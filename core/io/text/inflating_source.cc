#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <zlib.h>

#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"
#include "core/io/text/readers.h"

namespace mercer {
namespace {

constexpr unsigned char kGzipMagic[2] = {0x1F, 0x8B};

class InflatingSource : public ByteSource {
 public:
  InflatingSource(std::unique_ptr<ByteSource> inner, size_t max_bytes)
      : inner_(std::move(inner)), max_bytes_(max_bytes), input_(kInputBytes) {}
  InflatingSource(const InflatingSource&) = delete;
  InflatingSource& operator=(const InflatingSource&) = delete;
  ~InflatingSource() override {
    if (mode_ == Mode::kInflate) {
      inflateEnd(&stream_);
    }
  }

  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    if (mode_ == Mode::kUnknown) {
      MERCER_RETURN_IF_ERROR(ChooseMode());
    }
    return mode_ == Mode::kInflate ? Inflate(buffer, capacity) : PassThrough(buffer, capacity);
  }

 private:
  enum class Mode { kUnknown, kPassThrough, kInflate };
  static constexpr size_t kInputBytes = size_t{1} << 16;

  absl::Status ChooseMode() {
    while (available_ < sizeof(kGzipMagic) && !ended_) {
      MERCER_RETURN_IF_ERROR(ReadMore());
    }
    const bool is_gzip =
        available_ >= 2 && std::memcmp(input_.data(), kGzipMagic, sizeof(kGzipMagic)) == 0;
    if (available_ == 1 && static_cast<unsigned char>(input_[0]) == kGzipMagic[0]) {
      return GzipError("the stream is cut off");  // no text begins with this byte
    }
    mode_ = is_gzip ? Mode::kInflate : Mode::kPassThrough;
    // The largest window, with the header and checksum of gzip.
    constexpr int kGzipWindow = 15 + 16;
    if (is_gzip && inflateInit2(&stream_, kGzipWindow) != Z_OK) {
      mode_ = Mode::kUnknown;
      return absl::ResourceExhaustedError("no memory to inflate gzip");
    }
    return absl::OkStatus();
  }

  // Appends to the input behind what is unused.
  absl::Status ReadMore() {
    std::memmove(input_.data(), input_.data() + position_, available_);
    position_ = 0;
    MERCER_ASSIGN_OR_RETURN(const size_t got,
                            inner_->Read(input_.data() + available_, kInputBytes - available_));
    available_ += got;
    ended_ = got == 0;
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> PassThrough(char* buffer, size_t capacity) {
    if (available_ == 0) {
      return inner_->Read(buffer, capacity);
    }
    const size_t count = std::min(capacity, available_);
    std::memcpy(buffer, input_.data() + position_, count);
    position_ += count;
    available_ -= count;
    return count;
  }

  absl::StatusOr<size_t> Inflate(char* buffer, size_t capacity) {
    while (capacity > 0) {
      if (available_ == 0 && !ended_) {
        MERCER_RETURN_IF_ERROR(ReadMore());
      }
      if (available_ == 0) {
        return between_members_ ? absl::StatusOr<size_t>(0) : GzipError("the stream is cut off");
      }
      if (between_members_) {
        inflateReset(&stream_);
        between_members_ = false;
      }
      MERCER_ASSIGN_OR_RETURN(const size_t produced, InflateOnce(buffer, capacity));
      if (produced > 0) {
        return produced;
      }
    }
    return 0;
  }

  absl::StatusOr<size_t> InflateOnce(char* buffer, size_t capacity) {
    constexpr size_t kLargestStep = size_t{1} << 30;
    const size_t step = std::min(capacity, kLargestStep);
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data() + position_);
    stream_.avail_in = static_cast<uInt>(available_);
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = static_cast<uInt>(step);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return GzipError(absl::StrCat("the stream is damaged: ",
                                    stream_.msg == nullptr ? "no detail" : stream_.msg));
    }
    between_members_ = result == Z_STREAM_END;
    position_ += available_ - stream_.avail_in;
    available_ = stream_.avail_in;
    const size_t produced = step - stream_.avail_out;
    total_ += produced;
    if (total_ > max_bytes_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("gzip: more than ", max_bytes_, " bytes when inflated"));
    }
    return produced;
  }

  std::unique_ptr<ByteSource> inner_;
  size_t max_bytes_;
  Mode mode_ = Mode::kUnknown;
  std::vector<char> input_;  // [position_, position_ + available_) is unused
  size_t position_ = 0;
  size_t available_ = 0;
  bool ended_ = false;
  bool between_members_ = false;
  size_t total_ = 0;
  z_stream stream_ = {};
};

}  // namespace

std::unique_ptr<ByteSource> MakeInflatingSource(std::unique_ptr<ByteSource> inner,
                                                size_t max_bytes) {
  return std::make_unique<InflatingSource>(std::move(inner), max_bytes);
}

}  // namespace mercer
