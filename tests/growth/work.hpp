// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tenon::test {

/// The work of this process so far: basic blocks that instrumented sources entered, and one for
/// each 16 bytes that memcpy, memmove, memset, memcmp, memchr and strlen went through. Does not
/// depend on the machine's speed or on what else runs on it. Of one thread.
[[nodiscard]] std::uint64_t work() noexcept;

}  // namespace tenon::test
