// SPDX-License-Identifier: MIT
#include "names.hpp"

#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace names_test {
namespace {

using tenon::make_new::names_of;
using tenon::make_new::placeholder;

std::string refusal(std::string_view name) {
  const auto names = names_of(name);
  return names.ok() ? "accepted" : std::string(names.text());
}

TEST_CASE("a name is spelled for folders and for classes and for macros", "[tenon-new]") {
  const auto names = names_of("acme_npu2");
  REQUIRE(names.ok());
  CHECK(names->snake == "acme_npu2");
  CHECK(names->pascal == "AcmeNpu2");
  CHECK(names->upper == "ACME_NPU2");
  CHECK(names_of("a").ok());
}

TEST_CASE("every spelling of the placeholder is replaced and nothing else", "[tenon-new]") {
  const auto names = names_of("acme");
  REQUIRE(names.ok());
  CHECK(tenon::make_new::rename("my_npu.so MyNpuBackend -DMY_NPU=1 my_np My Npu", placeholder(),
                                *names) == "acme.so AcmeBackend -DACME=1 my_np My Npu");
  CHECK(tenon::make_new::rename("", placeholder(), *names).empty());
}

TEST_CASE("a name in another spelling is refused with the right one", "[tenon-new]") {
  CHECK_THAT(refusal("AcmeNpu"), ContainsSubstring("did you mean acme_npu?"));
  CHECK_THAT(refusal("acme-npu"), ContainsSubstring("did you mean acme_npu?"));
  CHECK_THAT(refusal("AcmeNPU2Backend"), ContainsSubstring("did you mean acme_npu2?"));
  CHECK_THAT(refusal("acme__npu"), ContainsSubstring("did you mean acme_npu?"));
  CHECK_THAT(refusal("acme_"), ContainsSubstring("did you mean acme?"));
  CHECK_THAT(refusal("2acme"), ContainsSubstring("did you mean acme?"));
  CHECK_THAT(refusal("acme_backend"), ContainsSubstring("did you mean acme?"));
  for (const std::string_view name : {"", "42", "..", "\xff", "-"}) {
    const std::string text = refusal(name);
    INFO(text);
    CHECK_THAT(text, ContainsSubstring("as in acme_npu"));
    CHECK(text.find("did you mean") == std::string::npos);
  }
}

TEST_CASE("a name cannot lead out of the folder", "[tenon-new]") {
  for (const std::string_view name : {"../acme", "a/b", "/acme", "acme/"}) {
    CHECK(refusal(name) != "accepted");
  }
}

TEST_CASE("words that C++ or a build system has taken are refused", "[tenon-new]") {
  for (const std::string_view name : {"new", "class", "std", "tenon", "linux"}) {
    CHECK_THAT(refusal(name), ContainsSubstring("taken in C++"));
  }
  for (const std::string_view name : {"test", "all", "install", "my_npu"}) {
    CHECK_THAT(refusal(name), ContainsSubstring("taken by build systems or by the templates"));
  }
}

TEST_CASE("a name is refused when its id would be too long for a record", "[tenon-new]") {
  CHECK(names_of(std::string(56, 'a')).ok());
  CHECK_THAT(refusal(std::string(57, 'a')), ContainsSubstring("has 64 bytes, expected at most 63"));
}

}  // namespace
}  // namespace names_test
