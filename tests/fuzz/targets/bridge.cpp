// SPDX-License-Identifier: MIT
//
// fuzz-bridge: programs whose delegates are backends written for ExecuTorch. Needs its wheel.
#include <cstddef>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/method_walk.hpp"
#include "fuzz/mutate/program.hpp"

TENON_DECLARE_STATIC_PLUGIN(TouchBridge);

namespace tenon::fuzz {
namespace {

const host::BackendRegistry& bridged_backends() {
  static host::BackendRegistry all;
  static const bool added = all.register_backend(tenon_static_plugin_TouchBridge).ok();
  if (!added) std::abort();
  return all;
}

void bridge(std::span<std::byte> bytes) {
  const auto opened = host::Program::from_bytes(bytes, nullptr, "fuzz.pte");
  use(opened);
  if (opened.ok()) test::MethodWalk::program(*opened, {}, &bridged_backends());
}

constexpr Target all[] = {{"bridge", &bridge, &mutate_program}};

}  // namespace

const std::span<const Target> targets = all;

}  // namespace tenon::fuzz
