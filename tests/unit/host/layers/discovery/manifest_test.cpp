// SPDX-License-Identifier: MIT
//
// Manifests that are built to do harm, and the ends of each number and length. The format itself
// is in manifest_format_test.cpp.
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/rounds.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/discovery/impl/manifest.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace manifest_test {
namespace {

Result<Manifest> parse(std::string_view text) {
  return parse_manifest(text, "acme.json", "linux-x86_64");
}

/// A valid manifest, with `member` in addition to the required ones.
std::string with(std::string_view member) {
  return concat(R"({"manifest_version": 1, "library": "a.so", "backends": [{"id": "A"}], )", member,
                "}");
}

/// Manifests with a given library, a member of the only backend, and a fact.
std::string with_library(std::string_view value) {
  return concat(R"({"manifest_version": 1, "backends": [{"id": "A"}], "library": )", value, "}");
}
std::string with_backend(std::string_view members) {
  return concat(R"({"manifest_version": 1, "library": "a.so", "backends": [{)", members, "}]}");
}
std::string with_fact(std::string_view key, std::string_view value) {
  return with(concat(R"("facts": {")", key, R"(": ")", value, R"("})"));
}

std::string refusal(std::string_view text) {
  const auto manifest = parse(text);
  REQUIRE_FALSE(manifest.ok());
  return std::string(manifest.text());
}

/// One short line of UTF-8 without control characters.
bool is_presentable(std::string_view text) {
  const std::string copy(text);
  constexpr std::size_t longest = 1024;
  return text.size() < longest && copy.find('\0') == std::string::npos &&
         host::detail::check_text(copy.c_str(), "").ok();
}

std::string times(std::size_t count, std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// Uses everything that a manifest may hold.
const std::string rich =
    R"({"manifest_version": 1, "library": {"linux-x86_64": "lib/ä.so", "macos-arm64": "b.dylib"}, )"
    R"("sha256": {"linux-x86_64": ")" +
    std::string(64, '9') +
    R"("}, "backends": [{"id": "A", "tags": ["npu", "int8"], "priority": -7}, )"
    R"({"id": "B", "tags": []}], "facts": {"name": "acme", "note": "\u00e4"}})";

}  // namespace

TEST_CASE("a library's path and the number of backends have an end", "[manifest]") {
  const auto library = [](std::size_t size) {
    return with_library("\"" + std::string(size, 'l') + "\"");
  };
  CHECK(parse(library(4096)).ok());
  CHECK(refusal(library(4097)) == "acme.json: library: has 4097 bytes, expected at most 4096");
  const auto backends = [](std::size_t count) {
    std::string ids;
    for (std::size_t i = 0; i < count; ++i) {
      ids += concat(i == 0 ? "" : ", ", R"({"id": ")", std::string(50, 'b'), i, R"("})");
    }
    return concat(R"({"manifest_version": 1, "library": "a.so", "backends": [)", ids, "]}");
  };
  const auto most = parse(backends(max_backends_per_plugin));
  REQUIRE(most.ok());
  CHECK_THAT(refusal(backends(max_backends_per_plugin + 1)), ContainsSubstring("expected at most"));
  // None of them is the plugin's.
  PluginRecord record;
  record.backends.emplace_back().id = "Other";
  const Status other = check_manifest(*most, record);
  CHECK(other.error() == Error::InvalidArgument);
  CHECK(other.text().size() < 1200);
  CHECK(other.text().ends_with("the plugin's own record Other"));
}

TEST_CASE("sixteen levels of a manifest are read and seventeen are not", "[discovery]") {
  // The manifest is the first level, and its facts are the second.
  const auto nested = [](std::size_t levels) {
    return with(R"("facts": {"a": )" + times(levels - 2, "[") + times(levels - 2, "]") + "}");
  };
  CHECK_THAT(refusal(nested(16)),
             ContainsSubstring("facts.a: expected a text, found an array of 1"));
  CHECK(refusal(nested(17)) == "acme.json: is nested deeper than 16 levels");
  const auto objects = [](std::size_t levels) {
    return with(R"("facts": )" + times(levels - 2, R"({"a": )") + "{}" + times(levels - 2, "}"));
  };
  CHECK_THAT(refusal(objects(16)),
             ContainsSubstring("facts.a: expected a text, found an object of 1"));
  CHECK(refusal(objects(17)) == "acme.json: is nested deeper than 16 levels");
}

TEST_CASE("brackets within a text are no levels", "[discovery]") {
  CHECK(parse(with_fact("a", std::string(100, '['))).ok());
  CHECK(parse(with_fact("a", std::string(100, '{'))).ok());
  // Neither do they make up for levels that are there.
  constexpr std::size_t depth = rounds(200'000u);
  const auto deep = with(concat(R"("facts": {"a": ")", std::string(2 * depth, ']'), R"(", "b": )",
                                std::string(depth, '['), std::string(depth, ']'), "}"));
  REQUIRE(deep.size() < max_manifest_size);
  CHECK(refusal(deep) == "acme.json: is nested deeper than 16 levels");
  // Not even closed.
  CHECK_THAT(refusal(std::string(5 * depth, '[')), ContainsSubstring("is not JSON"));
  CHECK_THAT(refusal(times(rounds(150'000u), R"({"a":)")), ContainsSubstring("is not JSON"));
}

TEST_CASE("a manifest of many values takes time in proportion to its size", "[discovery]") {
  // Took 44 s when each value was searched for in its array again.
  std::string values = "0";
  while (values.size() < rounds(400'000u)) values += ",[]";
  CHECK_THAT(refusal(with(concat(R"("facts": [)", values, "]"))),
             ContainsSubstring("facts: expected an object of texts"));
  std::string members = R"("0": "")";
  for (int i = 1; members.size() < rounds(800'000u); ++i)
    members += concat(R"(, ")", i, R"(": "")");
  const auto many = parse(with(concat(R"("facts": {)", members, "}")));
  REQUIRE(many.ok());
  CHECK(many->facts.size() > rounds(50'000u));
}

TEST_CASE("a key that is there twice is an error, whatever its values are", "[discovery]") {
  for (const char* values : {R"("facts": {}, "facts": [1])", R"("facts": [[1]], "facts": {"a": 1})",
                             R"("facts": 1, "facts": {"a": {"b": []}})"}) {
    CHECK(refusal(with(values)) == "acme.json: the key 'facts' is written twice");
  }
}

TEST_CASE("a priority is an integer of 32 bits, however it is written", "[discovery]") {
  const auto priority = [](std::string_view number) {
    return parse(with_backend(concat(R"("id": "A", "priority": )", number)));
  };
  CHECK(priority("0")->backends[0].priority == 0);
  CHECK(priority("-0")->backends[0].priority == 0);
  CHECK(priority("2147483647")->backends[0].priority == INT32_MAX);
  CHECK(priority("-2147483648")->backends[0].priority == INT32_MIN);
  for (const char* number :
       {"2147483648", "-2147483649", "4294967295", "4294967296", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "18446744071562067968",
        "18446744073709551615", "18446744073709551616", "1.0", "1e3", "null", "true", "[1]"}) {
    INFO(number);
    CHECK(priority(number).error() == Error::InvalidArgument);
    CHECK_THAT(std::string(priority(number).text()),
               ContainsSubstring("backends[0].priority: expected an integer of 32 bits"));
  }
  CHECK_THAT(std::string(priority("1e999").text()), ContainsSubstring("is not JSON"));
}

TEST_CASE("a version of the format is the integer 1", "[discovery]") {
  for (const char* version : {"0", "-1", "2", "4294967297", "18446744073709551615",
                              "18446744073709551617", "1.0", "1e0", "true", "null", "[1]", "{}"}) {
    INFO(version);
    const std::string text = refusal(concat(R"({"manifest_version": )", version, "}"));
    CHECK(text.starts_with("acme.json: manifest_version: "));
  }
  // Said before anything that a later version may have added.
  CHECK_THAT(refusal(R"({"manifest_version": 2, "dependencies": []})"),
             ContainsSubstring("is 2, this host reads 1"));
}

TEST_CASE("no text of a manifest holds control characters", "[discovery]") {
  const std::pair<std::string, std::string> places[] = {
      {with_library(R"("@")"), "library"},
      {with_library(R"({"linux-x86_64": "@"})"), "library.linux-x86_64"},
      {with_library(R"({"other": "@", "linux-x86_64": "a.so"})"), "library.other"},
      {with_library(R"({"linux-x86_64": "a.so", "@": "b.so"})"), "library: a key"},
      {with(R"("sha256": "@")"), "sha256"},
      {with(R"("sha256": {"linux-x86_64": "@"})"), "sha256.linux-x86_64"},
      {with(R"("sigstore": "@")"), "sigstore"},
      {with_backend(R"("id": "@")"), "backends[0].id"},
      {with_backend(R"("id": "A", "tags": ["x", "@"])"), "backends[0].tags[1]"},
      {with_fact("name", "@"), "facts.name"},
      {with_fact("@", "x"), "facts: a key"},
  };
  const std::pair<std::string, std::string> characters[] = {
      {R"(a\u0000b)", "holds a NUL character"},
      {R"(\u0000\u001b[0m)", "holds a NUL character"},
      {R"(a\u0001)", "holds control character 1 "},
      {R"(\n)", "holds control character 10 "},
      {R"(\u001b[0m)", "holds control character 27 "},
      {"\x7f", "holds control character 127 "},
      {R"(\u0085)", "holds control character 133 "},
      {"\xc2\x9b", "holds control character 155 "},
  };
  for (const auto& [place, name] : places) {
    for (const auto& [character, complaint] : characters) {
      std::string text = place;
      text.replace(text.find('@'), 1, character);
      INFO(text);
      const std::string found = refusal(text);
      CHECK_THAT(found, ContainsSubstring(name));
      CHECK_THAT(found, ContainsSubstring(complaint));
      CHECK(is_presentable(found));
    }
  }
}

TEST_CASE("an error text of a manifest is short and cannot drive a terminal", "[discovery]") {
  const std::string long_text(rounds(900'000u), 'x');
  const std::string hostile[] = {
      with(R"("\u001b[0m": 1)"),
      with(R"("\u009b": 1)"),
      with(R"("a\u0000b": 1)"),
      with(R"("\u001b": 1, "\u001b": 2)"),
      with(R"("facts": ["\u001b\u0000\u009b"])"),
      with("\"facts\": {\"a\": \"\xff\x9b\"}"),
      with("\"facts\": {\"a\": \"\xc2\x9b\x01"),
      with("\"facts\": {\"a\": \"\xe2\x82"),
      with("\x9b"),
      with("\x1b"),
      with(concat(R"("facts": ")", long_text)),
      with(concat("\"", long_text, "\": 1")),
      with(concat(R"("facts": ")", long_text, "\"")),
      with(concat(R"("facts": {")", long_text, R"(": 1})")),
      with_library(concat(R"({")", long_text, R"(": "a.so"})")),
      with_library(concat(R"({")", long_text, R"(": 1})")),
      with_backend(concat(R"("id": ")", long_text, "\"")),
      with_backend(concat(R"("id": "A", "tags": [",)", long_text, "\"]")),
      with(concat(R"("sha256": ")", long_text, "\"")),
  };
  for (const std::string& text : hostile) {
    REQUIRE(text.size() <= max_manifest_size);
    const std::string found = refusal(text);
    INFO(found.substr(0, 300));
    CHECK(is_presentable(found));
  }
}

TEST_CASE("a misspelt key is met with the right one at each level", "[discovery]") {
  CHECK(refusal(with(R"("Facts": {})")) == "acme.json: unknown key 'Facts'; did you mean 'facts'?");
  CHECK(refusal(with(R"("libary": "b")")) ==
        "acme.json: unknown key 'libary'; did you mean 'library'?");
  CHECK(refusal(with_backend(R"("id": "A", "priorty": 1)")) ==
        "acme.json: backends[0]: unknown key 'priorty'; did you mean 'priority'?");
  CHECK(refusal(with_backend(R"("id": "A", "name": 1)")) ==
        "acme.json: backends[0]: unknown key 'name'");
  // Facts and platforms have any name.
  CHECK(parse(with_fact("anything", "x")).ok());
  CHECK(parse(with_library(R"({"linux-x86_64": "a.so", "plan9-vax": "b.so"})")).ok());
}

TEST_CASE("a key that is written twice is found wherever it is", "[discovery]") {
  CHECK_THAT(refusal(with_backend(R"("id": "A", "id": "B")")),
             ContainsSubstring("the key 'id' is written twice"));
  CHECK_THAT(refusal(with_library(R"({"linux-x86_64": "a.so", "linux-x86_64": "b.so"})")),
             ContainsSubstring("the key 'linux-x86_64' is written twice"));
  // An escape does not make it another key, and another object may have it too.
  CHECK_THAT(refusal(with(R"("facts": {"a": "1", "\u0061": "2"})")),
             ContainsSubstring("the key 'a' is written twice"));
  CHECK(parse(with(R"("facts": {"library": "1", "id": "2"})")).ok());
}

TEST_CASE("an id of 63 bytes is the longest, in bytes of UTF-8", "[discovery]") {
  const auto id = [](const std::string& text) {
    return parse(with_backend(concat(R"("id": ")", text, "\"")));
  };
  CHECK(id(times(31, "ä") + "x").ok());
  CHECK_THAT(std::string(id(times(32, "ä")).text()),
             ContainsSubstring("backends[0].id: has 64 bytes, expected 1 to 63"));
  CHECK(id("a b").ok());
}

TEST_CASE("a pin for one platform counts only there", "[discovery]") {
  const std::string text = with(concat(R"("sha256": {"linux-x86_64": ")", std::string(64, 'A'),
                                       R"(", "macos-arm64": "not yet"})"));
  REQUIRE(parse(text).ok());
  CHECK(parse(text)->sha256->to_hex() == std::string(64, 'a'));
  const auto unfinished = parse_manifest(text, "acme.json", "macos-arm64");
  CHECK(unfinished.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(unfinished.text()), ContainsSubstring("found 7 characters: 'not yet'"));
  CHECK(parse_manifest(text, "acme.json", "linux-riscv64").error() == Error::NotSupported);
  CHECK_FALSE(parse(with_fact("a", "b"))->sha256);
}

TEST_CASE("a signature is kept as it is written, with its lines, for one platform or for all",
          "[discovery]") {
  const auto one = parse(with(R"("signature": "a\nb\tc\n", "sigstore": "a.sigstore.json")"));
  REQUIRE(one.ok());
  CHECK(one->signature == "a\nb\tc\n");
  CHECK(one->sigstore == "a.sigstore.json");
  const auto each = parse(with(R"("signature": {"linux-x86_64": "a\n", "macos-arm64": "b\n"})"));
  REQUIRE(each.ok());
  CHECK(each->signature == "a\n");
  CHECK(each->sigstore.empty());
  CHECK_THAT(refusal(with(R"("signature": "")")),
             ContainsSubstring("signature: is empty, expected its text"));
  CHECK_THAT(
      refusal(with(R"("signature": ["a", "b"])")),
      ContainsSubstring("signature: expected a text, or an object of one for each platform"));
  CHECK_THAT(refusal(with(R"("signature": {"linux-x86_64": 1})")),
             ContainsSubstring("signature.linux-x86_64: expected a text, found '1'"));
  CHECK(parse(with(R"("signature": {"macos-arm64": "a"})")).error() == Error::NotSupported);
  CHECK_THAT(refusal(with(R"("signatur": "a")")), ContainsSubstring("did you mean 'signature'?"));
}

TEST_CASE("a host takes the library of its own platform, and no other one", "[discovery]") {
  const std::string text =
      with_library(R"({"linux-x86_64": "libacme.so", "windows-x86_64": "acme.dll"})");
  const auto library = [&](const Platform& platform) {
    const auto manifest = parse_manifest(text, "acme.json", platform_name(platform));
    return manifest.ok() ? manifest->library.string() : std::string(manifest.text());
  };
  CHECK(library({BinaryFormat::elf, 62}) == "libacme.so");
  CHECK(library({BinaryFormat::pe, 0x8664}) == "acme.dll");
  CHECK_THAT(library({BinaryFormat::elf, 183}), ContainsSubstring("linux-aarch64"));
}

TEST_CASE("a manifest that names other backends than the plugin is refused", "[discovery]") {
  REQUIRE(parse(rich).ok());
  const auto record = [](const std::vector<std::string>& ids) {
    PluginRecord out;
    out.name = "acme";
    for (const std::string& id : ids) {
      out.backends.emplace_back();
      out.backends.back().id = id;
    }
    return out;
  };
  Manifest plain = *parse(rich);
  plain.facts = {{"name", "acme"}};
  CHECK(check_manifest(plain, record({"A", "B"})).ok());
  CHECK(check_manifest(plain, record({"B", "A"})).ok());
  for (const auto& ids :
       std::vector<std::vector<std::string>>{{}, {"A"}, {"A", "B", "C"}, {"a", "b"}, {"A", "B "}}) {
    const Status refused = check_manifest(plain, record(ids));
    CHECK(refused.error() == Error::InvalidArgument);
    CHECK(refused.text().starts_with("backends: the manifest says A, B, the plugin's own record "));
  }
  // An empty fact is not "no fact".
  plain.facts = {{"vendor", "Acme"}};
  CHECK(check_manifest(plain, record({"A", "B"})).text() ==
        "facts.vendor: the manifest says 'Acme', the plugin's own record ''");
}

TEST_CASE("a manifest in which bytes were changed is read or refused in one line", "[discovery]") {
  const auto seed = number_from_environment("TENON_TEST_SEED", 20260101);
  const auto flips = number_from_environment("TENON_TEST_FLIPS", rounds(20'000));
  INFO("TENON_TEST_SEED=" << seed << " TENON_TEST_FLIPS=" << flips);
  REQUIRE(parse(rich).ok());
  for (std::size_t size = 0; size < rich.size(); ++size) {
    CHECK(is_presentable(refusal(std::string_view(rich).substr(0, size))));
  }
  constexpr std::string_view likely = "\"\\{}[],:0123456789-eEu\x1b\x7f\x9b\xc2\xff";
  std::mt19937_64 random(seed);
  std::uint64_t num_read = 0;
  for (std::uint64_t i = 0; i < flips; ++i) {
    std::string text = rich;
    for (auto places = 1 + random() % 3; places != 0; --places) {
      char& byte = text[static_cast<std::size_t>(random() % text.size())];
      byte = random() % 2 == 0 ? likely[static_cast<std::size_t>(random() % likely.size())]
                               : static_cast<char>(byte ^ 1 << random() % 8);
    }
    const auto manifest = parse(text);
    if (manifest.ok()) {
      ++num_read;
      continue;
    }
    INFO("flip " << i);
    CHECK(is_presentable(manifest.text()));
  }
  // Both outcomes must be common, or the damage would prove little.
  if (flips >= 1000) {
    CHECK(num_read > flips / 20);
    CHECK(num_read < flips - flips / 20);
  }
}

}  // namespace manifest_test
