// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/case_method.hpp"
#include "tenon/conformance/live_case.hpp"
#include "tenon/conformance/loaded_plugin.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "lifecycle": open, init, execute, destroy and close, in every order that is allowed.
namespace tenon::conformance {

TENON_CONFORMANCE_TEST("the backend opens and closes again and again",
                       "[lifecycle][level-3][backend][TN-BCK-5]") {
  for (int round = 0; round < 10; ++round) {
    const OpenedBackend backend(kit);
    static_cast<void>(backend.backend().is_available());
  }
}

TENON_CONFORMANCE_TEST("two hosts open the backend at a time",
                       "[lifecycle][level-3][backend][TN-BCK-9]") {
  const OpenedBackend first(kit);
  const Status before = first.backend().is_available();
  {
    const OpenedBackend second(kit);
    kit.keep("TN-BCK-9", second.backend().is_available().error() == before.error(),
             "the second host gets another answer from is_available than the first");
  }
  kit.keep("TN-BCK-9", first.backend().is_available().error() == before.error(),
           "is_available has another answer once a second host has closed the backend");
}

TENON_CONFORMANCE_TEST("a program runs again and again", "[lifecycle][level-3][case][TN-EXE-1]") {
  LiveCase live(kit);
  const auto method = live.load();
  kit.need(method->execute(method->runs().front()), "the case does not run");
  const int times = kit.options().level >= 10 ? 1000 : 20;
  for (int i = 2; i <= times; ++i) {
    const Status again = method->execute(method->runs().front());
    if (!kit.keep("TN-EXE-1", again.ok(), "run ", i, " failed: ", again.text())) return;
  }
}

TENON_CONFORMANCE_TEST("a program is loaded and destroyed again and again",
                       "[lifecycle][level-3][case][TN-INI-4]") {
  LiveCase live(kit);
  auto first = live.load();
  const auto expected = live.run(*first);
  first.reset();
  const int times = kit.options().level >= 10 ? 100 : 5;
  for (int i = 0; i < times; ++i) {
    const auto again = live.load();
    if (!kit.backend().deterministic) continue;
    kit.keep("TN-EXE-8", live.run(*again) == expected, "load ", i + 2,
             " of the same program gives other outputs than the first");
  }
}

TENON_CONFORMANCE_TEST("delegates do not disturb each other",
                       "[lifecycle][level-3][case][TN-DES-1][TN-BCK-9]") {
  LiveCase live(kit);
  if (!kit.backend().deterministic) kit.not_applicable("the backend is declared not deterministic");
  const auto alone = live.run(*live.load());
  if (live.run(*live.load()) != alone) kit.blocked("two loads give different outputs");
  std::vector<std::unique_ptr<CaseMethod>> methods;
  const std::size_t count = kit.options().level >= 10 ? 64 : 6;
  for (std::size_t i = 0; i < count; ++i) methods.push_back(live.load());
  kit.keep("TN-BCK-9", live.run(*methods[0]) == alone, "with ", count,
           " delegates alive the first gives other outputs than alone");
  // The neighbours go before the one that is looked at, and behind it.
  methods[1].reset();
  methods[3].reset();
  for (const std::size_t left : {std::size_t{2}, std::size_t{4}}) {
    std::vector<std::byte> first;
    const Status run = methods[left]->execute(methods[left]->runs().front());
    if (!kit.keep("TN-DES-1", run.ok(), "delegate ", left + 1, " of ", count,
                  " fails once its neighbours are destroyed: ", run.text())) {
      continue;
    }
    const auto bytes = kit.need(methods[left]->output_bytes(), "the outputs");
    kit.keep("TN-DES-1", bytes == alone.front(), "delegate ", left + 1, " of ", count,
             " gives other outputs once its neighbours are destroyed");
  }
}

TENON_CONFORMANCE_TEST("a program is destroyed without having run",
                       "[lifecycle][level-3][case][TN-DES-3]") {
  LiveCase live(kit);
  for (int i = 0; i < 3; ++i) {
    const auto method = live.load();
    kit.keep("TN-DES-3", live.boundary().live_delegates() != 0, "no delegate was made");
  }
}

TENON_CONFORMANCE_TEST("a delegate that is null runs and is destroyed",
                       "[lifecycle][level-3][case][TN-DES-2]") {
  LiveCase live(kit);
  bool is_null = false;
  live.boundary().on_init = [&](InitCall& call) {
    const tenon_status status = call.forward();
    is_null = is_null || (status == TENON_STATUS_OK && !call.delegate.theirs);
    return status;
  };
  const auto method = live.load();
  if (!is_null) kit.not_applicable("init gives no null delegate");
  const Status run = method->execute(method->runs().front());
  kit.keep("TN-DES-2", run.ok(), "a delegate for which init gave null does not run: ", run.text());
}

TENON_CONFORMANCE_TEST("init keeps nothing of its context",
                       "[lifecycle][level-3][case][TN-INI-3]") {
  LiveCase live(kit);
  const auto expected = live.run(*live.load());
  std::vector<GuardedMemory> gone;
  live.boundary().on_init = [&](InitCall& call) {
    // The compile specs and options lie where they can be taken away.
    constexpr Forbidden kept{"TN-INI-3", "that init got and that is gone"};
    const auto move_away = [&](const auto*& array, std::uint32_t count) {
      if (count == 0 || !array) return;
      const std::size_t size = std::size_t{count} * array->struct_size;
      GuardedMemory& copy = gone.emplace_back(size, alignof(std::max_align_t), kept);
      std::memcpy(copy.data(), array, size);
      array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(copy.data());
    };
    move_away(call.context.compile_specs, call.context.num_compile_specs);
    move_away(call.context.runtime_specs, call.context.num_runtime_specs);
    const tenon_status status = call.forward();
    for (GuardedMemory& memory : gone) memory.forbid(kept);
    return status;
  };
  const auto method = live.load();
  const auto found = live.run(*method);
  if (!kit.backend().deterministic) return;
  kit.keep("TN-INI-3", found == expected,
           "once the context of init is gone the outputs are others");
}

}  // namespace tenon::conformance
