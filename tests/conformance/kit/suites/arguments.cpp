// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/case/input_sizes.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/fixtures/wrong_calls.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "arguments": how `execute` treats its memory, and arguments that the program was not
/// lowered for.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(arguments)

namespace {

[[nodiscard]] bool is_filled(std::span<const std::byte> bytes, std::byte fill) noexcept {
  return std::ranges::all_of(bytes, [fill](std::byte byte) { return byte == fill; });
}

/// The first element that two calls left unchanged, or the number of elements.
[[nodiscard]] std::size_t first_unwritten(const OutputImage& one, std::byte fill,
                                          const OutputImage& two, std::byte other) noexcept {
  const std::size_t count = std::min(one.nbytes, two.nbytes) / one.element;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const std::byte> before(one.bytes.data() + i * one.element, one.element);
    const std::span<const std::byte> after(two.bytes.data() + i * one.element, one.element);
    if (is_filled(before, fill) && is_filled(after, other)) return i;
  }
  return one.nbytes / one.element;
}

/// Runs the case with tensors that are described as `other`: inputs, outputs, then both. A refusal
/// is no finding; outputs that differ break `rule`.
void judge_description(Context& kit, const char* rule, OtherDescription other,
                       std::string_view what) {
  std::vector<std::byte> expected;
  {
    LiveCase usual(kit, {.guarded = true});
    usual.need_execute(*usual.runs().front());
    expected = kit.need(usual.method().output_bytes(), "the outputs of the case");
  }
  bool any = false;
  for (const char* of : {"the inputs", "the outputs", "all tensors"}) {
    other.inputs = of != std::string_view("the outputs");
    other.outputs = of != std::string_view("the inputs");
    LiveCase guarded(kit, {.guarded = true});
    guarded.settings().other = other;
    const CaseRun& run = *guarded.runs().front();
    const Status status = guarded.execute(run);
    if (!guarded.guards().described_otherwise()) continue;
    any = true;
    if (!status.ok()) continue;
    if (kit.need(guarded.method().output_bytes(), "the outputs of the case") == expected) continue;
    if (run.expected.empty()) {
      kit.expect(rule, !kit.backend().deterministic, "with ", what, " of ", of,
                 ", execute gives other outputs than without");
      continue;
    }
    const auto tolerances = kit.backend().tolerances_for(kit.of_case());
    for (const OutputComparison& output :
         kit.need(guarded.method().differences(run, tolerances), "the outputs of the case")) {
      kit.violated(rule, "with ", what, " of ", of,
                   ", execute neither fails nor is right: ", output.text);
    }
  }
  if (!any) kit.not_applicable("no tensor of the case can have ", what);
}

}  // namespace

TENON_CONFORMANCE_TEST("arguments/leaves-inputs-unchanged", "a run leaves its inputs unchanged",
                       "[arguments][level-4][case][TN-EXE-2][TN-TEN-1]") {
  LiveCase guarded(kit, {.guarded = true});
  guarded.settings().protect_inputs = true;
  for (const CaseRun* run : guarded.runs()) guarded.need_execute(*run);
}

TENON_CONFORMANCE_TEST("arguments/writes-outputs-completely",
                       "a run writes every element of its outputs and nothing else",
                       "[arguments][level-4][case][TN-EXE-6]") {
  constexpr std::byte fills[] = {std::byte{0xA5}, std::byte{0x5A}};
  LiveCase guarded(kit, {.guarded = true});
  for (const CaseRun* run : guarded.runs()) {
    std::vector<OutputImage> images[2];
    for (std::size_t time = 0; time < 2; ++time) {
      guarded.settings().fill = fills[time];
      guarded.need_execute(*run);
      images[time] = guarded.guards().images();
    }
    for (std::size_t i = 0; i < std::min(images[0].size(), images[1].size()); ++i) {
      const OutputImage& image = images[0][i];
      const std::size_t element = first_unwritten(image, fills[0], images[1][i], fills[1]);
      kit.expect("TN-EXE-6", element == image.nbytes / image.element, "argument ", image.argument,
                 " of call ", image.call, ": element ", element, " of ",
                 image.nbytes / image.element, " was not written");
    }
  }
}

TENON_CONFORMANCE_TEST("arguments/stays-in-bounds",
                       "a run reads and writes nothing outside of its arguments",
                       "[arguments][level-4][case][TN-EXE-5][TN-EXE-6]") {
  LiveCase guarded(kit, {.guarded = true});
  guarded.settings().place = Placement::at_end;
  for (const CaseRun* run : guarded.runs()) guarded.need_execute(*run);
}

TENON_CONFORMANCE_TEST("arguments/accepts-element-alignment",
                       "data that are aligned to their elements alone are accepted",
                       "[arguments][level-4][case][TN-TEN-4]") {
  LiveCase guarded(kit, {.guarded = true});
  const CaseRun& run = *guarded.runs().front();
  guarded.need_execute(run);
  for (const Placement place : {Placement::misaligned, Placement::at_end}) {
    guarded.settings().place = Placement::aligned;
    guarded.need_execute(run);
    guarded.settings().place = place;
    const Status status = guarded.execute(run);
    kit.expect("TN-TEN-4", status.ok(), "data that begin ",
               place == Placement::misaligned ? "one element behind a multiple of 64"
                                              : "at a multiple of the size of an element",
               " were refused: ", status.text());
  }
}

TENON_CONFORMANCE_TEST("arguments/honours-byte-offset",
                       "elements behind a byte offset are found, or the call is refused",
                       "[arguments][level-4][case][TN-TEN-5]") {
  judge_description(kit, "TN-TEN-5", {.byte_offset = 64}, "a byte_offset of 64");
}

TENON_CONFORMANCE_TEST("arguments/honours-strides",
                       "elements in another order in memory are found, or the call is refused",
                       "[arguments][level-4][case][TN-TEN-6]") {
  judge_description(kit, "TN-TEN-6", {.reversed = true}, "the opposite dim_order");
}

TENON_CONFORMANCE_TEST("arguments/resizes-through-host", "sizes change through the host alone",
                       "[arguments][level-4][case][TN-TEN-2]") {
  LiveCase guarded(kit, {.guarded = true});
  guarded.settings().protect_sizes = true;
  for (const CaseRun* run : guarded.runs()) guarded.need_execute(*run);
}

TENON_CONFORMANCE_TEST("arguments/accepts-sizes-in-bounds", "sizes within the bounds are accepted",
                       "[arguments][level-4][case][TN-EXE-10]") {
  LiveCase guarded(kit, {.guarded = true});
  std::vector<const CaseRun*> runs = guarded.runs();
  runs.insert(runs.begin(), runs.front());  // Another test judges delegates that run only once.
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Status status = guarded.execute(*runs[i]);
    if (status.ok()) continue;
    const bool same_as_before = i == 1;
    if (same_as_before || !kit.findings().empty() || !guarded.method().has_smaller_inputs()) {
      kit.blocked("a run of the case failed: ", status.text());
    }
    kit.violated("TN-EXE-10", status.text());
    return;
  }
}

TENON_CONFORMANCE_TEST("arguments/accepts-largest-sizes",
                       "the largest sizes of a dynamic shape are accepted",
                       "[arguments][level-5][case][TN-EXE-10]") {
  LiveCase guarded(kit, {.guarded = true});
  // Another test judges delegates that run only once.
  for (int i = 0; i < 2; ++i) guarded.need_execute(*guarded.runs().front());
  const std::size_t most = std::size_t{kit.options().level >= 10 ? 256U : 16U} << 20;
  LargestInputs inputs(guarded.method().method(), most);
  if (inputs.size() == 0) {
    kit.not_applicable("no input has a dynamic shape with bounds of at most ", most, " bytes");
  }
  kit.need(inputs.set(), "inputs at their bounds");
  const Status status = guarded.execute();
  if (!kit.findings().empty()) return;
  kit.expect("TN-EXE-10", status.ok(), "inputs of dynamic shape at their bounds: ", status.text());
}

TENON_CONFORMANCE_TEST("arguments/refuses-wrong-arguments", "wrong arguments are refused",
                       "[arguments][level-4][case][TN-EXE-5][TN-ERR-1][TN-ERR-2]") {
  LiveCase guarded(kit, {.guarded = true});
  WrongCalls wrong(kit, guarded, *guarded.runs().front());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const WrongAnswer answer = wrong.execute(i);
    kit.expect("TN-EXE-5", !answer.accepted, "execute succeeded though ", wrong[i].text);
  }
}

TENON_CONFORMANCE_TEST("arguments/recovers-after-refusal",
                       "a refused run does not change the next one",
                       "[arguments][level-4][case][TN-EXE-3]") {
  LiveCase guarded(kit, {.guarded = true});
  const CaseRun& run = *guarded.runs().front();
  const auto outputs = [&] { return kit.need(guarded.method().output_bytes(), "the outputs"); };
  guarded.need_execute(run);
  const std::vector<std::byte> expected = outputs();
  WrongCalls wrong(kit, guarded, run);
  // A program with state gives different outputs each time.
  const bool repeats = kit.backend().deterministic && outputs() == expected;
  const std::size_t step = kit.options().level >= 7 ? 1 : wrong.size() / 12 + 1;
  for (std::size_t i = 0; i < wrong.size(); i += step) {
    if (wrong.execute(i).accepted) kit.blocked("execute succeeded though ", wrong[i].text);
    const Status status = guarded.execute(run);
    if (!kit.expect("TN-EXE-3", status.ok(), "after a call was refused because ", wrong[i].text,
                    ", the next one with good arguments failed: ", status.text())) {
      return;
    }
    if (repeats && outputs() != expected) {
      kit.violated("TN-EXE-3", "after a call was refused because ", wrong[i].text,
                   ", the next one gave other outputs than before");
      return;
    }
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
