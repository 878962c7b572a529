// SPDX-License-Identifier: MIT
#include "kit/process/source_lines.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "conformance/program/temporary_directory.hpp"
#include "kit/process/backtrace.hpp"
#include "kit/process/resources.hpp"
#include "lines_of_maps.hpp"
#include "support/catch.hpp"
#include "tenon/core/concat.hpp"

using namespace tenon;
using namespace tenon::conformance;

namespace source_lines_test {
namespace {

/// The first instruction of acme::sum_of of debugged_library.cpp.
std::uintptr_t loaded_function() {
  void* const library = ::dlopen(TENON_DEBUGGED_LIBRARY, RTLD_NOW);
  INFO(TENON_DEBUGGED_LIBRARY);
  REQUIRE(library != nullptr);
  const auto address = reinterpret_cast<std::uintptr_t>(::dlsym(library, "_ZN4acme6sum_ofEPKii"));
  REQUIRE(address != 0);
  return address;
}

std::string frame_of(const SourceLineOptions& lines) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(loaded_function()));
  const std::vector<std::string> frames = {text};
  return name_frames(frames, lines_of_maps(), TENON_DEBUGGED_LIBRARY, lines).at(0);
}

/// A program that a test writes.
std::filesystem::path script(const TemporaryDirectory& directory, const std::string& body) {
  const std::filesystem::path path = directory.path() / "addr2line";
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

}  // namespace

TEST_CASE("a frame in a library with debug information has its function and its source line") {
  const SourceLineOptions lines{find_addr2line()};
  if (lines.tool.empty()) {
    WARN("no addr2line in PATH");
    return;
  }
  const std::string frame = frame_of(lines);
  CHECK(frame.starts_with("acme::sum_of(int const*, int) +0x0 in " TENON_DEBUGGED_LIBRARY "+0x"));
  CHECK_THAT(frame, ContainsSubstring(" at ") && ContainsSubstring("debugged_library.cpp:7"));
}

TEST_CASE("without a program that reads debug information the frame has its symbol alone") {
  const std::string plain = frame_of({});
  CHECK(plain.starts_with("_ZN4acme6sum_ofEPKii+0x0 in "));
  CHECK_THAT(plain, !ContainsSubstring(" at "));
  CHECK(frame_of({"/no/such/addr2line"}) == plain);
  CHECK(frame_of({"/etc/passwd"}) == plain);

  const auto directory = TemporaryDirectory::make();
  REQUIRE(directory.ok());
  // A reader that fails, a reader that knows nothing, and a reader that crashes.
  for (const char* body : {"exit 1", R"(echo "??"; echo "??:0")", "kill -SEGV $$"}) {
    CAPTURE(body);
    CHECK(frame_of({script(*directory, body)}) == plain);
  }
}

TEST_CASE("a program that does not end, or writes without end, costs the time limit at most") {
  const auto directory = TemporaryDirectory::make();
  REQUIRE(directory.ok());
  const std::string plain = frame_of({});
  for (const char* body :
       {"sleep 60 & sleep 60", "yes | head -c 1000000000", "exec >&-; sleep 60"}) {
    CAPTURE(body);
    const auto start = std::chrono::steady_clock::now();
    CHECK_THAT(frame_of({script(*directory, body), std::chrono::milliseconds(300)}),
               ContainsSubstring("sum_of"));
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  }
}

TEST_CASE("what a program says of a line is one line of bounded length") {
  const auto directory = TemporaryDirectory::make();
  REQUIRE(directory.ok());
  const std::vector<std::uint64_t> addresses = {1, 2, 3};
  const auto two = source_lines(TENON_DEBUGGED_LIBRARY, addresses,
                                {script(*directory,
                                        "printf 'f()\\na.cpp:1 (discriminator 3)\\n'; "
                                        "head -c 3000 /dev/zero | tr '\\0' x; "
                                        "printf '\\nb.cpp:?\\n'")});
  REQUIRE(two.size() == 3);
  CHECK(two[0].function == "f()");
  CHECK(two[0].line == "a.cpp:1");
  CHECK(two[1].function == std::string(1024, 'x'));
  CHECK(two[1].line.empty());
  CHECK(two[2].function.empty());
  // A name that begins like an option is not taken as one.
  const auto relative = source_lines("--help", addresses, {script(*directory, "echo f; echo a:1")});
  CHECK(relative.at(0).function.empty());
}

}  // namespace source_lines_test
