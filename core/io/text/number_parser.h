// Exact decimal numbers: the double nearest to the text (ties to even), as strtod gives it.
#pragma once

#include <string_view>

namespace mercer {

// Reads the longest decimal number [+-]digits[.digits][(e|E)[+-]digits] at `text`, which must be
// followed by a readable byte that belongs to no number (a delimiter, a line end, a NUL). Returns
// the byte after the number, or null when there is none. A number beyond the range of double
// becomes an infinity. "inf", "nan" and hexadecimal forms are no numbers.
const char* ParseNumber(const char* text, double* value);

// Whether the whole of `text`, followed by a byte as above, is a number; infinities by name ("inf",
// "-Infinity") count too.
bool ParseWholeNumber(std::string_view text, double* value);

// Whether `text` is what programs write where a number is missing and what may be a name elsewhere:
// "-", "N/A", "null", "None", ...
bool StandsForNoNumber(std::string_view text);

}  // namespace mercer
