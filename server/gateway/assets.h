// The dashboard's files.
#pragma once

#include <functional>
#include <string_view>

#include "absl/types/span.h"

#include "server/gateway/http/exchange.h"

namespace mercer::gateway {

// Texts that live as long as the program.
struct Asset {
  std::string_view path;     // "/assets/main-4f3a.js"
  std::string_view content;  // as it is, or compressed with gzip when that is shorter
  bool gzip = false;
  std::string_view digest;  // of the content, in hexadecimal
};

// Null: there is no such file.
using AssetFinder = std::function<const Asset*(std::string_view path)>;

// The files that the program was built with; none when it was built without the dashboard. cmake/EmbedAssets.cmake writes the list.
absl::Span<const Asset> BuiltInAssets();
const Asset* FindBuiltInAsset(std::string_view path);

// Answers a GET or HEAD of `path`, which is not decoded: the file; for a path without a dot in its last segment the page,
// which then shows what the path names; else an error.
Answer AnswerAsset(const AssetFinder& find, const RequestHead& request, std::string_view path);

}  // namespace mercer::gateway
