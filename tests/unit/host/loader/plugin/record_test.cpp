// SPDX-License-Identifier: MIT
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "support/catch.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "unit/host/layers/inspect/object_builder.hpp"

using namespace tenon;
using namespace tenon::host;
using tenon::test::ByteVector;
using tenon::test::ObjectBuilder;
using tenon::test::put_text;

namespace {

void poke(ByteVector& bytes, std::size_t offset, std::uint32_t value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// An object whose head and records have other sizes than this host's structs.
ByteVector resized(std::uint32_t head_size, std::uint32_t record_size) {
  ObjectBuilder builder;
  const ByteVector whole = builder.bytes();
  const auto records_offset = (head_size + 7) / 8 * 8;
  const auto body_offset = (records_offset + 2 * record_size + 7) / 8 * 8;
  ByteVector out(body_offset + sizeof(tenon_plugin_body), std::byte{0xee});
  builder.head.head_size = head_size;
  builder.head.records_offset = records_offset;
  builder.head.record_size = record_size;
  builder.head.body_offset = body_offset;
  builder.head.object_size = static_cast<std::uint32_t>(out.size());
  std::memcpy(out.data(), &builder.head, std::min<std::size_t>(head_size, sizeof builder.head));
  for (std::size_t i = 0; i < 2; ++i) {
    tenon_backend_record& record = builder.records[i];
    record.struct_size = record_size;
    record.priority = 7;
    put_text(record.description, "described");
    std::memcpy(out.data() + records_offset + i * record_size, &record,
                std::min<std::size_t>(record_size, sizeof record));
  }
  return out;
}

}  // namespace

TEST_CASE("a plugin object is read completely") {
  ObjectBuilder builder;
  put_text(builder.head.vendor, "Zo\xc3\xab & Co");
  builder.head.min_host_abi_minor = 0;
  auto& first = builder.records[0];
  first.priority = -5;
  first.min_payload_version = 2;
  first.max_payload_version = 9;
  put_text(first.tags, " experimental ,, cpu,");
  put_text(first.cpu_features, "avx2");
  first.flags = TENON_BACKEND_RUNS_EMBEDDED_CODE;
  put_text(first.description, "Adds.");
  const auto record = read_record(builder.bytes(), "x.so");
  REQUIRE(record.ok());
  CHECK(record->name == "arithmetic");
  CHECK(record->version == "1.2.3");
  CHECK(record->vendor == "Zo\xc3\xab & Co");
  CHECK(record->sdk_version == TENON_VERSION_STRING);
  CHECK(record->abi_major == TENON_ABI_MAJOR);
  CHECK(record->abi_minor == TENON_ABI_MINOR);
  REQUIRE(record->backends.size() == 2);
  CHECK(record->backends[0].id == "AddBackend");
  CHECK(record->backends[0].tags == std::vector<std::string>{"experimental", "cpu"});
  CHECK(record->backends[0].cpu_features == std::vector<std::string>{"avx2"});
  CHECK(record->backends[0].description == "Adds.");
  CHECK(record->backends[0].priority == -5);
  CHECK(record->backends[0].min_payload_version == 2);
  CHECK(record->backends[0].runs_embedded_code);
  CHECK_FALSE(record->backends[1].runs_embedded_code);
  CHECK(record->backends[0].max_payload_version == 9);
  CHECK_FALSE(record->backends[0].offers_kernels);
  CHECK(record->backends[1] == BackendRecord{.id = "MulBackend"});
}

TEST_CASE("of the bits of a record that the host does not know, the upper half is refused",
          "[TN-KRN-1][TN-NEG-4]") {
  ObjectBuilder builder;
  builder.records[0].flags = 0x8000u | TENON_BACKEND_OFFERS_KERNELS;
  const auto record = read_record(builder.bytes(), "x.so");
  REQUIRE(record.ok());
  CHECK(record->backends[0].offers_kernels);
  CHECK_FALSE(record->backends[0].runs_embedded_code);
  for (const std::uint32_t bit : {16u, 31u}) {
    builder.records[1].flags = 1u << bit;
    const auto refused = read_record(builder.bytes(), "x.so");
    CHECK(refused.error() == Error::NotSupported);
    CHECK(refused.text() == concat("x.so: backend record 1: flags have bit ", bit,
                                   ", which restricts how the backend may be used; this host does "
                                   "not know it (TN-NEG-4)"));
  }
}

TEST_CASE("bytes behind the object are not looked at") {
  const ObjectBuilder builder;
  ByteVector bytes = builder.bytes();
  const auto alone = read_record(bytes, "x.so");
  bytes.resize(bytes.size() + 100, std::byte{0xff});
  const auto followed = read_record(bytes, "x.so");
  REQUIRE(alone.ok());
  REQUIRE(followed.ok());
  CHECK(*alone == *followed);
}

TEST_CASE("a plugin without a name is named after its first backend") {
  ObjectBuilder builder;
  put_text(builder.head.name, "");
  const auto record = read_record(builder.bytes(), "x.so");
  REQUIRE(record.ok());
  CHECK(record->name == "AddBackend");
}

TEST_CASE("records of a newer plugin are longer and still read") {
  const auto record = read_record(
      resized(sizeof(tenon_plugin_head) + 40, sizeof(tenon_backend_record) + 24), "new.so");
  INFO(record.text());
  REQUIRE(record.ok());
  CHECK(record->sdk_version == TENON_VERSION_STRING);
  REQUIRE(record->backends.size() == 2);
  CHECK(record->backends[1].id == "MulBackend");
  CHECK(record->backends[1].description == "described");
}

TEST_CASE("a head and records that are shorter than ABI 1.0's are refused", "[TN-BIN-4]") {
  constexpr std::uint32_t head_size = sizeof(tenon_plugin_head);
  constexpr std::uint32_t record_size = sizeof(tenon_backend_record);
  CHECK(read_record(resized(head_size, record_size), "x.so").ok());
  CHECK_THAT(std::string(read_record(resized(head_size - 4, record_size), "x.so").text()),
             ContainsSubstring("x.so: head_size is 356, expected a multiple of 4 from 360"));
  CHECK_THAT(
      std::string(read_record(resized(head_size, record_size - 4), "x.so").text()),
      ContainsSubstring("x.so: record_size is 596, expected a multiple of 4 that is at least "
                        "600"));
}

TEST_CASE("as many backends as are allowed are read, one more is refused") {
  std::vector<std::string> names;
  for (unsigned i = 0; i <= max_backends_per_plugin; ++i) names.push_back(concat("Backend", i));
  std::vector<std::string_view> ids(names.begin(), names.end());
  CHECK_THAT(std::string(read_record(ObjectBuilder(ids).bytes(), "x.so").text()),
             ContainsSubstring("num_backends is 1025, expected 1 to 1024"));
  ids.pop_back();
  const auto record = read_record(ObjectBuilder(ids).bytes(), "x.so");
  REQUIRE(record.ok());
  CHECK(record->backends.size() == max_backends_per_plugin);
  CHECK(record->backends.back().id == "Backend1023");
}

TEST_CASE("a malformed object is refused with what was expected and found") {
  struct Row {
    const char* text;
    std::function<void(ObjectBuilder&)> damage;
  };
  const auto head = [](auto member, auto value) {
    return [=](ObjectBuilder& object) { object.head.*member = value; };
  };
  const auto magic = [](std::size_t at, int value) {
    return [=](ObjectBuilder& o) { o.head.magic[at] = static_cast<std::uint8_t>(value); };
  };
  const Row rows[] = {
      {"has magic 7f 54 45 4e 4f 4e 32 0a, expected 89 54 45 4e 4f 4e 31 0a",
       [&](ObjectBuilder& o) { magic(0, 0x7f)(o), magic(6, '2')(o); }},
      {"copy in text mode", magic(7, '\r')},
      {"copy in text mode", magic(0, 0x09)},
      {"little_endian 0, expected 1", head(&tenon_plugin_head::little_endian, std::uint8_t{0})},
      {"pointers of 4 bytes, expected 8", head(&tenon_plugin_head::pointer_size, std::uint8_t{4})},
      {"head_size is 0, expected a multiple of 4 from 360",
       head(&tenon_plugin_head::head_size, 0u)},
      {"head_size is 100,", head(&tenon_plugin_head::head_size, 100u)},
      {"head_size is 362,", head(&tenon_plugin_head::head_size, 362u)},
      {"head_size is 4294967292,", head(&tenon_plugin_head::head_size, 0xfffffffcu)},
      {"object_size is 4294967295 but the plugin object has 1576 bytes",
       head(&tenon_plugin_head::object_size, 0xffffffffu)},
      {"head_size is 360, expected a multiple of 4 from 360 to the object's 200 bytes",
       head(&tenon_plugin_head::object_size, 200u)},
      {"num_backends is 0, expected 1 to 1024", head(&tenon_plugin_head::num_backends, 0u)},
      {"num_backends is 4294967295,", head(&tenon_plugin_head::num_backends, 0xffffffffu)},
      {"3 records of 600 bytes at records_offset 360 end at 2160",
       head(&tenon_plugin_head::num_backends, 3u)},
      {"record_size is 0, expected a multiple of 4 that is at least 600",
       head(&tenon_plugin_head::record_size, 0u)},
      {"record_size is 596,", head(&tenon_plugin_head::record_size, 596u)},
      {"record_size is 602,", head(&tenon_plugin_head::record_size, 602u)},
      {"2 records of 4294967292 bytes at records_offset 360 end at 8589934944",
       head(&tenon_plugin_head::record_size, 0xfffffffcu)},
      {"at records_offset 0 end at 1200", head(&tenon_plugin_head::records_offset, 0u)},
      {"at records_offset 4294967295 end at",
       head(&tenon_plugin_head::records_offset, 0xffffffffu)},
      {"body_offset is 0, expected a multiple of 8", head(&tenon_plugin_head::body_offset, 0u)},
      {"body_offset is 1290,", head(&tenon_plugin_head::body_offset, 1290u)},
      {"body_offset is 4294967288,", head(&tenon_plugin_head::body_offset, 0xfffffff8u)},
      {"the body at 1552 overlaps the records from 360 to 1560",
       head(&tenon_plugin_head::body_offset, 1552u)},
      {"name is not terminated within its 64 bytes",
       [](ObjectBuilder& o) { put_text(o.head.name, std::string(64, 'x')); }},
      {"vendor is not terminated within its 128 bytes",
       [](ObjectBuilder& o) { put_text(o.head.vendor, std::string(128, 'x')); }},
      {"version ends at byte 1 but is followed by other bytes at 2, expected zeros",
       [](ObjectBuilder& o) {
         put_text(o.head.version, std::string("1\0"
                                              "2",
                                              3));
       }},
      {"sdk_version is not UTF-8 at byte 1",
       [](ObjectBuilder& o) { put_text(o.head.sdk_version, "1\xff"); }},
      {"name holds control character 27 at byte 3",
       [](ObjectBuilder& o) { put_text(o.head.name, "abc\x1b[2J"); }},
      {"backend record 1: struct_size is 460, expected the head's record_size 600",
       [](ObjectBuilder& o) { o.records[1].struct_size = 460; }},
      {"backend record 0: min_payload_version 3 is above max_payload_version 2",
       [](ObjectBuilder& o) {
         o.records[0].min_payload_version = 3;
         o.records[0].max_payload_version = 2;
       }},
      {"backend record 1: id is empty", [](ObjectBuilder& o) { put_text(o.records[1].id, ""); }},
      {"backend record 0: id holds control character 10 at byte 3",
       [](ObjectBuilder& o) { put_text(o.records[0].id, "Add\n"); }},
      {"backend record 0: id holds control character 127",
       [](ObjectBuilder& o) { put_text(o.records[0].id, "\x7f"); }},
      {"backend record 0: id holds control character 133",
       [](ObjectBuilder& o) { put_text(o.records[0].id, "\xc2\x85"); }},
      {"backend record 0: id is not UTF-8 at byte 0",
       [](ObjectBuilder& o) { put_text(o.records[0].id, "\xc0\x80"); }},
      {"backend record 1: id is not terminated within its 64 bytes",
       [](ObjectBuilder& o) { put_text(o.records[1].id, std::string(64, 'y')); }},
      {"backend record 1: tags is not terminated within its 128 bytes",
       [](ObjectBuilder& o) { put_text(o.records[1].tags, std::string(128, 'y')); }},
      {"backend record 1: cpu_features is not UTF-8 at byte 0",
       [](ObjectBuilder& o) { put_text(o.records[1].cpu_features, "\xed\xa0\x80"); }},
      {"backend record 1: description holds control character 9",
       [](ObjectBuilder& o) { put_text(o.records[1].description, "\t"); }},
      {"two backend records have the id AddBackend",
       [](ObjectBuilder& o) { o.records[1] = o.records[0]; }},
  };
  for (const Row& row : rows) {
    ObjectBuilder builder;
    row.damage(builder);
    const auto record = read_record(builder.bytes(), "plugin.so");
    INFO("expected: " << row.text);
    REQUIRE_FALSE(record.ok());
    CHECK(record.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(record.text()), ContainsSubstring(row.text));
    CHECK_THAT(std::string(record.text()), ContainsSubstring("plugin.so: "));
  }
}

TEST_CASE("an object whose magic was widened by a change of encoding is recognised") {
  ByteVector bytes = ObjectBuilder().bytes();
  bytes.insert(bytes.begin(), std::byte{0xc2});
  CHECK_THAT(std::string(read_record(bytes, "x.so").text()),
             ContainsSubstring("damaged by a copy in text mode"));
}

TEST_CASE("every shortened object is refused") {
  const ByteVector whole = ObjectBuilder().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto record = read_record(cut, "x.so");
    INFO(size);
    REQUIRE(record.error() == Error::InvalidArgument);
  }
}

TEST_CASE("an object with random numbers in its head is read or refused") {
  std::mt19937 random(20261);
  const ByteVector whole = ObjectBuilder().bytes();
  const std::uint32_t values[] = {0, 1, 3, 8, 104, 360, 472, 1304, 0x7fffffff, 0xfffffff0};
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    ByteVector bytes = whole;
    for (int pokes = 0; pokes < 2; ++pokes) {
      const std::size_t offset = 8 + random() % 24 * 4;
      poke(bytes, offset % 104, values[random() % std::size(values)]);
    }
    const auto record = read_record(bytes, "x.so");
    if (!record.ok()) ++refused;
  }
  CHECK(refused > 10000);
}

TEST_CASE("a plugin of this ABI is accepted", "[TN-NEG-1]") {
  const auto record = read_record(ObjectBuilder().bytes(), "x.so");
  REQUIRE(record.ok());
  CHECK(check_abi(*record).ok());
}

TEST_CASE("a host of the minor that the plugin needs, or of a later one, accepts it",
          "[TN-NEG-1]") {
  PluginRecord record;
  record.name = "arithmetic";
  record.abi_major = 1;
  record.abi_minor = 9;
  record.min_host_abi_minor = 4;
  CHECK(check_abi(record, {.abi_major = 1, .abi_minor = 4}).ok());
  CHECK(check_abi(record, {.abi_major = 1, .abi_minor = 20}).ok());
}

TEST_CASE("a host of another major or of an earlier minor refuses the plugin and names both",
          "[TN-NEG-2]") {
  PluginRecord record;
  record.name = "arithmetic";
  record.abi_major = 1;
  record.abi_minor = 9;
  record.min_host_abi_minor = 4;
  const auto early = check_abi(record, {.abi_major = 1, .abi_minor = 3});
  CHECK(early.error() == Error::NotSupported);
  CHECK(early.text() ==
        "plugin arithmetic (Tenon ABI 1.9) needs a host of ABI 1.4 or later, this host speaks ABI "
        "1.3");
  for (const std::uint16_t major : {std::uint16_t{0}, std::uint16_t{2}}) {
    const auto other = check_abi(record, {.abi_major = major, .abi_minor = 9});
    CHECK(other.error() == Error::NotSupported);
    CHECK(other.text() == concat("plugin arithmetic speaks Tenon ABI 1.9, this host speaks ABI ",
                                 major, ".9: the major versions must be equal"));
  }
}

TEST_CASE("a record of another ABI is described when it can be read") {
  ObjectBuilder builder;
  builder.head.abi_major = TENON_ABI_MAJOR + 1;
  const auto record = read_record(builder.bytes(), "x.so");
  REQUIRE(record.ok());
  CHECK(check_abi(*record).error() == Error::NotSupported);
}

TEST_CASE("a record of another ABI that cannot be read is refused for its ABI") {
  ObjectBuilder builder;
  builder.head.abi_major = TENON_ABI_MAJOR + 1;
  builder.head.num_backends = 5000;
  const auto record = read_record(builder.bytes(), "x.so");
  CHECK(record.error() == Error::NotSupported);
  CHECK_THAT(std::string(record.text()),
             ContainsSubstring("x.so: plugin arithmetic speaks Tenon ABI 2.0"));
}
