// SPDX-License-Identifier: MIT
#include "tenon/host/platform/normal_path.hpp"

#include <cstdint>
#include <filesystem>
#include <new>
#include <string>

#include "support/catch.hpp"
#include "support/sanitizer.hpp"
#if !defined(_WIN32)
#include "failing_allocation.hpp"
#endif

namespace tenon::test {
namespace {

std::string normal(const char* path) {
  return host::normal_path(std::filesystem::path(path)).generic_string();
}

}  // namespace

TEST_CASE("a normal path has no dots but those that lead out of a relative one", "[discovery]") {
  CHECK(normal("") == "");
  CHECK(normal(".") == ".");
  CHECK(normal("./") == ".");
  CHECK(normal("a/..") == ".");
  CHECK(normal("a/./b//c/") == "a/b/c");
  CHECK(normal("a/b/../../c") == "c");
  CHECK(normal("../a/../../b") == "../../b");
  CHECK(normal("/") == "/");
  CHECK(normal("/..") == "/");
  CHECK(normal("/../../a/./b/../c") == "/a/c");
  CHECK(normal("/a/...") == "/a/...");
}

#if !defined(_WIN32) && !defined(TENON_TEST_HAS_THREAD_SANITIZER)

TEST_CASE("whichever allocation of a normal path fails, it is the exception", "[discovery]") {
  const std::filesystem::path path =
      "/a/directory/of/programs/../../../reference_backends/isolated/with-a-name-on-the-heap";
  std::filesystem::path out;
  std::uint64_t number = 0;
  for (bool failed = true; failed; ++number) {
    const FailingAllocation failing(number);
    try {
      out = host::normal_path(path);
      failed = failing.happened();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  }
  CHECK(number > 5);
  CHECK(out == "/a/reference_backends/isolated/with-a-name-on-the-heap");
}

#endif

}  // namespace tenon::test
