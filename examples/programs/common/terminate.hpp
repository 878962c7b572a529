// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#include <process.h>
#else
#include <unistd.h>
#endif

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>

#include "tool.hpp"

/// Included by the file that has a program's `main`, and by no other: what std::terminate does.
///
/// Where memory runs out and no handler can catch that, the process is not aborted, but ends as
/// `tool::main` ends it, with a text and `execute_failed`. That is so before `main` (CLI11 has
/// objects that take memory in each file that includes it) and in destructors (nlohmann's JSON
/// values take memory to be destroyed).
namespace tenon::tool { namespace {

std::terminate_handler default_terminate = nullptr;

[[nodiscard]] bool is_out_of_memory() {
  if (!std::current_exception()) {
    // There was none for the exception itself.
    void* const memory = std::malloc(1024);
    std::free(memory);
    return memory == nullptr;
  }
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

[[noreturn]] void terminate() {
#if defined(__linux__) && !defined(__BIONIC__)
  const char* const program = ::program_invocation_short_name;
#elif defined(_WIN32)
  const char* const program = "tenon";  // The system reports a path, which takes memory to cut.
#else
  const char* const program = ::getprogname();
#endif
  if (is_out_of_memory()) ::_exit(report_out_of_memory(program));
  default_terminate();
  std::abort();
}

// Before the constructors without a priority.
[[gnu::constructor(101)]] void set_terminate() {
  default_terminate = std::set_terminate(&terminate);
}

}}  // namespace tenon::tool
