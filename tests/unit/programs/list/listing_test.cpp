// SPDX-License-Identifier: MIT
//
// What is listed, and how it is written, of searches that are made up.
#include "listing.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/abi/version.h"
#include "tenon/host/loader/impl/registry/cpu_features.hpp"

namespace {

using namespace tenon;
using host::PluginSource;
using host::SearchReport;
using list::Listing;
using list::make_listing;
using Ids = std::vector<std::string>;

std::shared_ptr<PluginSource> plugin(const std::string& path,
                                     std::vector<host::BackendRecord> backends) {
  auto source = std::make_shared<PluginSource>();
  source->search_path_kind = host::SearchPathKind::plugin_path;
  source->path = path;
  source->record = host::PluginRecord{.name = "acme",
                                      .version = "1.4.2",
                                      .vendor = "Acme",
                                      .sdk_version = "0.1.0",
                                      .abi_major = 1,
                                      .backends = backends};
  source->backends = std::move(backends);
  source->disabled.resize(source->backends.size());
  return source;
}

std::shared_ptr<PluginSource> refused_file(const std::string& path, const std::string& reason) {
  auto source = std::make_shared<PluginSource>();
  source->search_path_kind = host::SearchPathKind::plugin_path;
  source->path = path;
  source->error = Error::AccessFailed;
  source->reason = path + ": " + reason;
  return source;
}

SearchReport found(std::vector<std::shared_ptr<PluginSource>> sources) {
  SearchReport report;
  report.search_paths.push_back({.kind = host::SearchPathKind::plugin_path,
                                 .path = "/opt/acme",
                                 .num_sources = sources.size()});
  report.sources = std::move(sources);
  return report;
}

Listing listing_of(const SearchReport& report, std::vector<std::string> tags = {}) {
  static const host::CpuFeatures cpu({"some_feature"});
  host::BackendRegistry registry({}, &cpu);
  registry.add_search([&] { return report; });
  return make_listing(registry, std::move(tags));
}

Ids ids_of(const Listing& listing, bool all) {
  Ids ids;
  for (const auto& entry : listing.entries) {
    if (all || entry.hidden_as.empty()) ids.emplace_back(entry.info.id());
  }
  return ids;
}

}  // namespace

TEST_CASE("entries are sorted by id, the one that is taken first and refused files last",
          "[list]") {
  const auto listing =
      listing_of(found({refused_file("/opt/acme/a.so", "no"),
                        plugin("/opt/acme/b.so", {{.id = "Zebra"}, {.id = "Ant"}}),
                        plugin("/opt/acme/c.so", {{.id = "Zebra", .priority = 1}})}));
  CHECK(ids_of(listing, true) == Ids{"Ant", "Zebra", "Zebra", ""});
  CHECK(listing.entries[1].info.source->path == "/opt/acme/c.so");
  CHECK(listing.entries[1].hidden_as.empty());
  CHECK(listing.entries[2].hidden_as == "shadowed");
  CHECK(listing.entries[3].hidden_as == "refused");
  CHECK(ids_of(listing, false) == Ids{"Ant", "Zebra"});
  CHECK(listing.num_found == 4);
  CHECK(listing.search_paths.size() == 1);
}

TEST_CASE("all tags that are asked for must be there", "[list]") {
  const auto report = found({plugin("/opt/acme/a.so", {{.id = "Cpu", .tags = {"cpu"}},
                                                       {.id = "Both", .tags = {"npu", "cpu"}}}),
                             refused_file("/opt/acme/b.so", "no")});
  CHECK(ids_of(listing_of(report, {"cpu"}), true) == Ids{"Both", "Cpu"});
  CHECK(ids_of(listing_of(report, {"cpu", "npu"}), true) == Ids{"Both"});
  CHECK(ids_of(listing_of(report, {"cpu", "gpu"}), true) == Ids{});
  CHECK(ids_of(listing_of(report, {""}), true) == Ids{});
  const auto none = listing_of(report, {"gpu"});
  CHECK(none.num_found == 3);
  CHECK(none.all_tags == std::vector<std::string>{"cpu", "npu"});
}

TEST_CASE("a tag that hides backends does not hide them from those who ask for it", "[list]") {
  const auto report =
      found({plugin("/opt/acme/a.so", {{.id = "Debug", .tags = {"debug"}},
                                       {.id = "Both", .tags = {"debug", "experimental"}}})});
  CHECK(ids_of(listing_of(report), false) == Ids{});
  CHECK(ids_of(listing_of(report, {"debug"}), false) == Ids{"Debug"});
  CHECK(ids_of(listing_of(report, {"debug", "experimental"}), false) == Ids{"Both"});
}

TEST_CASE("columns line up, also with characters of several bytes", "[list]") {
  const auto listing = listing_of(found({plugin("/opt/acme/a.so", {{.id = "Ümlaut",
                                                                    .tags = {"npu", "é"},
                                                                    .priority = -3,
                                                                    .min_payload_version = 1,
                                                                    .max_payload_version = 3}}),
                                         plugin("/opt/acme/b.so", {{.id = "AcmeBackend",
                                                                    .priority = 100,
                                                                    .min_payload_version = 2,
                                                                    .max_payload_version = 2}})}));
  CHECK(to_text(listing, {}) ==
        "ID           STATE  PRIORITY  TAGS   PAYLOADS  PLUGIN      ORIGIN\n"
        "AcmeBackend  known       100  -      2         acme 1.4.2  /opt/acme/b.so\n"
        "Ümlaut       known        -3  npu,é  1-3       acme 1.4.2  /opt/acme/a.so\n");
}

TEST_CASE("a backend that runs the code of programs says so below its row", "[list]") {
  const auto listing = listing_of(found(
      {plugin("/opt/acme/a.so", {{.id = "One", .runs_embedded_code = true}, {.id = "Two"}})}));
  CHECK(to_text(listing, {}) ==
        "ID   STATE  PRIORITY  TAGS  PAYLOADS  PLUGIN      ORIGIN\n"
        "One  known         0  -     -         acme 1.4.2  /opt/acme/a.so\n"
        "    runs native code that programs carry\n"
        "Two  known         0  -     -         acme 1.4.2  /opt/acme/a.so\n");
}

TEST_CASE("a backend with kernels says so below its row", "[list]") {
  const auto listing =
      listing_of(found({plugin("/opt/acme/a.so", {{.id = "One", .offers_kernels = true}})}));
  CHECK(to_text(listing, {}) ==
        "ID   STATE  PRIORITY  TAGS  PAYLOADS  PLUGIN      ORIGIN\n"
        "One  known         0  -     -         acme 1.4.2  /opt/acme/a.so\n"
        "    has kernels for operators of programs\n");
}

TEST_CASE("colour changes no character of the table", "[list]") {
  const auto listing = listing_of(found({plugin("/opt/acme/a.so", {{.id = "One"}}),
                                         plugin("/opt/acme/b.so", {{.id = "One", .priority = 1}}),
                                         refused_file("/opt/acme/c.so", "no")}));
  const std::string plain = to_text(listing, {.all = true});
  std::string colored = to_text(listing, {.all = true, .color = true});
  CHECK(plain != colored);
  for (std::size_t at; (at = colored.find('\x1b')) != std::string::npos;) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  CHECK(plain == colored);
}

TEST_CASE("a search without places says what can be done", "[list]") {
  const auto text = to_text(listing_of(SearchReport{}), {});
  CHECK_THAT(text, ContainsSubstring("No backend was found.\nNo place was searched"));
  CHECK_THAT(text, ContainsSubstring("TENON_PLUGIN_PATH=/absolute/folder tenon-list"));
  CHECK_THAT(text, !ContainsSubstring("Install a plugin into"));
}

TEST_CASE("JSON holds all that is known, hidden or not", "[list]") {
  auto with_manifest = plugin("/opt/acme/a.so", {{.id = "AcmeBackend",
                                                  .tags = {"debug"},
                                                  .cpu_features = {"no_such_feature"},
                                                  .description = "For tests",
                                                  .priority = 7,
                                                  .min_payload_version = 1,
                                                  .max_payload_version = 3,
                                                  .runs_embedded_code = true,
                                                  .offers_kernels = true}});
  with_manifest->manifest = "/opt/acme/a.json";
  with_manifest->facts = {{"compiler", "gcc 12.2"}};
  with_manifest->sha256.emplace();
  const auto json = nlohmann::json::parse(
      to_json(listing_of(found({with_manifest, refused_file("/opt/acme/b.so", "no")}))));

  CHECK(json["version"] == TENON_VERSION_STRING);
  CHECK(json["privileged"] == false);
  CHECK(json["tags"].empty());
  CHECK(json["places"] == nlohmann::json::parse(R"([{"kind": "TENON_PLUGIN_PATH",
      "path": "/opt/acme", "num_candidates": 2, "error": null}])"));
  REQUIRE(json["backends"].size() == 1);
  auto backend = json["backends"][0];
  CHECK_THAT(backend["reason"].get<std::string>(), ContainsSubstring("no_such_feature"));
  backend.erase("reason");
  CHECK(backend == nlohmann::json::parse(R"({"id": "AcmeBackend", "state": "unsupported",
      "hidden_as": "unsupported", "priority": 7, "tags": ["debug"],
      "cpu_features": ["no_such_feature"], "description": "For tests",
      "payload_versions": {"min": 1, "max": 3}, "runs_embedded_code": true,
      "offers_kernels": true, "origin": "/opt/acme/a.so", "path": "/opt/acme/a.so", "place": 0,
      "plugin": {"name": "acme", "version": "1.4.2", "vendor": "Acme", "sdk_version": "0.1.0",
                 "abi": "1.0", "min_host_abi_minor": 0},
      "manifest": {"path": "/opt/acme/a.json", "sha256":
          "0000000000000000000000000000000000000000000000000000000000000000",
          "sigstore": null, "facts": {"compiler": "gcc 12.2"}}, "signature": null})"));
  CHECK(json["refused"] == nlohmann::json::parse(R"([{"error": {"name": "AccessFailed",
      "code": 34, "text": "/opt/acme/b.so: no"}, "origin": "/opt/acme/b.so",
      "path": "/opt/acme/b.so", "place": 0, "plugin": null, "manifest": null,
      "signature": null}])"));
}

TEST_CASE("JSON is ASCII in one line, whatever files are called", "[list]") {
  const auto text =
      to_json(listing_of(found({plugin("/opt/\xff\xc2\x9b\x7f\n\xc3\xa9.so", {{.id = "One"}})})));
  CHECK(text.find('\n') == text.size() - 1);
  for (const char c : text.substr(0, text.size() - 1)) CHECK((c >= 0x20 && c < 0x7f));
  CHECK(nlohmann::json::parse(text)["backends"][0]["path"] ==
        "/opt/\xef\xbf\xbd\xc2\x9b\x7f\n\xc3\xa9.so");
}

TEST_CASE("tags filter JSON as they filter the table", "[list]") {
  const auto report = found({plugin("/opt/acme/a.so", {{.id = "Cpu", .tags = {"cpu"}}}),
                             plugin("/opt/acme/c.so", {{.id = "Gpu", .tags = {"gpu", "debug"}}}),
                             refused_file("/opt/acme/b.so", "no")});
  const auto json = nlohmann::json::parse(to_json(listing_of(report, {"gpu"})));
  CHECK(json["tags"] == nlohmann::json::parse(R"(["gpu"])"));
  REQUIRE(json["backends"].size() == 1);
  CHECK(json["backends"][0]["hidden_as"] == "debug");
  CHECK(json["refused"].empty());
  CHECK(json["places"].size() == 1);
}
