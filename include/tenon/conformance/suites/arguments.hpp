// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/conformance/guarded_case.hpp"
#include "tenon/conformance/input_sizes.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "arguments": what `execute` does with the memory that it is given.
namespace tenon::conformance {

namespace detail {

/// Whether all of `bytes` are `fill`.
[[nodiscard]] inline bool is_filled(std::span<const std::byte> bytes, std::byte fill) noexcept {
  return std::ranges::all_of(bytes, [fill](std::byte byte) { return byte == fill; });
}

/// The first element that two calls left as they found it, or the number of elements.
[[nodiscard]] inline std::size_t first_unwritten(const OutputImage& one, std::byte fill,
                                                 const OutputImage& two, std::byte other) noexcept {
  const std::size_t count = std::min(one.nbytes, two.nbytes) / one.element;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const std::byte> before(one.bytes.data() + i * one.element, one.element);
    const std::span<const std::byte> after(two.bytes.data() + i * one.element, one.element);
    if (is_filled(before, fill) && is_filled(after, other)) return i;
  }
  return one.nbytes / one.element;
}

}  // namespace detail

TENON_CONFORMANCE_TEST("a run leaves its inputs as they were",
                       "[arguments][level-4][case][TN-EXE-2][TN-TEN-1]") {
  GuardedCase guarded(kit);
  guarded.settings().protect_inputs = true;
  for (const CaseRun* run : guarded.runs()) guarded.need_execute(*run);
}

TENON_CONFORMANCE_TEST("a run writes every element of its outputs and nothing else",
                       "[arguments][level-4][case][TN-EXE-6]") {
  constexpr std::byte fills[] = {std::byte{0xA5}, std::byte{0x5A}};
  GuardedCase guarded(kit);
  for (const CaseRun* run : guarded.runs()) {
    std::vector<OutputImage> images[2];
    for (std::size_t time = 0; time < 2; ++time) {
      guarded.settings().fill = fills[time];
      guarded.need_execute(*run);
      images[time] = guarded.guards().images();
    }
    for (std::size_t i = 0; i < std::min(images[0].size(), images[1].size()); ++i) {
      const OutputImage& image = images[0][i];
      const std::size_t element = detail::first_unwritten(image, fills[0], images[1][i], fills[1]);
      kit.keep("TN-EXE-6", element == image.nbytes / image.element, "argument ", image.argument,
               " of call ", image.call, ": element ", element, " of ", image.nbytes / image.element,
               " was not written");
    }
  }
}

TENON_CONFORMANCE_TEST("a run reads and writes nothing outside of its arguments",
                       "[arguments][level-4][case][TN-EXE-5][TN-EXE-6]") {
  GuardedCase guarded(kit);
  guarded.settings().place = Place::at_end;
  for (const CaseRun* run : guarded.runs()) guarded.need_execute(*run);
}

TENON_CONFORMANCE_TEST("data that are aligned to their elements alone are accepted",
                       "[arguments][level-4][case][TN-TEN-4]") {
  GuardedCase guarded(kit);
  const CaseRun& run = *guarded.runs().front();
  guarded.need_execute(run);
  for (const Place place : {Place::misaligned, Place::at_end}) {
    guarded.settings().place = Place::aligned;
    guarded.need_execute(run);
    guarded.settings().place = place;
    const Status status = guarded.execute(run);
    kit.keep("TN-TEN-4", status.ok(), "data that begin ",
             place == Place::misaligned ? "one element behind a multiple of 64"
                                        : "at a multiple of the size of an element",
             " were refused: ", status.text());
  }
}

TENON_CONFORMANCE_TEST("sizes change through the host alone",
                       "[arguments][level-4][case][TN-TEN-2]") {
  GuardedCase guarded(kit);
  guarded.settings().protect_sizes = true;
  for (const CaseRun* run : guarded.runs()) guarded.need_execute(*run);
}

TENON_CONFORMANCE_TEST("sizes within the bounds are accepted",
                       "[arguments][level-4][case][TN-EXE-10]") {
  GuardedCase guarded(kit);
  std::vector<const CaseRun*> runs = guarded.runs();
  runs.insert(runs.begin(), runs.front());  // A delegate that runs only once is another matter.
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Status status = guarded.execute(*runs[i]);
    if (status.ok()) continue;
    const bool same_as_before = i == 1;
    if (same_as_before || !kit.findings().empty() || !guarded.method().has_smaller_inputs()) {
      kit.blocked("a run of the case failed: ", status.text());
    }
    kit.broke("TN-EXE-10", status.text());
    return;
  }
}

TENON_CONFORMANCE_TEST("the largest sizes of a dynamic shape are accepted",
                       "[arguments][level-5][case][TN-EXE-10]") {
  GuardedCase guarded(kit);
  // A delegate that runs only once is another matter.
  for (int i = 0; i < 2; ++i) guarded.need_execute(*guarded.runs().front());
  const std::size_t most = std::size_t{kit.options().level >= 10 ? 256U : 16U} << 20;
  LargestInputs inputs(guarded.method().method(), most);
  if (inputs.size() == 0) {
    kit.not_applicable("no input has a dynamic shape with bounds of at most ", most, " bytes");
  }
  kit.need(inputs.set(), "inputs at their bounds");
  const Status status = guarded.execute();
  if (!kit.findings().empty()) return;
  kit.keep("TN-EXE-10", status.ok(), "inputs of dynamic shape at their bounds: ", status.text());
}

}  // namespace tenon::conformance
