// SPDX-License-Identifier: MIT
//
// For Windows. Whether a process ignores Ctrl+C, no function reads; new processes find it in the
// block of their parameters, where these tests look.
#include <cstdint>

#include "support/catch.hpp"
#include "tenon/host/platform/windows/signals_blocked.hpp"

#include <winternl.h>

namespace {

bool ignores_ctrl_c() {
  const auto* parameters = ::NtCurrentTeb()->ProcessEnvironmentBlock->ProcessParameters;
  // ConsoleFlags, after four numbers of 32 bits and the console's handle.
  return (reinterpret_cast<std::uintptr_t>(parameters->Reserved2[1]) & 1U) != 0;
}

}  // namespace

TEST_CASE("whether a process ignores Ctrl+C is the same after steps without signals", "[files]") {
  for (const ::BOOL ignored : {TRUE, FALSE}) {
    REQUIRE(::SetConsoleCtrlHandler(nullptr, ignored) != 0);
    REQUIRE(ignores_ctrl_c() == (ignored == TRUE));
    {
      const tenon::host::SignalsBlocked outer;
      const tenon::host::SignalsBlocked inner;
    }
    CHECK(ignores_ctrl_c() == (ignored == TRUE));
  }
}
