// SPDX-License-Identifier: MIT
#include "names.hpp"

#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace names_test { namespace {

using tenon::make_new::names_of;
using tenon::make_new::placeholder;

std::string refusal(std::string_view name) {
  const auto names = names_of(name);
  return names.ok() ? "accepted" : std::string(names.text());
}

TEST_CASE("a name is spelled for directories and for classes and for macros", "[tenon-new]") {
  const auto names = names_of("acme_npu2");
  REQUIRE(names.ok());
  CHECK(names->snake == "acme_npu2");
  CHECK(names->camel == "AcmeNpu2");
  CHECK(names->upper == "ACME_NPU2");
  CHECK(names->id == "AcmeNpu2Backend");
  CHECK(names_of("a").ok());
}

TEST_CASE("every spelling of the placeholder is replaced and nothing else", "[tenon-new]") {
  const auto names = names_of("acme");
  REQUIRE(names.ok());
  CHECK(tenon::make_new::rename("my_npu.so MyNpuBackend -DMY_NPU=1 my_np My Npu", placeholder(),
                                *names) == "acme.so AcmeBackend -DACME=1 my_np My Npu");
  CHECK(tenon::make_new::rename("", placeholder(), *names).empty());
}

TEST_CASE("an id that programs use already replaces the placeholder's", "[tenon-new]") {
  const auto names = names_of("acme", "Acme.npu-2_Backend");
  REQUIRE(names.ok());
  CHECK(tenon::make_new::rename("class MyNpu final; id = \"MyNpuBackend\"; my_npu", placeholder(),
                                *names) == "class Acme final; id = \"Acme.npu-2_Backend\"; acme");
  CHECK(names_of("acme", std::string(63, 'X')).ok());
}

TEST_CASE("an id is refused that a build file or a shell would read otherwise", "[tenon-new]") {
  for (const std::string_view id :
       {" ", "a b", "a\"b", "$(id)", "a/b", "a\nb", "\xc3\xa9", "a;b"}) {
    const auto names = names_of("acme", id);
    CHECK(names.error() == tenon::Error::InvalidArgument);
    CHECK_THAT(std::string(names.text()), ContainsSubstring("expected letters, digits, '_', '.'"));
  }
  CHECK_THAT(std::string(names_of("acme", std::string(64, 'X')).text()),
             ContainsSubstring("has 64 bytes, expected at most 63"));
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

TEST_CASE("a name cannot lead out of the directory", "[tenon-new]") {
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

}}  // namespace names_test
