// SPDX-License-Identifier: MIT
#pragma once

/// Begins a suite, inside of namespace tenon::conformance: once in its source, with the name of
/// that source. `link_suites` (run/suites.cpp.in) calls the function: from an archive, a linker
/// takes only sources that something refers to.
#define TENON_KIT_SUITE(name)             \
  namespace detail {                      \
  void link_suite_of_##name() noexcept;   \
  void link_suite_of_##name() noexcept {} \
  }
