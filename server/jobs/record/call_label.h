// The label of jobs that a call waits for: they are nobody's after it, and are deleted with it.
#pragma once

namespace mercer::server {

// No request may name it.
inline constexpr char kCallLabel[] = "mercer_call";
inline constexpr char kCallLabelValue[] = "true";

}  // namespace mercer::server
