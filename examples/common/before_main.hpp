// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>

#include "tool.hpp"

/// Included by the file that has a program's `main`, and by no other.
///
/// Objects that are constructed before `main` take memory (CLI11 has some in each file that
/// includes it). Where there is none, no handler catches `std::bad_alloc`, and the process would be
/// aborted; this reports it as `tool::main` does. From `tool::main` on, the default is in place
/// again.
namespace tenon::tool {
namespace {

[[noreturn]] void end_before_main() {
#if defined(__GLIBC__)
  const char* const program = ::program_invocation_short_name;
#else
  const char* const program = ::getprogname();
#endif
  bool no_memory = true;  // No exception: there was no memory for one.
  if (std::current_exception()) {
    try {
      throw;
    } catch (const std::bad_alloc&) {
    } catch (...) {
      no_memory = false;
    }
  }
  if (no_memory) ::_exit(report_out_of_memory(program));
  std::abort();
}

// Before the constructors without a priority.
[[gnu::constructor(101)]] void begin_before_main() {
  terminate_of_main = std::set_terminate(&end_before_main);
}

}  // namespace
}  // namespace tenon::tool
