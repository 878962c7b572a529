// SPDX-License-Identifier: MIT
//
// Whether code that a program carries may run: tests/plugins/embedded_code.cpp treats its blob as
// such code. This holds also when that plugin runs in a worker: another test runs this with
// TENON_ISOLATE.
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"
#include "unit/host/loader/method/method_support.hpp"

using namespace tenon;
using namespace tenon::test;
using host::EmbeddedCodePolicy;

namespace {

const std::string code = "code of four floats";
const std::string hash_of_code = tenon::sha256_of(bytes_of(code)).to_hex();
const std::string other_hash(64, '0');

/// `layers` are of all methods that are loaded with it.
std::unique_ptr<host::BackendRegistry> code_registry_with(host::Layers layers) {
  auto out = std::make_unique<host::BackendRegistry>(
      host::HostInfo{.gates = {host::environment_isolation()}, .layers = std::move(layers)});
  REQUIRE(out->register_backend(std::filesystem::path(TENON_ZOO "/embedded_code.so")).ok());
  return out;
}

const host::BackendRegistry& code_registry() {
  static const auto registry = code_registry_with({});
  return *registry;
}

EmbeddedCodePolicy policy_of(const std::string& text) {
  auto parsed = EmbeddedCodePolicy::parse(text);
  REQUIRE(parsed.ok());
  return *std::move(parsed);
}

Result<std::unique_ptr<host::Method>> load_code(const std::string& backend, host::Layers layers,
                                                const host::BackendRegistry& registry) {
  return load(chain_of({code}, backend), {.registry = &registry, .layers = std::move(layers)});
}

Result<std::unique_ptr<host::Method>> load_code(const std::string& backend,
                                                const std::string& policy) {
  return load_code(backend, {policy_of(policy)}, code_registry());
}

void check_runs(const std::string& backend, const std::string& policy) {
  INFO(backend << " " << policy);
  auto method = load_code(backend, policy);
  INFO(method.text());
  REQUIRE(method.ok());
  const std::vector<float> x{1, 2, 3, 4};
  REQUIRE(set_floats(**method, 0, x, {4}).ok());
  REQUIRE((*method)->execute().ok());
  CHECK(floats((*method)->output(0)) == x);
}

void check_refused(const std::string& backend, const std::string& policy, Error expected,
                   const std::string& text) {
  INFO(backend << " " << policy);
  const auto method = load_code(backend, policy);
  CHECK(method.error() == expected);
  CHECK(method.text() == concat("test.pte: method forward: delegate 0 (", backend, "): ", text));
}

}  // namespace

TEST_CASE("a policy is the same after it was read from text and written", "[code]") {
  const std::string two = "sha256:" + hash_of_code + "," + other_hash;
  for (const std::string& text : {std::string("allow"), std::string("deny"), std::string("sha256:"),
                                  "sha256:" + other_hash, two}) {
    const auto policy = EmbeddedCodePolicy::parse(text);
    INFO(text);
    REQUIRE(policy.ok());
    CHECK(policy->to_string() == text);
    CHECK(policy->allows_all() == (text == "allow"));
    CHECK(policy->denies_all() == (text == "deny"));
  }
  CHECK(*EmbeddedCodePolicy::parse("allow") == EmbeddedCodePolicy::allow());
  CHECK(*EmbeddedCodePolicy::parse(two) ==
        EmbeddedCodePolicy::allow_only({*host::parse_sha256(hash_of_code), tenon::Sha256{}}));
}

TEST_CASE("an invalid policy is refused with what was found", "[code]") {
  const auto refused = [](const std::string& text) {
    const auto policy = EmbeddedCodePolicy::parse(text);
    INFO(text);
    CHECK(policy.error() == Error::InvalidArgument);
    return std::string(policy.text());
  };
  for (const std::string& text : {std::string(), std::string("Allow"), std::string("allow "),
                                  std::string("sha512:00"), hash_of_code}) {
    CHECK_THAT(refused(text), ContainsSubstring("'" + text +
                                                "', expected allow, deny or "
                                                "sha256:HASH,HASH..."));
  }
  CHECK(refused("sha256:abc") ==
        "the policy for embedded code: a SHA-256 has 64 hexadecimal digits, found 3 characters: "
        "'abc'");
  CHECK_THAT(refused("sha256:" + other_hash + ",,"), ContainsSubstring("found 0 characters"));
  CHECK_THAT(refused("sha256:" + other_hash + "," + std::string(64, 'g')),
             ContainsSubstring("found 'g' at position 0"));
}

TEST_CASE("code runs when all code may, or when its hash is listed", "[code][TN-COD-1]") {
  for (const char* backend :
       {"AsksBackend", "ForgetsBackend", "IgnoresBackend", "UnmarkedBackend"}) {
    check_runs(backend, "allow");
  }
  for (const char* backend : {"AsksBackend", "IgnoresBackend", "UnmarkedBackend"}) {
    check_runs(backend, "sha256:" + hash_of_code);
    check_runs(backend, "sha256:" + other_hash + "," + hash_of_code);
  }
}

TEST_CASE("without a policy all code runs", "[code]") {
  for (const char* backend : {"AsksBackend", "ForgetsBackend", "UnmarkedBackend"}) {
    CHECK(load_code(backend, {}, code_registry()).ok());
  }
}

TEST_CASE("of several policies each one counts", "[code][TN-COD-3]") {
  const auto refusal = [](const char* first, const char* second) {
    const auto method =
        load_code("AsksBackend", {policy_of(first), policy_of(second)}, code_registry());
    return method.ok() ? Error::Ok : method.error();
  };
  const std::string listed = "sha256:" + hash_of_code;
  for (const char* other : {"deny", "sha256:"}) {
    for (const char* one : {"allow", listed.c_str()}) {
      CHECK(refusal(one, other) == Error::AccessFailed);
      CHECK(refusal(other, one) == Error::AccessFailed);
    }
  }
  CHECK(refusal("allow", listed.c_str()) == Error::Ok);
  CHECK(refusal(listed.c_str(), listed.c_str()) == Error::Ok);
}

TEST_CASE("a policy of a registry holds for each of its methods", "[code]") {
  const auto registry = code_registry_with({EmbeddedCodePolicy::deny()});
  const auto method = load_code("AsksBackend", {EmbeddedCodePolicy::allow()}, *registry);
  CHECK(method.error() == Error::AccessFailed);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("policy for embedded code is deny"));
}

TEST_CASE("deny refuses a backend before a budget asks it about the blob", "[code][memory]") {
  const host::Budget budget({{{TENON_DL_CPU, 0}, std::uint64_t{1} << 30}});
  const auto method =
      load_code("AsksBackend", {EmbeddedCodePolicy::deny(), budget}, code_registry());
  CHECK(method.error() == Error::AccessFailed);
  CHECK_THAT(
      std::string(method.text()),
      ContainsSubstring("method forward: delegate 0 (AsksBackend): backend AsksBackend runs"));
}

TEST_CASE("deny refuses a backend that runs code before it gets the blob", "[code]") {
  for (const std::string backend : {"AsksBackend", "ForgetsBackend", "IgnoresBackend"}) {
    check_refused(backend, "deny", Error::AccessFailed,
                  concat("backend ", backend,
                         " runs native code that the program carries, and the policy for embedded "
                         "code is deny; trust all such code with allow, or this code alone with "
                         "sha256:HASH (sha256: without a hash reports the one to give)"));
  }
}

TEST_CASE("deny refuses a backend that only asks", "[code][TN-COD-3]") {
  check_refused("UnmarkedBackend", "deny", Error::AccessFailed,
                "init: the program carries native code, and the policy for embedded code is deny");
}

TEST_CASE("code that is not listed is refused with its hash", "[code][TN-COD-3]") {
  for (const std::string backend : {"AsksBackend", "UnmarkedBackend"}) {
    for (const std::string& list : {std::string(), other_hash}) {
      check_refused(backend, "sha256:" + list, Error::AccessFailed,
                    concat("init: the native code that the program carries (", code.size(),
                           " bytes) has SHA-256 ", hash_of_code,
                           ", which the policy for embedded code does not list; trust it with "
                           "sha256:",
                           hash_of_code));
    }
  }
}

TEST_CASE("a backend that forgets to ask is not executed under a list", "[code][TN-COD-1]") {
  check_refused("ForgetsBackend", "sha256:" + hash_of_code, Error::Internal,
                "init: backend ForgetsBackend runs code that programs carry but did not ask for "
                "permission (TN-COD-1), which the policy for embedded code demands");
}

TEST_CASE("a backend that continues after a refusal is not executed", "[code][TN-COD-3]") {
  check_refused("IgnoresBackend", "sha256:" + other_hash, Error::Internal,
                concat("init: backend IgnoresBackend went on although it was refused (TN-COD-3): "
                       "the native code that the program carries (",
                       code.size(), " bytes) has SHA-256 ", hash_of_code,
                       ", which the policy for embedded code does not list; trust it with sha256:",
                       hash_of_code));
}

TEST_CASE("backends that run no code of the program are never asked about it", "[code]") {
  auto options = with_registry();
  options.layers.add(EmbeddedCodePolicy::deny());
  CHECK(load(chain_of({"a"}), std::move(options)).ok());
}

TEST_CASE("a reason other than the code's stays the backend's", "[code]") {
  host::MethodOptions options;
  options.registry = &code_registry();
  options.layers.add(EmbeddedCodePolicy::allow_only({}));
  const auto method = load(chain_of({"text"}, "AsksBackend"), std::move(options));
  CHECK(method.error() == Error::DelegateInvalidCompatibility);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("init: expected code"));
}

TEST_CASE("a blob is judged without running its code", "[code][TN-COD-4]") {
  const auto judge = [](const std::string& blob) {
    const auto backend = code_registry().lookup_backend("AsksBackend");
    REQUIRE(backend.ok());
    const auto program = open_program(chain_of({blob}, "AsksBackend"));
    const auto plan = program->plan("forward");
    REQUIRE(plan.ok());
    return host::check_blob(**backend, *program, "forward", *(*plan)->delegates()->Get(0), nullptr);
  };
  CHECK(judge("code").ok());
  const auto refused = judge("code to map");
  CHECK(refused.error() == Error::AccessFailed);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("check_blob"));
}

TEST_CASE("a list of backends says which run code, and loads nothing", "[code]") {
  std::vector<std::string> flagged;
  for (const host::BackendInfo& info : code_registry().enumerate_backends()) {
    if (info.backend()->runs_embedded_code) flagged.emplace_back(info.id());
  }
  CHECK(flagged == std::vector<std::string>{"AsksBackend", "ForgetsBackend", "IgnoresBackend"});
}
