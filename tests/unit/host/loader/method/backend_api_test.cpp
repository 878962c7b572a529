// SPDX-License-Identifier: MIT

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "tenon/abi/extensions/options.h"
#include "tenon/host.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"

using namespace tenon;

namespace {

/// The options that a host sees of a backend with this table.
std::vector<host::OptionDeclaration> options_of(const tenon_options_v1& options) {
  static const tenon_options_v1* given = nullptr;
  given = &options;
  tenon_backend_api api = test::idle_table();
  api.get_extension = [](tenon_backend*, const char* id) -> const void* {
    return std::string_view(id) == TENON_EXTENSION_OPTIONS ? given : nullptr;
  };
  const host::HostTable table{host::all_layers(), "/hand/made.so"};
  const host::BackendRecord record;
  const auto backend = host::LoadedBackend::open(record, table.get(), api);
  REQUIRE(backend.ok());
  return backend->options();
}

}  // namespace

TEST_CASE("a function table that ends inside a pointer does not have that pointer", "[TN-BCK-3]") {
  tenon_backend_api api = test::idle_table();
  for (std::size_t cut = 1; cut < sizeof(void*); ++cut) {
    api.struct_size = static_cast<std::uint32_t>(offsetof(tenon_backend_api, destroy) + cut);
    const auto completed = host::complete_api(api, "Cut");
    REQUIRE(completed.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(completed.text()), ContainsSubstring("`destroy`"));
  }
  api.struct_size = static_cast<std::uint32_t>(offsetof(tenon_backend_api, get_extension) + 4);
  const auto completed = host::complete_api(api, "Cut");
  REQUIRE(completed.ok());
  CHECK(completed->get_extension(nullptr, "tenon.options/1") == nullptr);
}

TEST_CASE("an extension table that ends inside a pointer does not have that pointer") {
  tenon_options_v1 table{};
  table.struct_size = static_cast<std::uint32_t>(offsetof(tenon_options_v1, get_option) + 3);
  table.get_option = [](tenon_backend*, const char*, tenon_option_sink, void*) -> tenon_status {
    return TENON_STATUS_OK;
  };
  CHECK(host::complete_table<tenon_options_v1>(&table).get_option == nullptr);
}

TEST_CASE("options of a plugin with a longer struct are found by the size of the first one",
          "[TN-BCK-11]") {
  struct LongerSpec {
    tenon_option_spec known;
    std::uint64_t later = 0xA5A5A5A5A5A5A5A5;
  };
  static const auto initial = [](const char* key, std::int64_t value) {
    tenon_option out{sizeof(tenon_option), TENON_OPTION_INT, key, {}};
    out.as.integer = value;
    return out;
  };
  static const tenon_option initials[] = {initial("one", 1), initial("two", 2),
                                          initial("three", 3)};
  static const auto spec = [](const tenon_option& first) {
    LongerSpec out{};
    out.known.struct_size = sizeof out;
    out.known.flags = TENON_OPTION_AT_LOAD;
    out.known.description = first.key;
    out.known.initial = &first;
    return out;
  };
  static const LongerSpec specs[] = {spec(initials[0]), spec(initials[1]), spec(initials[2])};
  static const tenon_options_v1 options = {sizeof options, 3, &specs[0].known, nullptr, nullptr};
  std::vector<std::string> found;
  for (const host::OptionDeclaration& option : options_of(options)) {
    found.push_back(option.key + " " + std::to_string(*option.initial.get<std::int64_t>()));
  }
  CHECK(found == std::vector<std::string>{"one 1", "two 2", "three 3"});
}

TEST_CASE("a host shows the limits of options, and ignores limits of another type") {
  using Specs = std::array<tenon_option_spec, 4>;
  static const tenon_option one = write_option("threads", 1), most = write_option(nullptr, 16),
                            half = write_option("scale", 0.5), on = write_option("device", "cpu");
  static const char* const choices[] = {"cpu", "gpu"};
  static const Specs specs = [] {
    Specs out{};
    for (tenon_option_spec& each : out) {
      each.struct_size = sizeof each;
      each.flags = TENON_OPTION_AT_RUNTIME;
    }
    out[0].initial = &one;
    out[0].unit = "threads";
    out[0].minimum = &one;
    out[0].maximum = &most;
    out[1].initial = &half;
    out[1].minimum = &one;     // An integer is no limit of a double,
    out[1].choices = choices;  // and a number has no texts to choose from.
    out[1].num_choices = 2;
    out[1].flags |= TENON_OPTION_DEPRECATED;
    out[2].initial = &on;
    out[2].choices = choices;
    out[2].num_choices = 2;
    return out;  // The last one lacks `initial`.
  }();
  static const tenon_options_v1 options = {sizeof options, specs.size(), specs.data(), nullptr,
                                           nullptr};
  const auto found = options_of(options);
  REQUIRE(found.size() == 3);
  CHECK(found[0].range() == "1 to 16");
  CHECK(found[0].unit == "threads");
  CHECK_FALSE(found[0].is_deprecated);
  CHECK(found[1].range().empty());
  CHECK(found[1].choices.empty());
  CHECK(found[1].is_deprecated);
  CHECK(found[2].range() == "one of cpu, gpu");
  CHECK(found[2].choices == std::vector<std::string>{"cpu", "gpu"});
  static const tenon_options_v1 hollow = {sizeof hollow, 2, nullptr, nullptr, nullptr};
  CHECK(options_of(hollow).empty());
}

TEST_CASE("a static plugin that is null is refused by name") {
  CHECK(host::Plugin::from_static(nullptr, host::all_layers()).error() == Error::InvalidArgument);
  host::BackendRegistry registry;
  CHECK(registry.register_backend(nullptr).error() == Error::InvalidArgument);
}
