// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tenon/abi/version.h"

/// Source lines of addresses in a library, from its debug information. A program of the machine
/// reads it, binutils' addr2line or LLVM's: a plugin chooses what its file says, and readers of
/// DWARF are large. That program is a process of its own, with limits of time, memory and output.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// One place in the sources. Both members come from the file and may hold anything.
struct SourceLine {
  std::string function;  ///< Demangled; empty when it is unknown.
  std::string line;      ///< "/src/acme/execute.cpp:42"; empty when it is unknown.
};

struct SourceLineOptions {
  /// A program with the command line of addr2line; empty: there are no lines.
  std::filesystem::path tool;
  std::chrono::milliseconds time_limit{5000};
};

/// `addr2line`, or `llvm-addr2line`, in the absolute directories of PATH; empty when there is none.
[[nodiscard]] std::filesystem::path find_addr2line();

/// The places of `addresses`, those that the library's segments have, in their order. All are
/// unknown for a file without debug information, and when the program cannot be run, fails or
/// reaches a limit.
///
/// threads: any.
[[nodiscard]] std::vector<SourceLine> source_lines(const std::filesystem::path& library,
                                                   std::span<const std::uint64_t> addresses,
                                                   const SourceLineOptions& options);

}}}  // namespace tenon::TENON_RELEASE::conformance
