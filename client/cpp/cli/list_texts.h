// The flags --filter and --order-by of lists.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace mercer::client {

struct ListTexts {
  std::string filter;
  std::string order_by;
};

inline void AddListTexts(ListTexts& texts, CLI::App& command) {
  command.add_option("--filter", texts.filter,
                     "Only what fulfils this, as 'labels.team = vision AND create_time > "
                     "2026-01-31T00:00:00Z'");
  command.add_option("--order-by", texts.order_by,
                     "create_time or name, with ' desc' behind it for the other direction");
}

template <typename Request>
void SetListTexts(const ListTexts& texts, Request& request) {
  request.set_filter(texts.filter);
  request.set_order_by(texts.order_by);
}

}  // namespace mercer::client
