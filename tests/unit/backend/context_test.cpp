// SPDX-License-Identifier: MIT
#include <tenon/abi/static_plugin.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "unit/backend/fake_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Named data with two keys, of which the first is a tensor. Keys are not NUL-terminated.
struct FakeNamedDataMap : tenon_named_data_map {
  static constexpr std::string_view text = "weightbias!";
  static constexpr std::string_view keys[] = {text.substr(0, 6), text.substr(6, 4)};
  static constexpr std::int64_t sizes[] = {2, 3};
  static constexpr std::uint8_t dim_order[] = {1, 0};
  mutable FakeBuffer weight{"weight bytes"};
  mutable FakeBuffer bias{"bias bytes"};
  tenon_status failure = TENON_STATUS_NOT_FOUND;

  FakeNamedDataMap() : tenon_named_data_map{} {
    struct_size = sizeof(tenon_named_data_map);
    num_keys = 2;
    tenon_named_data_map::get_data = [](const tenon_named_data_map* map, const char* key,
                                        std::uint64_t size, tenon_buffer* out) -> tenon_status {
      const auto& self = static_cast<const FakeNamedDataMap&>(*map);
      const std::string_view wanted(key, static_cast<std::size_t>(size));
      if (out->struct_size != sizeof *out || out->data) return TENON_STATUS_INVALID_ARGUMENT;
      if (wanted != keys[0] && wanted != keys[1]) return self.failure;
      *out = wanted == keys[0] ? self.weight : self.bias;
      return TENON_STATUS_OK;
    };
    tenon_named_data_map::get_tensor_layout = [](const tenon_named_data_map* map, const char* key,
                                                 std::uint64_t size,
                                                 tenon_tensor_layout* out) -> tenon_status {
      const auto& self = static_cast<const FakeNamedDataMap&>(*map);
      if (std::string_view(key, static_cast<std::size_t>(size)) != keys[0]) return self.failure;
      if (out->struct_size != sizeof *out) return TENON_STATUS_INVALID_ARGUMENT;
      out->scalar_type = 6;
      out->rank = 2;
      out->sizes = sizes;
      out->dim_order = dim_order;
      return TENON_STATUS_OK;
    };
    tenon_named_data_map::get_key = [](const tenon_named_data_map*, std::uint32_t index,
                                       const char** key, std::uint64_t* size) -> tenon_status {
      if (index >= std::size(keys)) return TENON_STATUS_INVALID_ARGUMENT;
      *key = keys[index].data();
      *size = keys[index].size();
      return TENON_STATUS_OK;
    };
  }
};

/// Uses everything that its contexts offer. A delegate holds the named datum "weight".
class Curious final : public Backend<Curious> {
 public:
  static constexpr std::string_view id = "CuriousBackend";

  struct Delegate {
    NamedData weight;
    Blob blob;
  };

  Result<Delegate> init(InitContext& context, Blob processed, CompileSpecs specs) {
    const TracerScope scope(context.tracer(), "curious init", 5);
    host().log(LogLevel::Info, "loading ", context.method_name(), " with ", specs.size(),
               " specs on ", host().name(), " from ", host().plugin_path());
    const auto map = context.named_data_map();
    if (!map) return error(Error::InvalidProgram, "no named data");
    TENON_TRY(NamedData weight, map->get_data("weight"));
    if (!context.runtime_allocator().allocate(10)) {
      return error(Error::DelegateMemoryAllocationFailed, "no memory");
    }
    if (specs.find("release")) processed.release();
    return Delegate{std::move(weight), processed};
  }

  Status execute(ExecutionContext& context, Delegate& delegate, Args) {
    const Tracer tracer = context.tracer();
    const auto start = tracer.now();
    auto* scratch = context.temp_allocator().allocate_list<std::int16_t>(5);
    if (!scratch) return error(Error::MemoryAllocationFailed, "no scratch");
    if (tracer.enabled()) {
      tracer.log_event("curious run", start, tracer.now(), -1, delegate.weight.bytes());
    }
    if (delegate.blob.size() != 0) return ok();
    return error(Error::InvalidState, "blob is gone, it had ", delegate.blob.bytes().size());
  }
};

}  // namespace

TENON_PLUGIN(Curious);

namespace {
const LinkedPlugin plugin(tenon_static_plugin_Curious);
}

TEST_CASE("a backend reaches everything its contexts offer", "[backend]") {
  const FakeHost host;
  const FakeNamedDataMap map;
  const FakeTracer tracer;
  OpenedBackend backend(plugin.api(), host);
  backend.named_data_map = &map;
  backend.tracer = &tracer;
  FakeBuffer blob("blob");
  const std::array spec = {tenon_compile_spec{sizeof(tenon_compile_spec), 0, "key", "v", 1}};
  REQUIRE(backend.init(blob, {}, spec) == TENON_STATUS_OK);

  REQUIRE(host.lines.size() == 1);
  CHECK(host.lines[0].level == TENON_LOG_INFO);
  CHECK(host.lines[0].text ==
        "loading forward with 1 specs on fake host 9.8 from /somewhere/plugin.so");
  CHECK(backend.runtime_allocator.last_size == 10);
  CHECK(backend.runtime_allocator.last_alignment == alignof(std::max_align_t));

  CHECK(backend.execute(nullptr, 0) == TENON_STATUS_OK);
  CHECK(backend.temp_allocator.last_size == 10);
  CHECK(backend.temp_allocator.last_alignment == alignof(std::int16_t));
  REQUIRE(tracer.events.size() == 2);
  CHECK(tracer.events[0].name == "curious init");
  CHECK(tracer.events[0].debug_handle == 5);
  CHECK(tracer.events[0].start_ns == 100);
  CHECK(tracer.events[0].end_ns == 101);
  CHECK(tracer.events[1].name == "curious run");
  CHECK(tracer.events[1].debug_handle == -1);
  CHECK(tracer.events[1].start_ns == 102);
  CHECK(tracer.events[1].end_ns == 103);
  CHECK(tracer.events[1].metadata == "weight bytes");

  CHECK(map.weight.releases == 0);
  backend.destroy();
  CHECK(map.weight.releases == 1);
  CHECK(map.bias.releases == 0);
  CHECK(blob.releases == 0);
}

namespace {

/// A backend whose loads have named data.
struct Mapped {
  Mapped() { backend.named_data_map = &map; }

  const FakeHost host;
  const FakeNamedDataMap map;
  OpenedBackend backend{plugin.api(), host};
  FakeBuffer blob{"blob"};
};

}  // namespace

TEST_CASE("without a tracer nothing is traced and nothing fails", "[backend]") {
  Mapped mapped;
  REQUIRE(mapped.backend.init(mapped.blob) == TENON_STATUS_OK);
  CHECK(mapped.backend.execute(nullptr, 0) == TENON_STATUS_OK);
  mapped.backend.destroy();

  const Tracer none(nullptr);
  CHECK_FALSE(none.enabled());
  CHECK(none.now() == 0);
  none.log_event("nobody", 0, 1);
  const TracerScope scope(none, "nobody");
}

TEST_CASE("a blob that was released is empty and is released once", "[backend][TN-BUF-1]") {
  Mapped mapped;
  const std::array spec = {tenon_compile_spec{sizeof(tenon_compile_spec), 0, "release", "", 0}};
  REQUIRE(mapped.backend.init(mapped.blob, {}, spec) == TENON_STATUS_OK);
  CHECK(mapped.blob.releases == 1);
  CHECK(mapped.backend.execute(nullptr, 0) == TENON_STATUS_INVALID_STATE);
  CHECK(mapped.host.last_text == "blob is gone, it had 0");
  mapped.backend.destroy();
  CHECK(mapped.blob.releases == 1);
}

TEST_CASE("resources of a failed init are released", "[backend][TN-INI-1]") {
  const FakeHost host;
  const FakeNamedDataMap map;
  OpenedBackend backend(plugin.api(), host);
  FakeBuffer blob("blob");
  CHECK(backend.init(blob) == TENON_STATUS_INVALID_PROGRAM);
  CHECK(host.last_text == "no named data");

  backend.named_data_map = &map;
  backend.runtime_allocator.empty = true;
  CHECK(backend.init(blob) == TENON_STATUS_DELEGATE_MEMORY_ALLOCATION_FAILED);
  CHECK(map.weight.releases == 1);
  CHECK(blob.releases == 0);
}

TEST_CASE("an allocator passes sizes on and refuses a list whose size overflows", "[backend]") {
  FakeAllocator memory;
  const Allocator allocator(&memory);
  CHECK(allocator.allocate(3, 2) != nullptr);
  CHECK(memory.last_size == 3);
  CHECK(memory.last_alignment == 2);
  CHECK(allocator.allocate_list<double>(4) != nullptr);
  CHECK(memory.last_size == 32);
  CHECK(memory.last_alignment == 8);
  CHECK(memory.calls == 2);

  CHECK(allocator.allocate_list<double>(std::numeric_limits<std::size_t>::max() / 8 + 1) ==
        nullptr);
  CHECK(allocator.allocate_list<double>(std::numeric_limits<std::size_t>::max()) == nullptr);
  CHECK(memory.calls == 2);
}

TEST_CASE("named data are given back once, however they were moved", "[backend]") {
  const FakeNamedDataMap fake;
  const NamedDataMap map(&fake);
  {
    auto weight = map.get_data("weight");
    auto bias = map.get_data("bias");
    REQUIRE((weight.ok() && bias.ok()));
    CHECK(as_text(weight->bytes()) == "weight bytes");
    NamedData moved = *std::move(weight);
    CHECK(as_text(moved.bytes()) == "weight bytes");
    CHECK(weight->bytes().empty());
    moved = *std::move(bias);
    CHECK(as_text(moved.bytes()) == "bias bytes");
  }
  CHECK(fake.weight.releases == 1);
  CHECK(fake.bias.releases == 1);
}

TEST_CASE("a key without data or layout is NotFound by name", "[backend]") {
  FakeNamedDataMap fake;
  const NamedDataMap map(&fake);
  const auto data = map.get_data("weigh");
  CHECK(data.error() == Error::NotFound);
  CHECK(data.text() == "named data map: no data under key 'weigh' (2 keys)");
  const auto layout = map.get_tensor_layout("bias");
  CHECK(layout.error() == Error::NotFound);
  CHECK(layout.text() == "named data map: no tensor layout under key 'bias' (2 keys)");

  fake.failure = 0x99;
  CHECK(map.get_data("none").error() == Error::Internal);
}

TEST_CASE("a named tensor has its layout", "[backend]") {
  const FakeNamedDataMap fake;
  const auto layout = NamedDataMap(&fake).get_tensor_layout("weight");
  REQUIRE(layout.ok());
  CHECK(layout->scalar_type == ScalarType::Float);
  CHECK(std::ranges::equal(layout->sizes, FakeNamedDataMap::sizes));
  CHECK(std::ranges::equal(layout->dim_order, FakeNamedDataMap::dim_order));
}

TEST_CASE("keys are listed by number and a number beyond the last is InvalidArgument",
          "[backend]") {
  const FakeNamedDataMap fake;
  const NamedDataMap map(&fake);
  REQUIRE(map.num_keys() == 2);
  CHECK(*map.key(0) == "weight");
  CHECK(*map.key(1) == "bias");
  for (const std::size_t index : {std::size_t{2}, std::size_t{1} << 32}) {
    const auto key = map.key(index);
    CHECK(key.error() == Error::InvalidArgument);
    CHECK(key.text() == concat("named data key ", index, ": there are 2"));
  }
}

TEST_CASE("log lines carry their level and extensions of the host are found by id", "[backend]") {
  struct Table {
    std::uint32_t struct_size;
    std::uint32_t number;
  };
  const Table table = {sizeof(Table), 17};
  FakeHost fake;
  fake.extensions["test.number/1"] = &table;
  const HostServices host(&fake);
  host.log(LogLevel::Debug, "debug ", 1);
  host.log(LogLevel::Error, "error");
  host.log(LogLevel::Fatal);
  REQUIRE(fake.lines.size() == 3);
  CHECK(fake.lines[0].level == 0);
  CHECK(fake.lines[0].text == "debug 1");
  CHECK(fake.lines[1].level == 2);
  CHECK(fake.lines[2].level == 3);
  CHECK(fake.lines[2].text.empty());

  REQUIRE(host.extension<Table>("test.number/1") != nullptr);
  CHECK(host.extension<Table>("test.number/1")->number == 17);
  CHECK(host.extension<Table>("test.number/2") == nullptr);
  CHECK(host.raw() == &fake);
}

TEST_CASE("the host is asked whether code of the program may run", "[backend][TN-COD-1]") {
  tenon_init_context context{};
  context.struct_size = sizeof context;
  const std::byte code[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  const InitContext init(context);
  CHECK(init.permit_code(code).ok());

  context.permit_code = [](const tenon_init_context*, const void* bytes,
                           std::uint64_t size) -> tenon_status {
    const bool good = size == 3 && static_cast<const std::byte*>(bytes)[2] == std::byte{3};
    return good ? TENON_STATUS_OK : TENON_STATUS_ACCESS_FAILED;
  };
  CHECK(init.permit_code(code).ok());
  const Status refused = init.permit_code({});
  CHECK(refused.error() == Error::AccessFailed);
  CHECK_FALSE(refused.text().empty());
}
