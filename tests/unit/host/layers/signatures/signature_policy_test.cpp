// SPDX-License-Identifier: MIT
//
// What is loaded under a policy of signatures, and by what name the rest is refused.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/signer.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/discovery.hpp"
#include "tenon/host/layers/discovery/platform_names.hpp"
#include "tenon/host/layers/isolation/plugin_isolation.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/signatures.hpp"
#include "unit/host/loader/plugin/loaded_backend.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace signature_policy_test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t now = 1'790'000'000;

void install(std::string_view from, const fs::path& to) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  ::chmod(to.c_str(), 0644);
}

std::string zoo(std::string_view name) { return concat(TENON_TEST_ZOO "/", name, ".so"); }

Publishers publishers_of(const Signer& signer, bool required = true) {
  Publishers out;
  out.origin = "the list";
  out.required = required;
  out.keys.push_back({"Acme", *parse_minisign_key(signer.public_key())});
  return out;
}

std::shared_ptr<SignaturePolicy> policy_of(Publishers publishers, bool copies = true) {
  SignaturePolicy::Options options;
  options.copy = copies;
  options.now = [] { return now; };
  return std::make_shared<SignaturePolicy>(std::move(publishers), std::move(options));
}

HostInfo under(std::shared_ptr<const LibraryPolicy> policy) {
  HostInfo info;
  info.gates.push_back(std::move(policy));
  return info;
}

/// A directory with a plugin that its publisher signed.
struct Signed {
  explicit Signed(std::string_view name = "newer_minor") {
    install(zoo(name), plugin);
    signer.sign_file(plugin);
    ::chmod(signature.c_str(), 0644);
  }
  void write_signature(std::string_view text) const { std::ofstream(signature) << text; }

  Signer signer;
  TemporaryDirectory directory;
  fs::path plugin = directory / "a.so";
  fs::path signature = directory / "a.so.minisig";
};

/// A plugin that its publisher signed, and a library that it needs, without a signature.
struct SignedCompanions : Companions {
  SignedCompanions()
      : Companions(TENON_TEST_NEEDS_COMPANION, "needs_companion.so", TENON_TEST_COMPANION) {
    signer.sign_file(plugin);
  }

  Signer signer;
};

/// Checks that the plugin is refused before it is loaded, and returns why.
std::string refusal(const fs::path& plugin, const std::shared_ptr<const LibraryPolicy>& policy) {
  const LoadWatch watch("a.so");
  const auto loaded = Plugin::load(plugin, all_layers(under(policy)));
  CHECK(loaded.error() == Error::AccessFailed);
  CHECK(loaded.text().starts_with(plugin.native() + ": "));
  CHECK_FALSE(watch.is_loaded());
  return std::string(loaded.text());
}

}  // namespace

TEST_CASE("a plugin that a listed publisher signed is loaded, and another one is not",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  for (const bool copies : {true, false}) {
    const Signed here;
    const auto policy = policy_of(publishers_of(here.signer), copies);
    {
      const auto plugin = Plugin::load(here.plugin, all_layers(under(policy)));
      INFO(plugin.text());
      REQUIRE(plugin.ok());
      CHECK((*plugin)->path() == here.plugin.native());
      CHECK(run_zoo(*plugin) == 1);
      // Debuggers see the file itself only when it is what was loaded.
      CHECK(is_mapped("a.so") == !copies);
    }
    install(zoo("variant_base"), here.plugin);
    CHECK_THAT(refusal(here.plugin, policy),
               ContainsSubstring(concat("its signature ", here.signature.native(), " is by key ")));
    CHECK_THAT(refusal(here.plugin, policy),
               ContainsSubstring(" of Acme: the file is not what was signed"));
  }
}

TEST_CASE("a plugin whose constructor ends the process is refused before it is loaded",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  install(zoo("static_constructor"), here.plugin);
  static_cast<void>(refusal(here.plugin, policy_of(publishers_of(here.signer))));
}

TEST_CASE("a signature that is stripped, forged, of another file or another key is refused by name",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  const auto policy = policy_of(publishers_of(here.signer));
  const std::string file = content_of(here.plugin), good = content_of(here.signature);

  here.write_signature(here.signer.sign(file + "x"));
  CHECK_THAT(refusal(here.plugin, policy), ContainsSubstring("the file is not what was signed"));

  // The number of a listed key, and another key.
  here.write_signature(Signer().sign(file));
  CHECK_THAT(refusal(here.plugin, policy), ContainsSubstring("the file is not what was signed"));

  here.write_signature(Signer(9).sign(file));
  CHECK_THAT(refusal(here.plugin, policy),
             ContainsSubstring("is by key AB07060504030209, which the list does not list, expected "
                               "a key of: Acme (AB07060504030201)"));

  std::string changed = good;
  changed.replace(changed.find("timestamp:1"), 11, "timestamp:2");
  here.write_signature(changed);
  CHECK_THAT(refusal(here.plugin, policy),
             ContainsSubstring("the trusted comment is not what was signed"));

  here.write_signature(good.substr(0, good.size() / 2));
  CHECK_THAT(refusal(here.plugin, policy), ContainsSubstring(" is malformed: line "));
  here.write_signature(std::string(max_signature_size + 1, 'a'));
  CHECK_THAT(std::string(Plugin::load(here.plugin, all_layers(under(policy))).text()),
             ContainsSubstring("a signature of 16385 bytes, expected at most 16384"));

  fs::remove(here.signature);
  CHECK_THAT(refusal(here.plugin, policy),
             ContainsSubstring("is not there, expected a signature by a key of: Acme ("));
  here.write_signature("");
  CHECK_THAT(refusal(here.plugin, policy), ContainsSubstring("is not there"));
  fs::remove(here.signature);
  fs::create_directory(here.signature);
  const auto directory = Plugin::load(here.plugin, all_layers(under(policy)));
  CHECK(directory.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(directory.text()), ContainsSubstring("expected a regular file"));
}

TEST_CASE("a key counts in its time alone", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  const auto policy_for = [&](std::optional<std::int64_t> from, std::optional<std::int64_t> until) {
    Publishers publishers = publishers_of(here.signer);
    publishers.keys[0].not_before = from;
    publishers.keys[0].not_after = until;
    return policy_of(std::move(publishers));
  };
  CHECK(Plugin::load(here.plugin, all_layers(under(policy_for(now, now + 1)))).ok());
  CHECK_THAT(refusal(here.plugin, policy_for({}, now)),
             ContainsSubstring("of Acme, which counted before 2026-09-21T14:13:20Z by the list; it "
                               "is 2026-09-21T14:13:20Z"));
  CHECK_THAT(refusal(here.plugin, policy_for(now + 1, {})),
             ContainsSubstring("which counts from 2026-09-21T14:13:21Z on by the list; it is "));
}

TEST_CASE("a key that expires while the process runs admits no more loads, of a kept copy either",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  Publishers publishers = publishers_of(here.signer);
  publishers.keys[0].not_after = now + 1;
  SignaturePolicy::Options options;
  std::int64_t time = now;
  options.now = [&] { return time; };
  const auto policy = std::make_shared<SignaturePolicy>(publishers, options);
  CHECK(Plugin::load(here.plugin, all_layers(under(policy))).ok());
  CHECK(Plugin::load(here.plugin, all_layers(under(policy))).ok());
  time = now + 1;
  CHECK_THAT(refusal(here.plugin, policy), ContainsSubstring("which counted before"));
}

TEST_CASE("without a requirement what is not signed is loaded, and what is wrong is not",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  const auto policy = policy_of(publishers_of(here.signer, false));
  CHECK(Plugin::load(here.plugin, all_layers(under(policy))).ok());
  here.write_signature(Signer(9).sign(content_of(here.plugin)));
  CHECK(Plugin::load(here.plugin, all_layers(under(policy))).ok());
  here.write_signature(here.signer.sign("another file"));
  CHECK_THAT(refusal(here.plugin, policy), ContainsSubstring("is not what was signed"));
  here.write_signature("untrusted comment: x");
  CHECK_THAT(refusal(here.plugin, policy), ContainsSubstring("is malformed"));
  fs::remove(here.signature);
  CHECK(Plugin::load(here.plugin, all_layers(under(policy))).ok());
}

TEST_CASE("a plugin that is replaced or written to after the check is not what is loaded",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  const auto policy = policy_of(publishers_of(here.signer));
  auto opened = open_file(here.plugin, Trust::caller);
  REQUIRE(opened.ok());
  auto admitted = policy->admit(*std::move(opened), {});
  REQUIRE(admitted.ok());
  // In place, with the time of the last change put back. This one would end the process.
  const auto time = fs::last_write_time(here.plugin);
  std::fstream(here.plugin, std::ios::in | std::ios::out | std::ios::binary)
      << content_of(zoo("static_constructor"));
  fs::last_write_time(here.plugin, time);
  const auto plugin = Plugin::load(*std::move(admitted), nullptr, all_layers());
  INFO(plugin.text());
  REQUIRE(plugin.ok());
  CHECK(run_zoo(*plugin) == 1);
}

TEST_CASE("no process can write to the copy that is loaded", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  auto opened = open_file(here.plugin, Trust::caller);
  const auto admitted = policy_of(publishers_of(here.signer))->admit(*std::move(opened), {});
  REQUIRE(admitted.ok());
  const std::string name = concat("/proc/self/fd/", admitted->descriptor.get());
  CHECK(::truncate(name.c_str(), 0) != 0);
  std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
  file << "x" << std::flush;
  CHECK_FALSE(file.good());
}

TEST_CASE("a library is copied and hashed once as long as it does not change", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  const auto policy = policy_of(publishers_of(here.signer));
  const auto inode = [&] {
    auto opened = open_file(here.plugin, Trust::caller);
    const auto admitted = policy->admit(*std::move(opened), {});
    INFO(admitted.text());
    REQUIRE(admitted.ok());
    return admitted->identity.inode;
  };
  const std::uint64_t first = inode();
  CHECK(inode() == first);
  // Under another name as well.
  const fs::path other = here.directory / "b.so";
  fs::create_hard_link(here.plugin, other);
  here.signer.sign_file(other);
  const std::uint64_t linked = inode();  // Its ctime is another one.
  auto opened = open_file(other, Trust::caller);
  const auto admitted = policy->admit(*std::move(opened), {});
  REQUIRE(admitted.ok());
  CHECK(admitted->identity.inode == linked);
  CHECK(admitted->path == other);

  // Equal bytes, written again with equal times.
  const auto time = fs::last_write_time(here.plugin);
  install(zoo("newer_minor"), here.plugin);
  fs::last_write_time(here.plugin, time);
  CHECK(inode() != linked);
  // A stripped signature is not made up for by a kept copy.
  fs::remove(here.signature);
  CHECK_THAT(refusal(here.plugin, policy), ContainsSubstring("is not there"));
}

TEST_CASE("copies that are kept take no more memory than they may", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed one, other("variant_base");
  Publishers publishers = publishers_of(one.signer);
  Signer second(2);
  second.sign_file(other.plugin);
  publishers.keys.push_back({"Two", *parse_minisign_key(second.public_key())});
  SignaturePolicy::Options options;
  const auto size = std::max(fs::file_size(one.plugin), fs::file_size(other.plugin));
  options.max_kept_bytes = size;
  const auto policy = std::make_shared<SignaturePolicy>(publishers, options);
  const auto inode = [&](const fs::path& path) {
    return policy->admit(*open_file(path, Trust::caller), {})->identity.inode;
  };
  const std::uint64_t first = inode(one.plugin);
  CHECK(inode(one.plugin) == first);
  static_cast<void>(inode(other.plugin));
  CHECK(inode(one.plugin) != first);
  options.max_kept_bytes = 0;
  const auto keeps_none = std::make_shared<SignaturePolicy>(publishers, options);
  const auto before = Footprint::now();
  for (int i = 0; i < 10; ++i) CHECK(Plugin::load(one.plugin, all_layers(under(keeps_none))).ok());
  CHECK(Footprint::now().descriptors == before.descriptors);
}

TEST_CASE("a library next to a plugin needs a signature as well", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const SignedCompanions pair;
  const auto policy = policy_of(publishers_of(pair.signer));
  const auto refused = Plugin::load(pair.plugin, all_layers(under(policy)));
  CHECK(refused.error() == Error::AccessFailed);
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring(concat("needed by ", pair.plugin.native(), ": ",
                                      pair.library.native(), ": its signature ",
                                      pair.library.native(), ".minisig is not there")));
  CHECK_FALSE(is_mapped("libcompanion.so"));
  pair.signer.sign_file(pair.library);
  const auto loaded = Plugin::load(pair.plugin, all_layers(under(policy)));
  INFO(loaded.text());
  REQUIRE(loaded.ok());
  CHECK(run_zoo(*loaded) == 41);
  std::ofstream(pair.library, std::ios::app | std::ios::binary) << '\0';
  CHECK_THAT(std::string(Plugin::load(pair.plugin, all_layers(under(policy))).text()),
             ContainsSubstring("the file is not what was signed"));
}

TEST_CASE("a plugin isolation gets all files that were admitted, marked as admitted",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  class Everything final : public PluginIsolation {
   public:
    Result<bool> isolates(const PluginRecord&, std::string_view) const override { return true; }
    Result<OpenedFile> isolate(std::span<const OpenedFile> files,
                               const PluginRecord&) const override {
      std::string out;
      for (const OpenedFile& file : files) out += file.path.filename().native() + " ";
      return error(Error::NotImplemented, out, files.back().is_admitted ? "1" : "0");
    }
  };
  const SignedCompanions pair;
  HostInfo info = under(policy_of(publishers_of(pair.signer)));
  info.gates.push_back(std::make_shared<Everything>());
  const auto refused = Plugin::load(pair.plugin, all_layers(info));
  CHECK(refused.error() == Error::AccessFailed);
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring("libcompanion.so.minisig is not there"));
  pair.signer.sign_file(pair.library);
  CHECK(Plugin::load(pair.plugin, all_layers(info)).text() ==
        "libcompanion.so needs_companion.so 1");
  info.gates.front() = nullptr;
  CHECK(Plugin::load(pair.plugin, all_layers(info)).text() ==
        "libcompanion.so needs_companion.so 0");
}

TEST_CASE("under a policy no run path leads where nothing is checked", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signer signer;
  const auto policy = policy_of(publishers_of(signer));
  const std::string bytes = content_of(TENON_TEST_NEEDS_COMPANION);
  const std::size_t at = bytes.find(std::string("$ORIGIN/\0", 9));
  REQUIRE(at != std::string::npos);
  const struct {
    std::string_view run_path;  // As long as "$ORIGIN/".
    bool is_refused;
  } cases[] = {
      {"$ORIGIN/", false}, {"/usr/lib", false}, {"/lib64//", false}, {"/opt/ac/", true},
      {"lib/abcd", true},  {"./././.", true},   {"$ORIGIN:", true},  {":/usr/ab", true},
      {"/usr/../", true},  {"/usrlib/", true},  {"/usr/$A/", true},  {"${LIB}/a", true},
      {"$ORIGINx", true},
  };
  for (const auto& each : cases) {
    INFO(each.run_path);
    const TemporaryDirectory directory;
    std::string changed = bytes;
    changed.replace(at, 8, std::string(each.run_path).append(8 - each.run_path.size(), '\0'));
    directory.write("needs_companion.so", changed);
    ::chmod(directory.file("needs_companion.so").c_str(), 0644);
    const fs::path library = directory / "libcompanion.so";
    install(TENON_TEST_COMPANION, library);
    signer.sign_file(directory / "needs_companion.so");
    signer.sign_file(library);
    const auto loaded = Plugin::load(directory / "needs_companion.so", all_layers(under(policy)));
    INFO(loaded.text());
    CHECK((loaded.error() == Error::NotSupported) == each.is_refused);
    CHECK((loaded.text().find("its run path has ") != std::string_view::npos) == each.is_refused);
  }
}

TEST_CASE("under a policy no library is named by a path, as needed or as a filter",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signer signer;
  std::string bytes = content_of(TENON_TEST_NEEDS_COMPANION);
  const std::string name = "libcompanion.so", path = "/opt/compani.so";
  const std::uint64_t of_name = bytes.find(std::string(1, 0) + name + std::string(1, 0)) + 1;
  for (std::size_t at = 0; (at = bytes.find(name, at)) != bytes.npos; ++at) {
    bytes.replace(at, name.size(), path);
  }
  const auto word = [&](std::size_t at) {
    std::uint64_t out = 0;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
  };
  // Its entry in the dynamic section: DT_NEEDED, and the offset from DT_STRTAB, which comes later.
  std::size_t entry = 0;
  for (std::size_t at = 0; at + 32 <= bytes.size() && entry == 0; at += 8) {
    if (word(at) != 1 || word(at + 8) >= of_name) continue;
    for (std::size_t next = at + 16; next < std::min(at + 1024, bytes.size() - 16); next += 16) {
      if (word(next) == 5 && word(next + 8) + word(at + 8) == of_name) entry = at;
    }
  }
  REQUIRE(entry != 0);
  for (const std::uint64_t tag : {UINT64_C(1), UINT64_C(0x7ffffffd), UINT64_C(0x7fffffff)}) {
    INFO(tag);
    std::memcpy(bytes.data() + entry, &tag, sizeof tag);
    const TemporaryDirectory directory;
    directory.write("a.so", bytes);
    signer.sign_file(directory / "a.so");
    const auto loaded =
        Plugin::load(directory / "a.so", all_layers(under(policy_of(publishers_of(signer)))));
    CHECK_THAT(std::string(loaded.text()), ContainsSubstring("needs '/opt/compani.so'"));
  }
}

TEST_CASE("a manifest may hold the signature, and then it alone counts", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here("variant_base");
  const std::string good = content_of(here.signature);
  const auto escaped = [](std::string text) {
    for (const auto& [from, to] : {std::pair('\n', "\\n"), std::pair('\t', "\\t")}) {
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += 2) {
        text.replace(at, 1, to);
      }
    }
    return text;
  };
  const auto look_up = [&](const std::string& signature) {
    here.directory.write("a.json",
                         concat(R"({"manifest_version": 1, "library": "a.so", "signature": {")",
                                platform_name(), R"(": ")", escaped(signature),
                                R"("}, "sigstore": "https://acme.example/a.sigstore.json", )",
                                R"("backends": [{"id": "VariantBackend"}]})"));
    ::chmod(here.directory.file("a.json").c_str(), 0644);
    DiscoveryOptions options;
    options.installed = "";
    options.use_environment = false;
    options.paths = {here.directory.path()};
    BackendRegistry registry(under(policy_of(publishers_of(here.signer))));
    registry.add_search(discovery(options));
    const auto sources = registry.enumerate_backends();
    REQUIRE(sources.size() == 1);
    CHECK(sources[0].source->sigstore == "https://acme.example/a.sigstore.json");
    CHECK(sources[0].source->signature == signature);
    return registry.lookup_backend("VariantBackend").status();
  };
  // The file next to it is good in the second case.
  CHECK(look_up(good).ok());
  const Status wrong = look_up(here.signer.sign("another file"));
  CHECK(wrong.error() == Error::AccessFailed);
  CHECK_THAT(std::string(wrong.text()),
             ContainsSubstring("its signature in its manifest is by key"));
  fs::remove(here.signature);
  CHECK(look_up(good).ok());
}

TEST_CASE("a pin is compared with what a policy returns, which is what is loaded", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  class Swaps final : public LibraryPolicy {
   public:
    Result<OpenedFile> admit(OpenedFile, std::string_view) const override {
      return open_file(zoo("static_constructor"), Trust::caller);  // Would end this process.
    }
  };
  const Signed here("variant_base");
  const auto look_up = [&](std::string_view pin, std::shared_ptr<const LibraryPolicy> policy) {
    here.directory.write("a.json",
                         concat(R"({"manifest_version": 1, "library": "a.so", "sha256": ")", pin,
                                R"(", "backends": [{"id": "VariantBackend"}]})"));
    ::chmod(here.directory.file("a.json").c_str(), 0644);
    DiscoveryOptions options;
    options.installed = "";
    options.use_environment = false;
    options.paths = {here.directory.path()};
    BackendRegistry registry(under(std::move(policy)));
    registry.add_search(discovery(options));
    return registry.lookup_backend("VariantBackend").status();
  };
  const std::string file = content_of(here.plugin);
  const std::string good = sha256_of(std::as_bytes(std::span(file))).to_hex();
  const auto policy = policy_of(publishers_of(here.signer));
  CHECK(look_up(good, policy).ok());
  const Status swapped = look_up(good, std::make_shared<Swaps>());
  CHECK(swapped.error() == Error::AccessFailed);
  CHECK_THAT(std::string(swapped.text()), ContainsSubstring("expects " + good));
  CHECK(look_up(std::string(64, '0'), policy).error() == Error::AccessFailed);
}

TEST_CASE("what an application registers needs a signature as well, what is linked in does not",
          "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here("variant_base");
  fs::remove(here.signature);
  BackendRegistry registry(under(policy_of(publishers_of(here.signer))));
  REQUIRE(registry.register_backend(here.plugin).ok());
  const auto refused = registry.lookup_backend("VariantBackend");
  CHECK(refused.error() == Error::AccessFailed);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("is not there, expected a signature"));
  here.signer.sign_file(here.plugin);
  CHECK(registry.lookup_backend("VariantBackend").ok());
}

TEST_CASE("who signed a file is reported without loading it", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  Publishers publishers = publishers_of(here.signer);
  const auto report = [&](const Publishers& listed) {
    const auto opened = open_file(here.plugin, Trust::caller);
    const auto out = policy_of(listed)->examine(*opened);
    REQUIRE(out.ok());
    return *out;
  };
  SignatureReport good = report(publishers);
  CHECK(good.state == SignatureState::valid);
  CHECK(good.publisher == "Acme");
  CHECK(good.key_id == "AB07060504030201");
  CHECK(good.trusted_comment == "timestamp:1\tfile:a.so");
  CHECK(good.reason.empty());
  publishers.keys[0].not_after = now;
  CHECK(report(publishers).state == SignatureState::expired);
  CHECK(report(publishers).trusted_comment == good.trusted_comment);
  publishers.keys[0].not_before = now + 1;
  CHECK(report(publishers).state == SignatureState::not_yet_valid);
  CHECK(report({}).state == SignatureState::unknown_key);
  CHECK(report({}).trusted_comment.empty());
  here.write_signature(here.signer.sign("another file"));
  CHECK(report(publishers).state == SignatureState::forged);
  CHECK(report(publishers).trusted_comment.empty());
  here.write_signature("x");
  CHECK(report(publishers).state == SignatureState::malformed);
  fs::remove(here.signature);
  CHECK(report(publishers).state == SignatureState::missing);
  CHECK(state_name(SignatureState::not_yet_valid) == "not yet valid");
  CHECK(state_name(SignatureState::expired) == "expired");
}

TEST_CASE("without a policy no signature is read", "[signatures]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  here.write_signature("nonsense");
  CHECK(Plugin::load(here.plugin, all_layers()).ok());
}

TEST_CASE("threads load under one policy at once", "[signatures][threads]") {
  TENON_TEST_NEEDS_SIGNER();
  const Signed here;
  const auto policy = policy_of(publishers_of(here.signer));
  std::vector<std::thread> threads;
  std::atomic<int> num_loaded = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 25; ++turn) {
        num_loaded += Plugin::load(here.plugin, all_layers(under(policy))).ok() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(num_loaded == 100);
}

}  // namespace signature_policy_test
