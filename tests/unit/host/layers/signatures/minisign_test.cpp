// SPDX-License-Identifier: MIT
//
// Files of minisign: those that the program itself made, and damaged ones. minisign 0.11 made
// tests/fixtures/signatures, with a key that was thrown away:
//
//     minisign -G -W -p acme.pub -s acme.key
//     minisign -S -s acme.key -m message.txt -c 'signature of a fixture'
//              -t $'timestamp:1795700000\tfile:message.txt\thashed'
//     minisign -S -l -s acme.key -m message.txt -x legacy.minisig -t 'made with minisign -S -l'
#include <span>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/signer.hpp"
#include "tenon/host/platform/impl/system_library.hpp"
#include "tenon/host/signatures.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace minisign_test {
namespace {

std::string fixture(std::string_view name) {
  return content_of(std::filesystem::path(TENON_TEST_SIGNATURES) / name);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Status verify(std::string_view bytes, std::string_view signature, std::string_view key) {
  TENON_TRY(const MinisignKey parsed_key, parse_minisign_key(key));
  TENON_TRY(const MinisignSignature parsed, parse_minisign_signature(signature));
  if (parsed.key_id != parsed_key.id) return error(Error::NotFound, "another key");
  return verify_minisign(bytes_of(bytes), parsed, parsed_key);
}

/// The text with line number `line`, from 1, replaced.
std::string with_line(std::string_view text, int line, std::string_view replacement) {
  std::string out;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    out += concat(number == line ? replacement : text.substr(0, end), "\n");
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

TEST_CASE("what minisign signed is verified, hashed before and not", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const std::string key = fixture("acme.pub"), message = fixture("message.txt");
  const auto hashed = parse_minisign_signature(fixture("message.txt.minisig"));
  REQUIRE(hashed.ok());
  CHECK(hashed->is_prehashed);
  CHECK(hashed->trusted_comment == "timestamp:1795700000\tfile:message.txt\thashed");
  CHECK(key_id_text(hashed->key_id) == "253208320BA93F06");
  CHECK(verify(message, fixture("message.txt.minisig"), key).ok());

  const auto legacy = parse_minisign_signature(fixture("legacy.minisig"));
  REQUIRE(legacy.ok());
  CHECK_FALSE(legacy->is_prehashed);
  CHECK(legacy->trusted_comment == "made with minisign -S -l");
  CHECK(verify(message, fixture("legacy.minisig"), key).ok());
  // The line alone, as minisign prints it.
  CHECK(parse_minisign_key("RWQGP6kLMggyJZTJyWKamK2tRKUk4bPM+8f6w1pN0Ki1ck+2kjBzLkPm").ok());
}

TEST_CASE("each byte that was signed counts, of the file and of the trusted comment",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const std::string key = fixture("acme.pub"), message = fixture("message.txt");
  for (const char* name : {"message.txt.minisig", "legacy.minisig"}) {
    const std::string signature = fixture(name);
    for (std::size_t i = 0; i < message.size(); ++i) {
      std::string changed = message;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      CHECK(verify(changed, signature, key).error() == Error::AccessFailed);
    }
    CHECK(verify(message + "x", signature, key).error() == Error::AccessFailed);
    CHECK(verify("", signature, key).error() == Error::AccessFailed);
    const Status comment = verify(message, with_line(signature, 3, "trusted comment: 2.0"), key);
    CHECK(comment.error() == Error::AccessFailed);
    CHECK_THAT(std::string(comment.text()),
               ContainsSubstring("the trusted comment is not what was signed"));
    // The first line is for people, and no part of it.
    CHECK(verify(message, with_line(signature, 1, "untrusted comment: any"), key).ok());
  }
}

TEST_CASE("no changed letter of a signature passes", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const std::string key = fixture("acme.pub"), message = fixture("message.txt");
  const std::string signature = fixture("message.txt.minisig");
  const std::size_t begin = signature.find('\n');
  for (std::size_t i = begin; i < signature.size(); ++i) {
    std::string changed = signature;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    INFO(i);
    CHECK_FALSE(verify(message, changed, key).ok());
  }
}

TEST_CASE("a signature of one kind is none of the other", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signer signer;
  const std::string file(1000, 'x');
  std::string text = signer.sign(file);
  CHECK(verify(file, text, signer.public_key()).ok());
  // 'ED' begins with RUQ in base64, 'Ed' with RWQ.
  text.replace(text.find("RUQ"), 3, "RWQ");
  CHECK(verify(file, text, signer.public_key()).error() == Error::AccessFailed);
  text = signer.sign(file, false);
  CHECK(verify(file, text, signer.public_key()).ok());
  text.replace(text.find("RWQ"), 3, "RUQ");
  CHECK(verify(file, text, signer.public_key()).error() == Error::AccessFailed);
}

TEST_CASE("every truncation of a signature is refused, but for its last line feed",
          "[signatures]") {
  const std::string signature = fixture("message.txt.minisig");
  for (std::size_t size = 0; size + 1 < signature.size(); ++size) {
    INFO(size);
    CHECK(parse_minisign_signature(signature.substr(0, size)).error() == Error::InvalidArgument);
  }
  CHECK(parse_minisign_signature(signature.substr(0, signature.size() - 1)).ok());
}

TEST_CASE("a text that is no signature is refused with its line", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const std::string good = fixture("message.txt.minisig");
  const struct {
    std::string text;
    std::string why;
  } rows[] = {
      {"", "line 1: expected 'untrusted comment: ...', found ''"},
      {"RUQGP6kL\n", "line 1: expected 'untrusted comment: ...'"},
      {with_line(good, 2, "RUQGP6kL"), "line 2: expected 74 bytes in base64, found 6 bytes"},
      {with_line(good, 2, "not base64!"),
       "line 2: expected 74 bytes in base64, found 'not base64!'"},
      {with_line(good, 2, "QUE" + std::string(97, 'A')), "line 2: expected 74 bytes"},
      {with_line(good, 2, "QUFB" + std::string(94, 'A') + "A="),
       "line 2: expected algorithm 'Ed' or 'ED', found 'AA'"},
      {with_line(good, 3, "comment: x"),
       "line 3: expected 'trusted comment: ...', found 'comment: x'"},
      {with_line(good, 3, std::string("trusted comment: \0", 18)), "line 3: holds a NUL character"},
      {with_line(good, 4, "AAAA"), "line 4: expected 64 bytes in base64, found 3 bytes"},
      {good + "more\n", "line 5: expected the end, found 'more"},
      {good + std::string(max_signature_size, '\n'), "bytes, expected at most 16384"},
  };
  for (const auto& [text, why] : rows) {
    INFO(text.substr(0, 300));
    const auto parsed = parse_minisign_signature(text);
    CHECK(parsed.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(parsed.text()), ContainsSubstring(why));
  }
  // Line ends of Windows are what an editor may have made of it.
  std::string windows = good;
  for (std::size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; at += 2) {
    windows.insert(at, 1, '\r');
  }
  CHECK(verify(fixture("message.txt"), windows, fixture("acme.pub")).ok());
}

TEST_CASE("a library that is not on this machine has a reason for each of its names",
          "[signatures]") {
  const char* const names[] = {"libtenon-none.so.2", "libtenon-none.so.1"};
  const platform::SystemLibrary none(names);
  CHECK_FALSE(none);
  CHECK_THAT(std::string(none.problem()), ContainsSubstring("libtenon-none.so.2"));
  CHECK_THAT(std::string(none.problem()), ContainsSubstring("libtenon-none.so.1"));
}

TEST_CASE("a text that is no public key is refused", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const auto why = [](std::string_view text) {
    const auto key = parse_minisign_key(text);
    CHECK(key.error() == Error::InvalidArgument);
    return std::string(key.text());
  };
  CHECK_THAT(why(""), ContainsSubstring("expected 42 bytes in base64, found 0 bytes"));
  CHECK_THAT(why("untrusted comment: x\n"), ContainsSubstring("expected 42 bytes"));
  CHECK_THAT(why(fixture("message.txt.minisig")), ContainsSubstring("expected one key"));
  const std::string key = Signer().public_key();
  CHECK_THAT(why(key + "\n" + key), ContainsSubstring("ends with"));
  CHECK_THAT(why("RUQ" + key.substr(3)), ContainsSubstring("expected algorithm 'Ed', found 'ED'"));
  CHECK_THAT(why(key.substr(4)), ContainsSubstring("expected 42 bytes in base64, found 39 bytes"));
}

}  // namespace minisign_test
