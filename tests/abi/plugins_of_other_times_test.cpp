// SPDX-License-Identifier: MIT
//
// Plugins of a later minor, whose structs are longer; structs that are too short; and the
// negotiation of versions.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "abi/longer.hpp"
#include "support/catch.hpp"
#include "tenon/abi/tenon.h"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "unit/core/test_tensor.hpp"
#include "unit/host/loader/plugin/loaded_backend.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace {

constexpr std::uint16_t later_minor = TENON_ABI_MINOR + 1;

/// A member of a table that must not be called, because the table says it is shorter.
template <class Result, class... Arguments>
Result must_not_be_called(Arguments...) {
  std::abort();
}

tenon_status open_any(const tenon_host*, tenon_backend** out) {
  *out = nullptr;
  return TENON_STATUS_OK;
}
void close_any(tenon_backend*) {}
tenon_status init_any(tenon_backend*, const tenon_init_context*, tenon_delegate** out) {
  *out = nullptr;
  return TENON_STATUS_OK;
}
tenon_status execute_any(tenon_backend*, tenon_delegate*, const tenon_execution_context*,
                         tenon_value* const* args, std::uint32_t num_args) {
  if (num_args != 1) return TENON_STATUS_INVALID_ARGUMENT;
  ++args[0]->as.integer;
  return TENON_STATUS_OK;
}
void destroy_any(tenon_backend*, tenon_delegate*) {}

template <class Api = tenon_backend_api>
Api make_api() {
  Api api{};
  api.struct_size = sizeof api;
  api.open = open_any;
  api.close = close_any;
  api.init = init_any;
  api.execute = execute_any;
  api.destroy = destroy_any;
  return api;
}

/// A plugin's object with backends "First" and "Second", whose structs may be longer.
template <class Head = tenon_plugin_head, class Record = tenon_backend_record,
          class Body = tenon_plugin_body>
struct Object {
  Head head{};
  Record records[2]{};
  Body body{};
  const tenon_backend_api* tables[2];

  explicit Object(const tenon_backend_api& api) : tables{&api, &api} {
    constexpr std::uint8_t magic[] = TENON_PLUGIN_MAGIC;
    std::memcpy(head.magic, magic, sizeof magic);
    head.head_size = sizeof head;
    head.object_size = sizeof *this;
    head.abi_major = TENON_ABI_MAJOR;
    head.abi_minor = TENON_ABI_MINOR;
    head.pointer_size = sizeof(void*);
    head.little_endian = std::endian::native == std::endian::little;
    head.num_backends = 2;
    head.records_offset = offset(records);
    head.record_size = sizeof(Record);
    head.body_offset = offset(&body);
    std::strcpy(head.name, "time traveller");
    for (Record& record : records) record.struct_size = sizeof record;
    std::strcpy(records[0].id, "First");
    std::strcpy(records[1].id, "Second");
    std::strcpy(records[1].description, "the second");
    body.struct_size = sizeof body;
    body.num_backends = 2;
    body.backends = tables;
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

 private:
  [[nodiscard]] std::uint32_t offset(const void* member) const {
    return static_cast<std::uint32_t>(static_cast<const char*>(member) -
                                      reinterpret_cast<const char*>(this));
  }
};

Result<std::shared_ptr<const LoadedBackend>> get_backend(const tenon_plugin_head& head,
                                                         std::string_view id = "Second") {
  TENON_TRY(const auto plugin, Plugin::from_static(&head, all_layers()));
  return plugin->backend(id);
}

/// Expects that a plugin is refused because `field` states `size` bytes and not `whole` or more.
void check_short(const tenon_plugin_head& head, const char* field, std::size_t size,
                 std::size_t whole) {
  INFO(size);
  const auto refused = Plugin::from_static(&head, all_layers());
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring(concat(field, " is ", size, ",")) &&
                                              ContainsSubstring(concat(whole)) &&
                                              ContainsSubstring("(TN-BIN-4)"));
}

/// Runs one delegate once and expects that it adds 1.
void check_runs(const std::shared_ptr<const LoadedBackend>& backend) {
  LoadedBlob blob(backend, "any");
  REQUIRE(blob.init().ok());
  const TestArgs args({integer_value(1)});
  CHECK(blob.execute(args.data(), args.size()).ok());
  CHECK(args.data()[0]->as.integer == 2);
}

}  // namespace

TEST_CASE("a plugin of a later minor, whose every struct is longer, runs",
          "[abi][TN-BCK-3][TN-NEG-1]") {
  const auto api = make_api<Longer<tenon_backend_api>>();
  Object<Longer<tenon_plugin_head>, Longer<tenon_backend_record>, Longer<tenon_plugin_body>> object(
      api);
  object.head.abi_minor = later_minor;
  const auto plugin = Plugin::from_static(&object.head, all_layers());
  REQUIRE(plugin.ok());
  REQUIRE((*plugin)->record().backends.size() == 2);
  CHECK((*plugin)->record().backends[1].description == "the second");
  for (const char* id : {"First", "Second"}) {
    const auto backend = (*plugin)->backend(id);
    REQUIRE(backend.ok());
    check_runs(*backend);
  }
}

TEST_CASE("a plugin whose record is shorter than ABI 1.0's is refused", "[abi][TN-BIN-4]") {
  // Up to the last member that a record had in ABI 1.0.
  constexpr std::size_t whole = offsetof(tenon_backend_record, reserved) + sizeof(std::uint32_t);
  const auto api = make_api();
  Object<> object(api);
  object.head.num_backends = object.body.num_backends = 1;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{4}, offsetof(tenon_backend_record, tags),
        offsetof(tenon_backend_record, flags), whole - 4}) {
    object.head.record_size = object.records[0].struct_size = static_cast<std::uint32_t>(size);
    check_short(object.head, "record_size", size, whole);
  }
  object.head.record_size = object.records[0].struct_size = whole;
  const auto plugin = Plugin::from_static(&object.head, all_layers());
  REQUIRE(plugin.ok());
  CHECK((*plugin)->record().backends[0].id == "First");
}

TEST_CASE("a plugin whose head is shorter than ABI 1.0's is refused", "[abi][TN-BIN-4]") {
  // Up to the last member that the head had in ABI 1.0.
  constexpr std::size_t whole = offsetof(tenon_plugin_head, sdk_version) + TENON_ID_SIZE;
  const auto api = make_api();
  Object<> object(api);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{8}, offsetof(tenon_plugin_head, name),
        offsetof(tenon_plugin_head, vendor), offsetof(tenon_plugin_head, sdk_version), whole - 4}) {
    object.head.head_size = static_cast<std::uint32_t>(size);
    check_short(object.head, "head_size", size, whole);
  }
  object.head.head_size = whole;
  CHECK(get_backend(object.head).ok());
}

TEST_CASE("a host reads the flags of a record that it knows", "[abi][TN-COD-1]") {
  const auto api = make_api();
  Object<> object(api);
  object.records[0].flags = 0xffff;
  object.records[1].flags = 0xffff & ~std::uint32_t{TENON_BACKEND_RUNS_EMBEDDED_CODE};
  const auto plugin = Plugin::from_static(&object.head, all_layers());
  REQUIRE(plugin.ok());
  CHECK((*plugin)->record().backends[0].runs_embedded_code);
  CHECK_FALSE((*plugin)->record().backends[1].runs_embedded_code);
}

TEST_CASE("a table that ends before get_extension is not read there", "[abi][TN-BCK-3]") {
  auto api = make_api();
  api.struct_size = offsetof(tenon_backend_api, get_extension);
  api.get_extension = must_not_be_called<const void*, tenon_backend*, const char*>;
  const Object<> object(api);
  const auto backend = get_backend(object.head);
  REQUIRE(backend.ok());
  CHECK((*backend)->options().empty());
  CHECK_FALSE((*backend)->extension<tenon_devices_v1>(TENON_EXTENSION_DEVICES).has_value());
  check_runs(*backend);
}

TEST_CASE("optional functions are replaced by stubs", "[abi][TN-BCK-3]") {
  auto api = make_api();
  api.is_available = nullptr;
  api.get_extension = nullptr;
  const Object<> object(api);
  const auto backend = get_backend(object.head);
  REQUIRE(backend.ok());
  CHECK((*backend)->is_available().ok());
  CHECK((*backend)->options().empty());
  CHECK((*backend)->get_option("any").error() == Error::NotFound);
  check_runs(*backend);
}

TEST_CASE("a table without a function that is required is refused by its name", "[abi][TN-BCK-3]") {
  using Api = tenon_backend_api;
  const std::pair<const char*, void (*)(Api&)> cases[] = {
      {"open", [](Api& api) { api.open = nullptr; }},
      {"close", [](Api& api) { api.close = nullptr; }},
      {"init", [](Api& api) { api.init = nullptr; }},
      {"execute", [](Api& api) { api.execute = nullptr; }},
      {"destroy", [](Api& api) { api.destroy = nullptr; }},
      {"execute", [](Api& api) { api.struct_size = offsetof(Api, execute); }},
      {"open", [](Api& api) { api.struct_size = sizeof api.struct_size; }},
  };
  for (const auto& [missing, remove] : cases) {
    auto api = make_api();
    remove(api);
    const Object<> object(api);
    const auto backend = get_backend(object.head);
    INFO(missing);
    CHECK(backend.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(backend.text()),
               ContainsSubstring("backend Second") && ContainsSubstring(concat("`", missing, "`")));
  }
}

TEST_CASE("a table or a body without a size is refused", "[abi]") {
  auto api = make_api();
  api.struct_size = 0;
  const Object<> without_size(api);
  CHECK(get_backend(without_size.head).error() == Error::InvalidArgument);

  const auto good = make_api();
  Object<> object(good);
  object.body.struct_size = offsetof(tenon_plugin_body, backends);
  CHECK(get_backend(object.head).error() == Error::InvalidArgument);
  object.body.struct_size = sizeof object.body;
  object.body.backends = nullptr;
  CHECK(get_backend(object.head).error() == Error::InvalidArgument);
  object.body.backends = object.tables;
  object.body.num_backends = 1;
  CHECK(get_backend(object.head).error() == Error::InvalidArgument);
  object.body.num_backends = 2;
  CHECK(get_backend(object.head).ok());
}

TEST_CASE("versions are negotiated both ways", "[abi][TN-NEG-1][TN-NEG-2]") {
  const auto api = make_api();
  Object<> object(api);
  object.head.abi_minor = later_minor;
  CHECK(get_backend(object.head).ok());

  object.head.min_host_abi_minor = later_minor;
  const auto minor = get_backend(object.head);
  CHECK(minor.error() == Error::NotSupported);
  CHECK_THAT(std::string(minor.text()),
             ContainsSubstring("time traveller") &&
                 ContainsSubstring(concat("1.", later_minor, " or later")) &&
                 ContainsSubstring(concat("ABI ", TENON_ABI_MAJOR, ".", TENON_ABI_MINOR)));

  object.head.min_host_abi_minor = 0;
  object.head.abi_major = 2;
  const auto major = get_backend(object.head);
  CHECK(major.error() == Error::NotSupported);
  CHECK_THAT(std::string(major.text()),
             ContainsSubstring(concat("ABI 2.", later_minor)) &&
                 ContainsSubstring(concat("ABI ", TENON_ABI_MAJOR, ".", TENON_ABI_MINOR)));

  PluginRecord record;
  record.abi_major = 1;
  record.abi_minor = 3;
  record.min_host_abi_minor = 2;
  CHECK_FALSE(check_abi(record, {1, 1}).ok());
  CHECK(check_abi(record, {1, 2}).ok());
  CHECK(check_abi(record, {1, 9}).ok());
  CHECK_FALSE(check_abi(record, {0, 9}).ok());
}

TEST_CASE("an options table that is shorter or longer is used up to its size", "[abi]") {
  static Longer<tenon_options_v1> table;
  table.struct_size = sizeof table;
  table.num_specs = 0;
  table.set_option = [](tenon_backend*, const tenon_option*) -> tenon_status {
    return TENON_STATUS_OK;
  };
  table.get_option =
      must_not_be_called<tenon_status, tenon_backend*, const char*, tenon_option_sink, void*>;
  auto api = make_api();
  api.get_extension = [](tenon_backend*, const char* id) -> const void* {
    return std::string_view(id) == TENON_EXTENSION_OPTIONS ? &table : nullptr;
  };
  const Object<> object(api);
  const auto backend = get_backend(object.head);
  REQUIRE(backend.ok());
  CHECK((*backend)->set_option("any", true).ok());
  table.struct_size = offsetof(tenon_options_v1, get_option);
  CHECK((*backend)->set_option("any", true).ok());
  CHECK((*backend)->get_option("any").error() == Error::NotFound);
}

TEST_CASE("option declarations that are longer are walked by their own size", "[abi]") {
  static Longer<tenon_option_spec> specs[2];
  static tenon_option initial[2];
  const char* const keys[] = {"one", "two"};
  for (int i = 0; i < 2; ++i) {
    specs[i].struct_size = sizeof specs[i];
    specs[i].flags = TENON_OPTION_AT_LOAD;
    initial[i] = write_option(keys[i], OptionValue(std::int64_t{i}));
    specs[i].initial = &initial[i];
  }
  static tenon_options_v1 table{};
  table.struct_size = sizeof table;
  table.num_specs = 2;
  table.specs = specs;
  auto api = make_api();
  api.get_extension = [](tenon_backend*, const char*) -> const void* { return &table; };
  const Object<> object(api);
  const auto backend = get_backend(object.head);
  REQUIRE(backend.ok());
  const auto declared = (*backend)->options();
  REQUIRE(declared.size() == 2);
  CHECK(declared[1].key == "two");
  CHECK(declared[1].initial == OptionValue(std::int64_t{1}));
  CHECK(declared[1].at_load);
  CHECK_FALSE(declared[1].at_runtime);
  CHECK(declared[1].description.empty());
}
