// MERCER_RETURN_IF_ERROR(expression) and MERCER_ASSIGN_OR_RETURN(declaration, expression): leave
// the enclosing function with the status when it is not OK.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define MERCER_STATUS_CONCAT_INNER_(x, y) x##y
#define MERCER_STATUS_CONCAT_(x, y) MERCER_STATUS_CONCAT_INNER_(x, y)

// One level of nesting, so that it fits into two loops of a function.
#define MERCER_RETURN_IF_ERROR(expression)                                 \
  if (::absl::Status mercer_status_ = (expression); mercer_status_.ok()) { \
  } else                                                                   \
    return mercer_status_

#define MERCER_ASSIGN_OR_RETURN_IMPL_(result, declaration, expression) \
  auto result = (expression);                                          \
  if (!result.ok()) {                                                  \
    return std::move(result).status();                                 \
  }                                                                    \
  declaration = *std::move(result)

#define MERCER_ASSIGN_OR_RETURN(declaration, expression)                                         \
  MERCER_ASSIGN_OR_RETURN_IMPL_(MERCER_STATUS_CONCAT_(mercer_status_or_, __LINE__), declaration, \
                                expression)
