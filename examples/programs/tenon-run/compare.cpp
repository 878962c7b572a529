// SPDX-License-Identifier: MIT
#include "compare.hpp"

#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::run {
namespace {

using host::detail::short_text;

std::string mismatch_line(const host::Mismatch& mismatch) {
  return concat("at ", shape_text(mismatch.index), " found ", mismatch.found, ", expected ",
                mismatch.expected);
}

}  // namespace

std::string report(const host::Comparison& comparison) {
  if (!comparison.difference.empty()) return "differs: " + comparison.difference;
  const std::string tolerance = concat("rtol ", short_text(comparison.tolerance.rtol), ", atol ",
                                       short_text(comparison.tolerance.atol));
  const auto largest = [&](std::string_view kind, double value) {
    return concat("largest ", kind, " difference ", short_text(value));
  };
  if (comparison.equal) {
    if (!comparison.largest_absolute) {
      return concat("equal: ", comparison.num_elements, " elements, no difference");
    }
    return concat("equal: ", comparison.num_elements, " elements within ", tolerance, "; ",
                  largest("absolute", comparison.largest_absolute->absolute));
  }
  const double percent = 100.0 * static_cast<double>(comparison.num_mismatches) /
                         static_cast<double>(comparison.num_elements);
  std::string out = concat("differs: ", comparison.num_mismatches, " of ", comparison.num_elements,
                           " elements (", short_text(percent), " %) beyond ", tolerance);
  if (comparison.largest_absolute) {
    out += concat("\n  ", largest("absolute", comparison.largest_absolute->absolute), " ",
                  mismatch_line(*comparison.largest_absolute));
  }
  if (comparison.largest_relative) {
    out += concat("\n  ", largest("relative", comparison.largest_relative->relative), " ",
                  mismatch_line(*comparison.largest_relative));
  }
  for (const host::Mismatch& mismatch : comparison.first) out += "\n  " + mismatch_line(mismatch);
  const std::uint64_t more = comparison.num_mismatches - comparison.first.size();
  if (more > 0) out += concat("\n  and ", more, " more");
  return out;
}

}  // namespace tenon::run
