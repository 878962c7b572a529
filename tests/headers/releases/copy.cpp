// SPDX-License-Identifier: MIT
//
// A library with a host of its own and no hidden symbols, as an application's library may be.
#include <cstddef>

#include <tenon/host.hpp>

#include <tenon/host/implementation.hpp>

extern "C" {

/// What this library's host has once in a process or a thread; null after the last.
const void* object_of_host(int which) {
  switch (which) {
    case 0:
      return &tenon::host::detail::changes_table();
    case 1:
      return &tenon::host::detail::last_error();
    case 2:
      return tenon::host::detail::thread_token();
    case 3:
      return &tenon::host::CpuFeatures::of_this_machine();
    default:
      return nullptr;
  }
}

/// The length of the text with which the host refuses a file that is no program; 0 when it opens
/// it.
std::size_t refuse(const char* path) {
  const auto program = tenon::host::Program::open(path);
  return program.text().size();
}
}
