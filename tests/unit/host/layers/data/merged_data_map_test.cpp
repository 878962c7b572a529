// SPDX-License-Identifier: MIT
#include <memory>
#include <string>

#include "data_file_builder.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "unit/host/loader/program/rich_program.hpp"

using namespace tenon;
using namespace tenon::test;
using tenon::host::DataFile;
using tenon::host::MergedDataMap;
using tenon::host::Program;

namespace merged_data_map_test { namespace {

/// Opens what a builder makes; the result owns its bytes.
template <class File, class Builder>
std::shared_ptr<const File> opened(const Builder& builder, std::string name) {
  auto bytes = std::make_shared<AlignedBytes>(builder.build());
  const auto view = std::as_const(*bytes).bytes();
  auto file = File::from_bytes(view, std::move(bytes), std::move(name));
  INFO(file.text());
  REQUIRE(file.ok());
  return *std::move(file);
}

std::shared_ptr<const DataFile> data_file(std::string key, std::string_view bytes,
                                          std::string name) {
  DataFileBuilder builder;
  builder.data(std::move(key), bytes);
  return opened<DataFile>(builder, std::move(name));
}

tenon_buffer get(const MergedDataMap& map, std::string_view key, tenon_status expected = 0) {
  tenon_buffer buffer{};
  buffer.struct_size = sizeof buffer;
  REQUIRE(map.abi() != nullptr);
  CHECK(map.abi()->get_data(map.abi(), key.data(), key.size(), &buffer) == expected);
  return buffer;
}

using tenon::test::text_of;
std::string_view text_of(const tenon_buffer& buffer) {
  return {static_cast<const char*>(buffer.data), static_cast<std::size_t>(buffer.nbytes)};
}

TEST_CASE("a program's own named data is found") {
  const auto map = *MergedDataMap::create(opened<Program>(rich_program(), "rich.pte"));
  CHECK(map->num_keys() == 2);
  CHECK(*map->key(0) == "weights");
  CHECK(*map->key(1) == "same weights");
  CHECK_FALSE(map->key(2).has_value());
  REQUIRE(map->find("weights").has_value());
  CHECK(text_of(map->find("weights")->data) == "named data");
  CHECK_FALSE(map->find("weights")->layout.has_value());
  CHECK_FALSE(map->find("weight").has_value());
}

TEST_CASE("a map joins data files and a program, external keys first") {
  DataFileBuilder tensors;
  tensors.tensor("module.weight", ScalarType::Float, {2}, "12345678");
  tensors.data("empty", "");
  const auto map = *MergedDataMap::create(
      opened<Program>(rich_program(), "rich.pte"),
      {data_file("first", "one", "a.ptd"), opened<DataFile>(tensors, "b.ptd")});
  REQUIRE(map->num_keys() == 5);
  CHECK(*map->key(0) == "first");
  CHECK(*map->key(1) == "module.weight");
  CHECK(*map->key(2) == "empty");
  CHECK(*map->key(3) == "weights");
  CHECK(text_of(map->find("first")->data) == "one");
  CHECK(text_of(map->find("same weights")->data) == "named data");
  REQUIRE(map->find("module.weight")->layout.has_value());
  CHECK(map->find("module.weight")->layout->nbytes() == 8);
  CHECK(map->find("empty")->data.empty());
}

TEST_CASE("a map of nothing has no keys and is null for a plugin") {
  const auto map = *MergedDataMap::create(nullptr);
  CHECK(map->num_keys() == 0);
  CHECK(map->abi() == nullptr);
  CHECK_FALSE(map->find("").has_value());
  CHECK_FALSE(map->key(0).has_value());
}

TEST_CASE("a key in two files is refused with both names") {
  const auto program = opened<Program>(rich_program(), "rich.pte");
  const auto with_program = MergedDataMap::create(program, {data_file("weights", "x", "a.ptd")});
  REQUIRE_FALSE(with_program.ok());
  CHECK(with_program.error() == Error::InvalidArgument);
  CHECK(with_program.text() == "key 'weights' is both in a.ptd and in rich.pte");
  const auto among_files = MergedDataMap::create(
      nullptr,
      {data_file("k", "x", "a.ptd"), data_file("l", "x", "b.ptd"), data_file("k", "x", "c.ptd")});
  REQUIRE_FALSE(among_files.ok());
  CHECK(among_files.text() == "key 'k' is both in a.ptd and in c.ptd");
}

TEST_CASE("a map keeps its files alive") {
  auto file = data_file("key", "value", "a.ptd");
  const std::weak_ptr<const DataFile> watch = file;
  auto map = *MergedDataMap::create(nullptr, {file});
  file.reset();
  CHECK_FALSE(watch.expired());
  CHECK(text_of(map->find("key")->data) == "value");
  map.reset();
  CHECK(watch.expired());
}

TEST_CASE("a plugin reads data through the boundary") {
  DataFileBuilder tensors;
  tensors.tensor("module.weight", ScalarType::Short, {3, 1}, "123456");
  const auto map = *MergedDataMap::create(opened<Program>(rich_program(), "rich.pte"),
                                          {opened<DataFile>(tensors, "a.ptd")});
  const auto* abi = map->abi();
  REQUIRE(abi != nullptr);
  CHECK(abi->struct_size == sizeof(tenon_named_data_map));
  CHECK(abi->num_keys == 3);

  auto buffer = get(*map, "weights");
  CHECK(text_of(buffer) == "named data");
  REQUIRE(buffer.release != nullptr);
  buffer.release(&buffer);
  CHECK(buffer.data == nullptr);
  CHECK(buffer.nbytes == 0);
  buffer.release(&buffer);
  CHECK(text_of(get(*map, "weights")) == "named data");

  tenon_tensor_layout layout{};
  layout.struct_size = sizeof layout;
  const std::string_view key = "module.weight";
  REQUIRE(abi->get_tensor_layout(abi, key.data(), key.size(), &layout) == TENON_STATUS_OK);
  CHECK(layout.scalar_type == 2);
  REQUIRE(layout.rank == 2);
  CHECK(layout.sizes[0] == 3);
  CHECK(layout.dim_order[1] == 1);
  const std::int64_t* const sizes = layout.sizes;  // Valid as long as the map.
  REQUIRE(abi->get_tensor_layout(abi, key.data(), key.size(), &layout) == TENON_STATUS_OK);
  CHECK(layout.sizes == sizes);

  const char* name = nullptr;
  std::uint64_t size = 0;
  REQUIRE(abi->get_key(abi, 2, &name, &size) == TENON_STATUS_OK);
  CHECK(std::string_view(name, static_cast<std::size_t>(size)) == "same weights");
}

TEST_CASE("a plugin that asks wrongly gets a status") {
  const auto map = *MergedDataMap::create(opened<Program>(rich_program(), "rich.pte"));
  const auto* abi = map->abi();
  REQUIRE(abi != nullptr);
  const auto missing = get(*map, "nothing", TENON_STATUS_NOT_FOUND);
  CHECK(missing.data == nullptr);
  CHECK(missing.release == nullptr);

  tenon_buffer buffer{};
  buffer.struct_size = sizeof buffer;
  CHECK(abi->get_data(nullptr, "weights", 7, &buffer) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(abi->get_data(abi, nullptr, 7, &buffer) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(abi->get_data(abi, nullptr, 0, &buffer) == TENON_STATUS_NOT_FOUND);
  CHECK(abi->get_data(abi, "weights", 7, nullptr) == TENON_STATUS_INVALID_ARGUMENT);
  buffer.struct_size = 8;
  CHECK(abi->get_data(abi, "weights", 7, &buffer) == TENON_STATUS_INVALID_ARGUMENT);

  tenon_tensor_layout layout{};
  layout.struct_size = sizeof layout;
  CHECK(abi->get_tensor_layout(abi, "weights", 7, &layout) == TENON_STATUS_NOT_FOUND);
  CHECK(abi->get_tensor_layout(abi, "nothing", 7, &layout) == TENON_STATUS_NOT_FOUND);
  CHECK(abi->get_tensor_layout(abi, "weights", 7, nullptr) == TENON_STATUS_INVALID_ARGUMENT);
  layout.struct_size = 4;
  CHECK(abi->get_tensor_layout(abi, "weights", 7, &layout) == TENON_STATUS_INVALID_ARGUMENT);

  const char* name = nullptr;
  std::uint64_t size = 0;
  CHECK(abi->get_key(abi, 2, &name, &size) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(abi->get_key(abi, 0, nullptr, &size) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(abi->get_key(abi, 0, &name, nullptr) == TENON_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("a released buffer of a mapped file can be asked for again") {
  const TemporaryDirectory directory;
  DataFileBuilder builder;
  builder.data("large", std::string(100'000, 'l'));
  const auto bytes = builder.build();
  const auto file = DataFile::open(directory.write("large.ptd", text_of(bytes.bytes())));
  REQUIRE(file.ok());
  const auto map = *MergedDataMap::create(nullptr, {*file});
  auto first = get(*map, "large");
  const auto second = get(*map, "large");
  first.release(&first);
  CHECK(text_of(second) == std::string(100'000, 'l'));
  CHECK(text_of(get(*map, "large")) == std::string(100'000, 'l'));
}

}}  // namespace merged_data_map_test
