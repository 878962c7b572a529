// SPDX-License-Identifier: MIT
//
// Bundles of sigstore: one that cosign itself made, and damaged ones. cosign 2.5.0 of Debian 13
// made tests/fixtures/signatures/message.txt.sigstore.json, with a key that was thrown away:
//
//     openssl genpkey -algorithm ed25519 -out acme.pem
//     cosign import-key-pair --key acme.pem --output-key-prefix acme.sigstore
//     cosign sign-blob --key acme.sigstore.key --new-bundle-format --tlog-upload=false
//                      --bundle message.txt.sigstore.json message.txt
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "support/catch.hpp"
#include "support/signer.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/platform/trusted_path.hpp"
#include "tenon/host/signatures.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace sigstore_test {
namespace {

namespace fs = std::filesystem;

std::string fixture(std::string_view name) {
  return content_of(fs::path(TENON_TEST_SIGNATURES) / name);
}

Status verify(std::string_view bytes, std::string_view bundle, std::string_view key) {
  TENON_TRY(const SigstoreKey parsed_key, parse_sigstore_key(key));
  TENON_TRY(const SigstoreBundle parsed, parse_sigstore_bundle(bundle));
  if (parsed.hint != parsed_key.hint) return error(Error::NotFound, "another key");
  return verify_sigstore(std::as_bytes(std::span(bytes)), parsed, parsed_key);
}

/// `text` with its first `from` replaced.
std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string hint_of(std::string_view bundle) { return parse_sigstore_bundle(bundle)->hint; }

constexpr std::string_view file = "The file.";
constexpr std::string_view p256 =
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGNWadVoCbJBcpCokOHvDw5X+k/n6"
    "gb676bPSR41YHI92n4+H2QZbzmSsxLSnL2v7M9SxXxmtwT7Jou9ezmWBAw==";

/// A file, the signatures next to it, and what a host makes of it.
struct Host {
  explicit Host(std::string_view content = file) { write("a.so", content); }

  void write(std::string_view name, std::string_view text) const {
    ::chmod(directory.write(std::string(name), text).c_str(), 0644);
  }

  [[nodiscard]] Status admit(std::string_view in_manifest = {}) const {
    Publishers publishers{.origin = "the list", .required = required};
    if (lists_minisign)
      publishers.keys.push_back({"Acme", *parse_minisign_key(signer.public_key())});
    if (lists_sigstore) {
      publishers.keys.push_back({"Acme", *parse_sigstore_key(signer.sigstore_key())});
    }
    TENON_TRY(auto opened, open_file(directory / "a.so", Trust::caller));
    return SignaturePolicy(std::move(publishers)).admit(std::move(opened), in_manifest).status();
  }

  Signer signer;
  TemporaryDirectory directory;
  bool required = true, lists_minisign = false, lists_sigstore = true;
};

}  // namespace

TEST_CASE("what cosign signed is verified, and no other byte is", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const std::string key = fixture("acme.sigstore.pub"), message = fixture("message.txt");
  const std::string bundle = fixture("message.txt.sigstore.json");
  CHECK(verify(message, bundle, key).ok());
  CHECK(parse_sigstore_bundle(bundle)->hint == "8g1zfxDvSN8AhmH4BMyYA891khdSIRWdr+dxTozBfIk=");
  // The line alone, as a list of publishers has it.
  CHECK(
      verify(message, bundle, "MCowBQYDK2VwAyEANtazKBdb4KO3MwJiGxBZ/GPOL423ivqEH35Lpl5ve84=").ok());
  for (std::size_t i = 0; i < message.size(); ++i) {
    std::string changed = message;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK(verify(changed, bundle, key).error() == Error::AccessFailed);
  }
  CHECK(verify("", bundle, key).error() == Error::AccessFailed);
}

TEST_CASE("no changed letter of a bundle passes, and no part of it", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const std::string key = fixture("acme.sigstore.pub"), message = fixture("message.txt");
  const std::string bundle = fixture("message.txt.sigstore.json");
  for (std::size_t i = 0; i < bundle.size(); ++i) {
    INFO(i);
    CHECK_FALSE(parse_sigstore_bundle(bundle.substr(0, i)).ok());
    if (bundle[i] == ' ') continue;
    std::string changed = bundle;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    CHECK_FALSE(verify(message, changed, key).ok());
  }
}

TEST_CASE("Ed25519ph is verified, which cosign uses for entries of a log", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  // RFC 8032, 7.3.
  constexpr std::string_view key = "MCowBQYDK2VwAyEA7Bcrk61eVjv0kyxw4SRQNMNUZ+8u/U1k6/gZaDRn4r8=";
  constexpr std::string_view bundle = R"({
    "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
    "verificationMaterial": {"publicKey": {"hint": "5320qVcun2VSwivHUdVJmtIYpzvffhXcbqD8aSRqRN4="}},
    "messageSignature": {
      "messageDigest": {"algorithm": "SHA2_256", "digest": "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="},
      "signature": "mKcCIvC4Ehqp0w+BPWg/gJ5GK0acf/h2OUmbuU5trkEx+FBCRjwqNVogA9BirfWqoQuMYeY2Biqq0RwqJgg0Bg=="
    }
  })";
  CHECK(verify("abc", bundle, key).ok());
  CHECK(verify("abd", bundle, key).error() == Error::AccessFailed);
}

TEST_CASE("a text that is no public key of Ed25519 is refused by its kind", "[signatures]") {
  const struct {
    std::string text;
    std::string_view why;
  } rows[] = {
      {"", "expected an Ed25519 key of 44 bytes in base64, found 0 bytes of another kind"},
      {"not base64!", "found 'not base64!'"},
      {std::string(p256), "found an ECDSA P-256 key"},
      {concat("-----BEGIN PUBLIC KEY-----\n", p256.substr(0, 64), "\n", p256.substr(64),
              "\n-----END PUBLIC KEY-----\n"),
       "found an ECDSA P-256 key"},
      {"MHYwEAYHKoZIzj0CAQYFK4EEACID", "found an ECDSA key"},
      {"MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A", "found an RSA key"},
      // X25519, which signs nothing.
      {"MCowBQYDK2VuAyEANtazKBdb4KO3MwJiGxBZ/GPOL423ivqEH35Lpl5ve84=", "found 44 bytes of another"},
      {fixture("acme.pub"), "found '"},
  };
  for (const auto& [text, why] : rows) {
    INFO(text);
    const auto key = parse_sigstore_key(text);
    CHECK(key.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(key.text()), ContainsSubstring(std::string(why)));
  }
}

TEST_CASE("a bundle is admitted or refused by name", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  Host host;
  const std::string good = host.signer.bundle(file);
  const Signer other;
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  constexpr std::string_view key = R"("publicKey":{)", hint = R"("hint":")";
  const struct {
    std::string text;
    std::string_view why;         ///< Empty: admitted.
    bool is_unknown_key = false;  ///< Admitted where no signature is required.
  } rows[] = {
      {good, ""},
      {host.signer.bundle(file, true), ""},
      {" \n" + good + "\n", ""},
      // What is not looked at.
      {with(good, key,
            R"("tlogEntries":[{"logIndex":"7"}], "timestampVerificationData":{}, "publicKey":{)"),
       ""},
      {other.bundle(file), "which the list does not list, expected a key of: Acme (", true},
      {with(other.bundle(file), hint_of(other.bundle(file)), hint_of(good)),
       " of Acme: the file is not what was signed"},
      {host.signer.bundle("Another file."),
       " of Acme: the file is not what was signed: its SHA-256 is "},
      {with(good, hint_of(good), "AB07060504030201"), "is by key AB07060504030201, which", true},
      {with(good, R"("signature":")", R"("signature":"AAAA)"),
       "the signature has 67 bytes, expected the 64 of Ed25519"},
      {with(good, "SHA2_256", "SHA2_512"),
       "messageSignature.messageDigest.algorithm: is 'SHA2_512', expected 'SHA2_256'"},
      {with(good, R"("digest":")", R"("digest":"AAAA)"),
       "messageDigest.digest: has 35 bytes, expected 32"},
      {with(good, R"("digest":")", R"("digest":"*)"),
       "messageDigest.digest: expected base64, found '*"},
      {with(good, "v0.3+json", "v0.4+json"),
       "mediaType: is 'application/vnd.dev.sigstore.bundle.v0.4+json', expected "},
      {with(good, ".v0.3+json", "+json;version=0.3"), "mediaType: is '"},
      {with(good, key, R"("certificate":{"rawBytes":"AAAA"}, "publicKey":{)"),
       "is not by a key: verificationMaterial.certificate: is not checked, expected publicKey; "
       "expected a key of: Acme",
       true},
      {with(good, key, R"("x509CertificateChain":{}, "publicKey":{)"),
       "x509CertificateChain: is not checked", true},
      {with(good, R"("messageSignature")", R"("dsseEnvelope":{}, "messageSignature")"),
       "dsseEnvelope: is not checked", true},
      {with(good, R"("messageSignature")", R"("messageSignatures")"),
       "unknown key 'messageSignatures'; did you mean 'messageSignature'?"},
      {with(good, key, R"("publicKey":{"rawBytes":"AAAA", )"), "unknown key 'rawBytes'"},
      {with(good, hint, R"("hint":7, "other":")"), "unknown key 'other'"},
      {with(good, hint, R"("hint":"\u001b[2J)"), "verificationMaterial.publicKey.hint"},
      {with(good, hint, R"("hint":"x", "hint":")"), "the key 'hint' is written twice"},
      {good.substr(0, good.size() / 2), "is malformed: is not JSON"},
      {good + "{}", "is malformed: is not JSON"},
      {"untrusted comment: x\n", "is malformed: is not JSON"},
      {"[]", "is malformed: expected an object, found an array of 0"},
      {"{}",
       "is malformed: mediaType: is missing, expected "
       "application/vnd.dev.sigstore.bundle.v0.3+json"},
      {deep, "is nested deeper than 16 levels"},
      {with(good, key, R"("tlogEntries":)" + deep + R"(, "publicKey":{)"),
       "is nested deeper than 16 levels"},
      {std::string("{\"a\0\":1}", 8), "is malformed: "},
      {std::string(max_signature_size + 1, ' '),
       "a signature of 16385 bytes, expected at most 16384"},
      {"", "a.so.sigstore.json is not there, expected a signature by a key of: Acme ("},
  };
  for (const auto& each : rows) {
    INFO(each.text.substr(0, 500));
    host.write("a.so.sigstore.json", each.text);
    host.required = true;
    const Status status = host.admit();
    INFO(status.text());
    CHECK(status.ok() == each.why.empty());
    if (each.why.empty()) continue;
    CHECK(status.error() == Error::AccessFailed);
    CHECK_THAT(std::string(status.text()), ContainsSubstring(std::string(each.why)));
    host.required = false;
    CHECK(host.admit().ok() == (each.is_unknown_key || each.text.empty()));
  }
  host.required = true;
  // In a manifest it is the same text.
  CHECK(host.admit(good).ok());
  CHECK_THAT(std::string(host.admit(host.signer.bundle("x")).text()),
             ContainsSubstring("its signature in its manifest is by key "));
}

TEST_CASE("of two signatures the one by a listed key counts, of two listed keys minisign's",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  Host host;
  const std::string minisig = host.signer.sign(file), bundle = host.signer.bundle(file);
  const std::string wrong_minisig = host.signer.sign("x"), wrong_bundle = host.signer.bundle("x");
  const std::string other_minisig = Signer(9).sign(file), other_bundle = Signer().bundle(file);
  const struct {
    bool lists_minisign, lists_sigstore;
    std::string minisig, bundle;
    std::string_view why;  ///< Empty: admitted.
  } rows[] = {
      {true, true, minisig, bundle, ""},
      {true, true, minisig, wrong_bundle, ""},
      {true, true, wrong_minisig, bundle,
       "a.so.minisig is by key AB07060504030201 of Acme: the file"},
      {true, true, other_minisig, bundle, ""},
      {true, true, "nonsense", bundle, ""},
      {true, true, "", bundle, ""},
      {true, true, minisig, "", ""},
      {true, true, other_minisig, other_bundle, "a.so.minisig is by key AB07060504030209, which"},
      {true, true, "", other_bundle, "a.so.sigstore.json is by key "},
      {true, true, "", "", "a.so.minisig or .sigstore.json is not there"},
      // A format without a listed key is not read.
      {true, false, minisig, wrong_bundle, ""},
      {true, false, "", bundle, "a.so.minisig is not there"},
      {false, true, wrong_minisig, bundle, ""},
      {false, true, minisig, "", "a.so.sigstore.json is not there"},
  };
  for (const auto& each : rows) {
    INFO(each.minisig << each.bundle << each.why);
    host.lists_minisign = each.lists_minisign;
    host.lists_sigstore = each.lists_sigstore;
    host.write("a.so.minisig", each.minisig);
    host.write("a.so.sigstore.json", each.bundle);
    const Status status = host.admit();
    INFO(status.text());
    CHECK(status.ok() == each.why.empty());
    CHECK_THAT(std::string(status.text()), ContainsSubstring(std::string(each.why)));
  }
}

TEST_CASE("a plugin with a bundle is loaded, and another plugin with it is not", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const std::string plugin = content_of(TENON_TEST_ZOO "/newer_minor.so");
  const Host host(plugin);
  host.write("a.so.sigstore.json", host.signer.bundle(plugin));
  const auto load = [&] {
    const auto publishers = parse_publishers(
        concat(
            R"({"publishers_version": 1, "publishers": [{"name": "Acme", "keys": [{"sigstore": ")",
            host.signer.sigstore_key(), R"("}]}]})"),
        "publishers.json");
    REQUIRE(publishers.ok());
    HostInfo info;
    info.gates.push_back(std::make_shared<SignaturePolicy>(*publishers));
    return Plugin::load(host.directory / "a.so", all_layers(info)).status();
  };
  CHECK(load().ok());
  host.write("a.so", content_of(TENON_TEST_ZOO "/static_constructor.so"));
  CHECK_THAT(std::string(load().text()), ContainsSubstring("the file is not what was signed"));
}

}  // namespace sigstore_test
