// SPDX-License-Identifier: MIT
//
// Names and paths of files, where the system takes "Acme.DLL" and "acme.dll" for one, and where
// not.
#include "tenon/host/layers/discovery/impl/file_names.hpp"
#include "tenon/host/platform/normal_path.hpp"

#include <cstdint>
#include <filesystem>
#include <new>
#include <string>

#include "support/catch.hpp"
#include "support/sanitizer.hpp"
#if !defined(_WIN32)
#include "unit/host/layers/discovery/registry_support.hpp"
#endif

namespace tenon::test {
namespace {

using host::detail::compared_name;
using host::detail::has_extension;

std::string normal(const char* path) {
  return host::normal_path(std::filesystem::path(path)).generic_string();
}

}  // namespace

TEST_CASE("an extension in capitals is one where file systems ignore case", "[discovery]") {
  for (const bool ignores_case : {true, false}) {
    CHECK(has_extension("acme.json", ".json", ignores_case));
    CHECK(has_extension("ACME.JSON", ".json", ignores_case) == ignores_case);
    CHECK(has_extension("acme.Dll", ".dll", ignores_case) == ignores_case);
    CHECK_FALSE(has_extension("acme.json5", ".json", ignores_case));
    CHECK_FALSE(has_extension("json", ".json", ignores_case));
    CHECK_FALSE(has_extension("", ".json", ignores_case));
  }
}

TEST_CASE("a manifest belongs to a library of the same name, as the system compares names",
          "[discovery]") {
  CHECK(compared_name("Acme", true) == compared_name("aCME", true));
  CHECK(compared_name("Acme", false) != compared_name("acme", false));
  CHECK(compared_name("Acme", false) == "Acme");
  // Letters of other alphabets are left as they are: which of them are equal is up to the system.
  CHECK(compared_name("\xc3\x84", true) == "\xc3\x84");
}

TEST_CASE("a normal path has no dots but those that lead out of a relative one", "[discovery]") {
  tenon::test::check_texts(normal, {{"", ""},
                                    {".", "."},
                                    {"./", "."},
                                    {"a/..", "."},
                                    {"a/./b//c/", "a/b/c"},
                                    {"a/b/../../c", "c"},
                                    {"../a/../../b", "../../b"},
                                    {"/", "/"},
                                    {"/..", "/"},
                                    {"/../../a/./b/../c", "/a/c"},
                                    {"/a/...", "/a/..."}});
}

#if !defined(_WIN32) && !defined(TENON_TEST_HAS_THREAD_SANITIZER)

TEST_CASE("whichever allocation of a normal path fails, it is the exception", "[discovery]") {
  const std::filesystem::path path =
      "/a/directory/of/programs/../../../examples/programs/isolation/with-a-name-on-the-heap";
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
  CHECK(out == "/a/examples/programs/isolation/with-a-name-on-the-heap");
}

#endif

}  // namespace tenon::test
