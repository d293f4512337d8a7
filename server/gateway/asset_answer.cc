#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/base/status/errors.h"
#include "server/gateway/assets.h"
#include "server/gateway/http/error_answer.h"
#include "server/gateway/http/url.h"

namespace mercer::gateway {
namespace {

constexpr std::string_view kPage = "/index.html";
// The page runs nothing and loads nothing but what comes from here.
constexpr char kContentPolicy[] =
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action "
    "'none'; "
    "frame-ancestors 'none'";

struct ContentType {
  std::string_view ending;
  const char* type;
};

constexpr std::array kContentTypes = {
    ContentType{".html", "text/html; charset=utf-8"},
    ContentType{".js", "text/javascript; charset=utf-8"},
    ContentType{".css", "text/css; charset=utf-8"},
    ContentType{".svg", "image/svg+xml"},
    ContentType{".png", "image/png"},
    ContentType{".ico", "image/x-icon"},
    ContentType{".json", "application/json"},
    ContentType{".map", "application/json"},
    ContentType{".webmanifest", "application/manifest+json"},
    ContentType{".woff2", "font/woff2"},
    ContentType{".txt", "text/plain; charset=utf-8"},
};

const char* TypeOf(std::string_view path) {
  const auto found = std::find_if(
      kContentTypes.begin(), kContentTypes.end(),
      [path](const ContentType& one) { return absl::EndsWith(View(path), View(one.ending)); });
  return found == kContentTypes.end() ? "application/octet-stream" : found->type;
}

// A path that names a file in some roundabout way is none of a file.
bool IsPlain(const std::string& path) {
  if (path.empty() || path[0] != '/' ||
      path.find_first_of(std::string_view("\\\0", 2)) != std::string::npos) {
    return false;
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  return std::none_of(parts.begin(), parts.end(),
                      [](absl::string_view part) { return part == "." || part == ".."; });
}

bool TakesGzip(const RequestHead& request) {
  for (const std::string_view value : request.FindAll("accept-encoding")) {
    for (const absl::string_view one : absl::StrSplit(View(value), ',')) {
      const std::string coding(absl::StripAsciiWhitespace(one.substr(0, one.find(';'))));
      const bool refused = absl::StrContains(one, "q=0") && !absl::StrContains(one, "q=0.");
      if ((coding == "gzip" || coding == "*") && !refused) {
        return true;
      }
    }
  }
  return false;
}

// What gzip made smaller; empty when it is no gzip, which the build rules out.
std::string Inflate(std::string_view compressed) {
  google::protobuf::io::ArrayInputStream bytes(compressed.data(),
                                               static_cast<int>(compressed.size()));
  google::protobuf::io::GzipInputStream inflated(&bytes);
  std::string text;
  const void* piece = nullptr;
  int size = 0;
  while (inflated.Next(&piece, &size)) {
    text.append(static_cast<const char*>(piece), static_cast<size_t>(size));
  }
  return inflated.ZlibErrorCode() == Z_STREAM_END ? text : "";
}

bool HasNamed(const RequestHead& request, const std::string& etag) {
  const std::string_view known = request.Find("if-none-match");
  return known == "*" || absl::StrContains(View(known), etag);
}

Answer AnswerWithFile(const Asset& asset, const RequestHead& request) {
  const bool as_gzip = asset.gzip && TakesGzip(request);
  const std::string etag = absl::StrCat("\"", View(asset.digest), as_gzip ? "-gzip\"" : "\"");
  const bool has_hash = absl::StartsWith(View(asset.path), "/assets/");
  Answer answer;
  answer.headers = {
      {"Content-Type", TypeOf(asset.path)},
      {"ETag", etag},
      {"Vary", "Accept-Encoding"},
      // Names under assets change with their content.
      {"Cache-Control", has_hash ? "public, max-age=31536000, immutable" : "no-cache"},
      {"Content-Security-Policy", kContentPolicy}};
  if (HasNamed(request, etag)) {
    answer.status = 304;
    return answer;
  }
  if (as_gzip) {
    answer.headers.emplace_back("Content-Encoding", "gzip");
  }
  if (asset.gzip && !as_gzip) {
    answer.body = Inflate(asset.content);
  } else {
    answer.fixed_body = asset.content;
  }
  return answer;
}

}  // namespace

const Asset* FindBuiltInAsset(std::string_view path) {
  const absl::Span<const Asset> assets = BuiltInAssets();
  const auto found = std::find_if(assets.begin(), assets.end(),
                                  [path](const Asset& asset) { return asset.path == path; });
  return found == assets.end() ? nullptr : &*found;
}

Answer AnswerAsset(const AssetFinder& find, const RequestHead& request, std::string_view path) {
  const std::optional<std::string> decoded = DecodePercents(path, /*plus_is_space=*/false);
  const bool plain = decoded.has_value() && IsPlain(*decoded);
  const bool is_page = plain && decoded->find('.', decoded->rfind('/')) == std::string::npos;
  const Asset* asset = !plain ? nullptr : find(is_page ? kPage : std::string_view(*decoded));
  if (asset != nullptr) {
    return AnswerWithFile(*asset, request);
  }
  if (is_page && find(kPage) == nullptr) {
    return MakeAnswer(
        "mercer-server works, but was built without its dashboard; the API is under /v1\n",
        "text/plain; charset=utf-8");
  }
  return ErrorAnswer(WithReason(absl::NotFoundError("there is no such path"), "NO_SUCH_PATH"));
}

}  // namespace mercer::gateway
