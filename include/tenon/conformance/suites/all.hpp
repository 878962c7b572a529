// SPDX-License-Identifier: MIT
#pragma once

/// All suites of the kit, for one source of a program: links them.
namespace tenon::conformance::detail {

/// Does nothing; a program that refers to it has the suites.
void link_suites() noexcept;

[[maybe_unused]] static const bool suites_are_linked = (link_suites(), true);

}  // namespace tenon::conformance::detail
