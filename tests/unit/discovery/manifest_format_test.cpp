// SPDX-License-Identifier: MIT
//
// The format of manifests: what is read, and every way of getting it wrong.
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/manifest.hpp"

using namespace tenon;
using namespace tenon::host;

namespace {

const std::string hash(64, 'a');
const std::string full = R"({
  "manifest_version": 1,
  "library": {"linux-x86_64": "x86_64/libacme.so", "macos-arm64": "libacme.dylib"},
  "sha256": {"linux-x86_64": ")" +
                         hash + R"("},
  "backends": [{"id": "Acme", "tags": ["npu", "fast one"], "priority": -7}, {"id": "Acme2"}],
  "facts": {"name": "acme", "version": "1.4.2", "compiler": "gcc 12.2"}
})";

Result<Manifest> parse(std::string_view text) {
  return parse_manifest(text, "acme.json", "linux-x86_64");
}

/// A manifest that is right but for `changed`, which replaces or adds members.
std::string with(const std::string& changed) {
  return R"({"manifest_version": 1, "library": "a.so", "backends": [{"id": "A"}])" +
         (changed.empty() ? "" : ", " + changed) + "}";
}
std::string backends(const std::string& list) {
  return R"({"manifest_version": 1, "library": "a.so", "backends": )" + list + "}";
}

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

}  // namespace

TEST_CASE("a manifest is read for one platform", "[discovery]") {
  const auto manifest = parse(full);
  REQUIRE(manifest.ok());
  CHECK(manifest->library == "x86_64/libacme.so");
  REQUIRE(manifest->sha256);
  CHECK(manifest->sha256->to_hex() == hash);
  REQUIRE(manifest->backends.size() == 2);
  CHECK(manifest->backends[0].id == "Acme");
  CHECK(manifest->backends[0].tags == std::vector<std::string>{"npu", "fast one"});
  CHECK(manifest->backends[0].priority == -7);
  CHECK_FALSE(manifest->backends[1].priority);
  CHECK(manifest->facts.at("compiler") == "gcc 12.2");

  const auto elsewhere = parse_manifest(full, "acme.json", "linux-aarch64");
  CHECK(elsewhere.error() == Error::NotSupported);
  CHECK(elsewhere.text() ==
        "acme.json: library: there is none for linux-aarch64, only for linux-x86_64, macos-arm64");
  // A pin for other platforms only is not "no pin".
  const auto unpinned = parse_manifest(full, "acme.json", "macos-arm64");
  CHECK(unpinned.error() == Error::NotSupported);
  CHECK(parse(with("")).ok());
}

TEST_CASE("every mistake in a manifest is named with its place", "[discovery]") {
  const std::pair<std::string, std::string> mistakes[] = {
      {"", "is not JSON"},
      {"null", "expected an object, found 'null'"},
      {"[]", "expected an object"},
      {"{}", "manifest_version: is missing, expected 1"},
      {R"({"manifest_version": "1"})", "manifest_version: expected 1, found '\"1\"'"},
      {R"({"manifest_version": 1.0})", "manifest_version: expected 1"},
      {R"({"manifest_version": 2})", "manifest_version: is 2, this host reads 1"},
      {R"({"manifest_version": 99999999999999999999})", "manifest_version: "},
      {"\xef\xbb\xbf" + with(""), "begins with a byte order mark"},
      {with("") + "x", "is not JSON"},
      {"/* comment */" + with(""), "is not JSON"},
      {with(R"("sha265": "00")"), "unknown key 'sha265'; did you mean 'sha256'?"},
      {with(R"("zzzzzzzz": 1)"), "unknown key 'zzzzzzzz'"},
      {with(R"("library": "b.so")"), "the key 'library' is written twice"},
      {with(R"("facts": {"a": "1", "a": "2"})"), "the key 'a' is written twice"},
      {R"({"manifest_version": 1, "backends": [{"id": "A"}]})", "library: is missing"},
      {R"({"manifest_version": 1, "library": "", "backends": [{"id": "A"}]})", "library: is empty"},
      {R"({"manifest_version": 1, "library": 3, "backends": [{"id": "A"}]})",
       "library: expected a string, or an object of one for each platform, found '3'"},
      {R"({"manifest_version": 1, "library": {"linux-x86_64": 3}, "backends": [{"id": "A"}]})",
       "library.linux-x86_64: expected a string, found '3'"},
      {R"({"manifest_version": 1, "library": {}, "backends": [{"id": "A"}]})",
       "there is none for linux-x86_64, only for no platform"},
      {R"({"manifest_version": 1, "library": "a\u0000.so", "backends": [{"id": "A"}]})",
       "library: holds a NUL character"},
      {R"({"manifest_version": 1, "library": "a\u001b.so", "backends": [{"id": "A"}]})",
       "library holds control character 27"},
      {R"({"manifest_version": 1, "library": "a.so"})", "backends: is missing"},
      {backends("{}"), "backends: expected an array of at least one object"},
      {backends("[]"), "backends: expected an array of at least one object"},
      {backends("[3]"), "backends[0]: expected an object, found '3'"},
      {backends("[{}]"), "backends[0]: has no id"},
      {backends(R"([{"id": 7}])"), "backends[0].id: expected a string, found '7'"},
      {backends(R"([{"id": ""}])"), "backends[0].id: has 0 bytes, expected 1 to 63"},
      {backends(R"([{"id": ")" + std::string(64, 'x') + R"("}])"), "has 64 bytes"},
      {backends(R"([{"id": "A"}, {"id": "A"}])"), "backends[1].id: 'A' is there twice"},
      {backends(R"([{"id": "A", "tag": []}])"), "unknown key 'tag'; did you mean 'tags'?"},
      {backends(R"([{"id": "A", "tags": "x"}])"), "backends[0].tags: expected an array of strings"},
      {backends(R"([{"id": "A", "tags": ["x", 7]}])"), "backends[0].tags[1]: expected a string"},
      {backends(R"([{"id": "A", "tags": ["a,b"]}])"), "backends[0].tags[0]: 'a,b', expected one"},
      {backends(R"([{"id": "A", "tags": [" a"]}])"), "expected one word"},
      {backends(R"([{"id": "A", "tags": [""]}])"), "expected one word"},
      {backends(R"([{"id": "A", "priority": 1.5}])"), "priority: expected an integer of 32 bits"},
      {backends(R"([{"id": "A", "priority": 2147483648}])"), "expected an integer of 32 bits"},
      {backends(R"([{"id": "A", "priority": -2147483649}])"), "expected an integer of 32 bits"},
      {backends(R"([{"id": "A", "priority": "1"}])"), "expected an integer of 32 bits"},
      {with(R"("sha256": "abc")"), "sha256: a SHA-256 has 64 hexadecimal digits"},
      {with(R"("sha256": 7)"), "sha256: expected a string"},
      {with(R"("facts": [])"), "facts: expected an object of strings"},
      {with(R"("facts": {"a": 1})"), "facts.a: expected a string, found '1'"},
      {with(R"("facts": {"a": "\u0007"})"), "facts.a holds control character 7"},
      {with("\"facts\": {\"a\": \"\xff\"}"), "is not JSON"},
      {std::string(20, '[') + std::string(20, ']'), "is nested deeper than 16 levels"},
      {std::string(max_manifest_size + 1, ' '), "a manifest of 1048577 bytes, expected at most"},
  };
  for (const auto& [text, expected] : mistakes) {
    const auto manifest = parse(text);
    INFO(text.substr(0, 200));
    CHECK_FALSE(manifest.ok());
    CHECK(manifest.text().starts_with("acme.json: "));
    CHECK_THAT(std::string(manifest.text()), ContainsSubstring(expected));
    CHECK(manifest.text().find('\n') == std::string_view::npos);
  }
}

TEST_CASE("the ends of what a manifest may say are accepted", "[discovery]") {
  CHECK(parse(backends(R"([{"id": ")" + std::string(63, 'x') + R"("}])")).ok());
  CHECK(parse(backends(R"([{"id": "A", "priority": 2147483647, "tags": []}])"))
            ->backends[0]
            .priority == 2147483647);
  CHECK(parse(backends(R"([{"id": "A", "priority": -2147483648}])")).ok());
  CHECK(parse(with(R"("facts": {})")).ok());
  CHECK(parse(R"({"manifest_version": 1, "library": "ä/ü.so", "backends": [{"id": "Ä"}]})").ok());
}

TEST_CASE("a manifest must say what the plugin's record says", "[discovery]") {
  PluginRecord record;
  record.name = "acme";
  record.version = "1.4.2";
  record.vendor = "Acme";
  record.sdk_version = "0.1.0";
  record.abi_major = 1;
  record.backends.resize(2);
  record.backends[0].id = "Acme2";
  record.backends[1].id = "Acme";
  Manifest manifest = *parse(full);
  CHECK(check_manifest(manifest, record).ok());
  manifest.facts = {{"name", "acme"},         {"version", "1.4.2"}, {"vendor", "Acme"},
                    {"sdk_version", "0.1.0"}, {"abi", "1.0"},       {"other", "anything"}};
  CHECK(check_manifest(manifest, record).ok());
  for (const char* key : {"name", "version", "vendor", "sdk_version", "abi"}) {
    Manifest wrong = manifest;
    wrong.facts[key] = "wrong";
    const Status refused = check_manifest(wrong, record);
    CHECK(refused.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(refused.text()),
               ContainsSubstring(concat("facts.", key, ": the manifest says 'wrong'")));
  }
  manifest.backends.pop_back();
  const Status fewer = check_manifest(manifest, record);
  CHECK(fewer.text() == "backends: the manifest says Acme, the plugin's own record Acme, Acme2");
}

TEST_CASE("a damaged manifest never does harm", "[discovery]") {
  for (std::size_t size = 0; size < full.size(); ++size) {
    CHECK_FALSE(parse(std::string_view(full).substr(0, size)).ok());
  }
  std::mt19937 random(static_cast<unsigned>(setting("TENON_TEST_SEED", 1)));
  const int flips = setting("TENON_TEST_FLIPS", 20'000);
  for (int i = 0; i < flips; ++i) {
    std::string text = full;
    for (auto n = random() % 3; n != 0; --n) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const auto manifest = parse(text);
    if (manifest.ok()) CHECK_FALSE(manifest->backends.empty());
  }
}
