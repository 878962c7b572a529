// SPDX-License-Identifier: MIT
//
// The file with the publishers that an application trusts.
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/signer.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/signatures.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace publishers_test {
namespace {

constexpr std::string_view sigstore_key =
    "MCowBQYDK2VwAyEANtazKBdb4KO3MwJiGxBZ/GPOL423ivqEH35Lpl5ve84=";
constexpr std::string_view key = "RWQGP6kLMggyJZTJyWKamK2tRKUk4bPM+8f6w1pN0Ki1ck+2kjBzLkPm";

std::string with_key(std::string_view members) {
  return concat(R"({"publishers_version": 1, "publishers": [{"name": "Acme", "keys": [{)", members,
                "}]}]}");
}

std::string with(std::string_view members) {
  return concat(R"({"publishers_version": 1, )", members, "}");
}

}  // namespace

TEST_CASE("publishers are read with their keys and the days in which these count", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const auto read = parse_publishers(
      concat(R"({"$schema": "x", "publishers_version": 1, "required": false, "publishers": [)",
             R"({"name": "Acme", "keys": [{"minisign": ")", key,
             R"(", "not_before": "2026-01-01", "not_after": "2026-12-31"}, {"minisign": ")",
             Signer(9).public_key(), R"("}, {"sigstore": ")", sigstore_key, R"("}]}]})"),
      "/etc/publishers.json");
  INFO(read.text());
  REQUIRE(read.ok());
  CHECK(read->origin == "/etc/publishers.json");
  CHECK_FALSE(read->required);
  REQUIRE(read->keys.size() == 3);
  CHECK(read->keys[0].publisher == "Acme");
  CHECK(key_id_text(read->keys[0].key) == "253208320BA93F06");
  CHECK(read->keys[0].not_before == 1767225600);
  CHECK(read->keys[0].not_after == 1798761600);  // 2027-01-01: the last day is included.
  CHECK(read->keys[1].publisher == "Acme");
  CHECK_FALSE(read->keys[1].not_after);
  CHECK(key_id_text(read->keys[2].key) == "8g1zfxDvSN8AhmH4BMyYA891khdSIRWdr+dxTozBfIk=");
  // Without the key, signatures are required.
  CHECK(parse_publishers(with(R"("publishers": [])"), "p")->required);
}

TEST_CASE("publishers that are wrong are refused with the place", "[signatures]") {
  const std::string good = concat(R"("minisign": ")", key, "\"");
  const std::string sigstore = concat(R"("sigstore": ")", sigstore_key, "\"");
  const struct {
    std::string text;
    std::string why;
  } rows[] = {
      {"", "p: is not JSON"},
      {"[]", "p: expected an object, found an array of 0"},
      {"{}", "p: publishers_version: is missing, expected 1"},
      {R"({"publishers_version": 2})", "p: publishers_version: is 2, this host reads 1"},
      {R"({"publishers_version": "1"})", "p: publishers_version: expected 1, found '\"1\"'"},
      {with(R"("requird": true)"), "p: unknown key 'requird'; did you mean 'required'?"},
      {with(R"("required": 1, "publishers": [])"),
       "p: required: expected true or false, found '1'"},
      {with(R"("required": true)"), "p: publishers: is missing, expected an array"},
      {with(R"("publishers": {})"),
       "p: publishers: expected an array of objects, found an object of 0"},
      {with(R"("publishers": [1])"), "p: publishers[0]: expected an object, found '1'"},
      {with(R"("publishers": [{"keys": []}])"), "p: publishers[0].name: is missing"},
      {with(R"("publishers": [{"name": ""}])"), "p: publishers[0].name: is empty"},
      {with(R"("publishers": [{"name": "A\u001b"}])"), "publishers[0].name"},
      {with(R"("publishers": [{"name": "A"}])"), "p: publishers[0].keys: is missing"},
      {with(R"("publishers": [{"name": "A", "keys": []}])"),
       "p: publishers[0].keys: expected an array of at least one object, found an array of 0"},
      {with_key(""), "p: publishers[0].keys[0].minisign: is missing"},
      {with_key(R"("minisign": "RWQ=")"),
       "p: publishers[0].keys[0].minisign: a public key of minisign: expected 42 bytes"},
      {with_key(concat(good, R"(, "not_afer": "2026-01-01")")), "did you mean 'not_after'?"},
      {with_key(concat(good, R"(, "not_after": "2026-02-30")")),
       "p: publishers[0].keys[0].not_after: expected a day, as in \"2026-11-26\", found"},
      {with_key(concat(good, R"(, "not_after": "tomorrow")")), "not_after: expected a day"},
      {with_key(concat(good, R"(, "not_before": 2026)")), "not_before: expected a day"},
      {with_key(concat(good, R"(, "not_before": "2026-02-02", "not_after": "2026-02-01")")),
       "p: publishers[0].keys[0].not_after: is before not_before"},
      {with_key(concat(good, "}, {", good)),
       "p: publishers[0].keys[1]: key 253208320BA93F06 is there twice"},
      {with_key(concat(good, ", ", good)), "is written twice"},
      {with_key(concat(sigstore, "}, {", sigstore)), "p: publishers[0].keys[1]: key 8g1zfxDv"},
      {with_key(concat(good, ", ", sigstore)),
       "p: publishers[0].keys[0].sigstore: is next to minisign, expected one of them"},
      {with_key(R"("sigstore": "MHYwEAYHKoZIzj0CAQYFK4EEACID")"),
       "p: publishers[0].keys[0].sigstore: a public key of sigstore: expected an Ed25519 key of 44 "
       "bytes in base64, found an ECDSA key"},
  };
  for (const auto& [text, why] : rows) {
    INFO(text);
    const auto read = parse_publishers(text, "p");
    CHECK(read.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(read.text()), ContainsSubstring(why));
  }
}

TEST_CASE("a file of publishers that others can write to is not obeyed", "[signatures]") {
  const TemporaryDirectory directory;
  const auto path = directory.write("publishers.json", with(R"("publishers": [])"));
  ::chmod(path.c_str(), 0644);
  const auto read = read_publishers(path);
  INFO(read.text());
  REQUIRE(read.ok());
  CHECK(read->origin == path.native());
  ::chmod(path.c_str(), 0666);
  CHECK(read_publishers(path).error() == Error::AccessFailed);
  ::chmod(path.c_str(), 0644);
  CHECK(read_publishers("publishers.json").error() == Error::InvalidArgument);
  CHECK(read_publishers(directory / "none.json").error() == Error::NotFound);
  directory.write("publishers.json", std::string((1 << 20) + 1, ' '));
  CHECK_THAT(std::string(read_publishers(path).text()),
             ContainsSubstring("expected at most 1048576"));
}

TEST_CASE("the variable TENON_PUBLISHERS names the file, and its errors are not passed over",
          "[signatures]") {
  const TemporaryDirectory directory;
  const auto path = directory.write("publishers.json", with(R"("publishers": [])"));
  ::chmod(path.c_str(), 0644);
  {
    const ::test::ScopedEnvironment none(::test::Variables{{"TENON_PUBLISHERS", ""}});
    const auto policy = SignaturePolicy::from_environment();
    REQUIRE(policy.ok());
    CHECK_FALSE(*policy);
  }
  {
    const ::test::ScopedEnvironment named(::test::Variables{{"TENON_PUBLISHERS", path.native()}});
    const auto policy = SignaturePolicy::from_environment();
    REQUIRE(policy.ok());
    CHECK((*policy)->publishers().origin == path.native());
  }
  const ::test::ScopedEnvironment missing(::test::Variables{{"TENON_PUBLISHERS", "/no/such/file"}});
  const auto policy = SignaturePolicy::from_environment();
  CHECK(policy.error() == Error::NotFound);
  CHECK(policy.text().starts_with("TENON_PUBLISHERS: /no/such/file: "));
}

}  // namespace publishers_test
