// SPDX-License-Identifier: MIT
#include <cstring>
#include <functional>
#include <string>

#include "data_file_builder.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/schema/flat_tensor_generated.h"
#include "tenon/host/schema/program_generated.h"

using namespace tenon;
using namespace tenon::test;
using tenon::host::DataFile;

namespace data_file_test { namespace {

DataFileBuilder two_entries() {
  DataFileBuilder builder;
  builder.data("blob", "some bytes");
  builder.tensor("weight", ScalarType::Float, {2, 2}, std::string(16, 'w'));
  return builder;
}

const flat_tensor_schema::FlatTensor& root_in(const AlignedBytes& file) {
  return *flat_tensor_schema::GetFlatTensor(file.bytes().data());
}

struct Fault {
  std::string text;
  std::function<void(DataFileBuilder&)> edit;
  std::function<void(AlignedBytes&)> damage = {};
};

void check_refused(const Fault& fault) {
  INFO(fault.text);
  auto builder = two_entries();
  if (fault.edit) fault.edit(builder);
  auto file = builder.build();
  if (fault.damage) fault.damage(file);
  const auto opened = DataFile::from_bytes(file.bytes(), nullptr, "x.ptd");
  REQUIRE_FALSE(opened.ok());
  CHECK(error_name(opened.error()) == "InvalidExternalData");
  CHECK_THAT(std::string(opened.text()), ContainsSubstring("x.ptd: " + fault.text));
}

TEST_CASE("a data file gives its data by name") {
  const TemporaryDirectory directory;
  const auto bytes = two_entries().build();
  const auto path = directory.write("two.ptd", text_of(bytes.bytes()));
  const auto opened = DataFile::open(path);
  INFO(opened.text());
  REQUIRE(opened.ok());
  const auto& file = **opened;
  CHECK(file.name() == path.string());
  REQUIRE(file.num_keys() == 2);
  CHECK(file.key(0) == "blob");
  CHECK(file.key(1) == "weight");
  CHECK(text_of(file.key_data(0)) == "some bytes");
  CHECK_FALSE(file.key_layout(0).has_value());
  const auto weight = file.find_key("weight");
  REQUIRE(weight.has_value());
  CHECK(text_of(file.key_data(*weight)) == std::string(16, 'w'));
  const auto layout = file.key_layout(*weight);
  REQUIRE(layout.has_value());
  CHECK(layout->scalar_type == ScalarType::Float);
  CHECK(layout->nbytes() == 16);
  CHECK(layout->sizes.size() == 2);
  CHECK_FALSE(file.find_key("bias").has_value());
  file.drop(file.key_data(0));
  CHECK(text_of(file.key_data(0)) == "some bytes");
}

TEST_CASE("a data file without entries is valid") {
  const auto bytes = DataFileBuilder().build();
  const auto file = DataFile::from_bytes(bytes.bytes(), nullptr, "x.ptd");
  INFO(file.text());
  REQUIRE(file.ok());
  CHECK((*file)->num_keys() == 0);
}

TEST_CASE("a file that is not a data file is refused with its kind") {
  const auto write = [](const char* identifier) {
    return [=](AlignedBytes& file) { std::memcpy(&file.bytes()[4], identifier, 4); };
  };
  check_refused({"incompatible version: the file identifier is 'FT02', this host reads 'FT01'",
                 {},
                 write("FT02")});
  check_refused(
      {"not a data file: the file identifier is 'ET12', expected 'FT01' (this is a .pte "
       "program)",
       {},
       write("ET12")});
  check_refused(
      {"not a data file: the file identifier is 'abcd', expected 'FT01'", {}, write("abcd")});
  check_refused({"the file has 7 bytes, too few for a data file", {}, [](AlignedBytes& file) {
                   file.cut(7);
                 }});
  check_refused(
      {"header: byte 8 begins ", {}, [](AlignedBytes& file) { patch(file, 8, std::uint32_t{0}); }});
}

TEST_CASE("a data file with a lying header is refused") {
  const auto put = [](std::size_t offset, auto number) {
    return [=](AlignedBytes& file) { patch(file, offset, number); };
  };
  const auto file = two_entries().build();
  const auto size = std::uint64_t{file.bytes().size()};
  check_refused({"header: length is 39, expected at least 40", {}, put(12, std::uint32_t{39})});
  check_refused({"header: its 4294967295 bytes are not in the file", {}, put(12, UINT32_MAX)});
  check_refused({"header: the flatbuffer has", {}, put(16, size)});
  check_refused({"header: the flatbuffer has", {}, put(16, UINT64_MAX)});
  check_refused({"header: the flatbuffer has 18446744073709551615 bytes", {}, put(24, UINT64_MAX)});
  check_refused({"the flatbuffer of 48 bytes is corrupt", {}, put(24, std::uint64_t{0})});
  check_refused(
      {"header: segment_base_offset 8 is inside the flatbuffer", {}, put(32, std::uint64_t{8})});
  check_refused({"header: segments of 144 bytes begin at", {}, put(32, size - 143)});
  check_refused({"header: segments of 144 bytes begin at", {}, put(32, UINT64_MAX)});
  check_refused({"header: segments of 145 bytes begin at", {}, put(40, std::uint64_t{145})});
  check_refused({"segments[1]: 16 bytes at offset 128, but the segments of the file have 143",
                 {},
                 put(40, std::uint64_t{143})});
  check_refused({"header: its 40 bytes are not in the file of 47", {}, [](AlignedBytes& bytes) {
                   bytes.cut(47);
                 }});
}

TEST_CASE("a lying data file is refused") {
  using flat_tensor_schema::FlatTensor;
  using flat_tensor_schema::NamedData;
  using flat_tensor_schema::TensorLayout;
  const auto remove_root = [](flatbuffers::voffset_t field) {
    return [=](AlignedBytes& file) { remove_field(root_in(file), field); };
  };
  const auto remove_layout = [](flatbuffers::voffset_t field) {
    return [=](AlignedBytes& file) {
      remove_field(*root_in(file).named_data()->Get(1)->tensor_layout(), field);
    };
  };
  const std::vector<Fault> faults = {
      {"version is 1, this host reads version 0", [](auto& builder) { builder.root.version = 1; }},
      {"segments is missing", {}, remove_root(FlatTensor::VT_SEGMENTS)},
      {"named_data is missing", {}, remove_root(FlatTensor::VT_NAMED_DATA)},
      {"segments[0]: 18446744073709551615 bytes at offset 0, but",
       [](auto& builder) { builder.root.segments[0]->size = UINT64_MAX; }},
      {"segments[1]: 17 bytes at offset 128, but the segments of the file have 144 bytes",
       [](auto& builder) { builder.root.segments[1]->size = 17; }},
      {"named_data[1]: segment_index is 2, expected an index of one of 2 segments",
       [](auto& builder) { builder.root.named_data[1]->segment_index = 2; }},
      {"named_data[1]: 'blob' is also named_data[0]",
       [](auto& builder) { builder.root.named_data[1]->key = "blob"; }},
      {"named_data[0]: key is missing",
       {},
       [](AlignedBytes& file) {
         remove_field(*root_in(file).named_data()->Get(0), NamedData::VT_KEY);
       }},
      {"named_data[1]: tensor_layout: scalar_type is 99, expected a known type",
       [](auto& builder) {
         builder.root.named_data[1]->tensor_layout->scalar_type =
             static_cast<schema::ScalarType>(99);
       }},
      {"named_data[1]: tensor_layout: sizes is missing", {}, remove_layout(TensorLayout::VT_SIZES)},
      {"named_data[1]: tensor_layout: dim_order is missing",
       {},
       remove_layout(TensorLayout::VT_DIM_ORDER)},
      {"named_data[1]: tensor_layout: sizes[0] is -2, expected 0 or more",
       [](auto& builder) { builder.root.named_data[1]->tensor_layout->sizes[0] = -2; }},
      {"named_data[1]: tensor_layout: dim_order[1] is 0, which appeared before",
       [](auto& builder) { builder.root.named_data[1]->tensor_layout->dim_order[1] = 0; }},
      {"named_data[1]: tensor_layout: the tensor needs 24 bytes, but segment 1 has 16",
       [](auto& builder) { builder.root.named_data[1]->tensor_layout->sizes[0] = 3; }},
      {"named_data[1]: tensor_layout: segment 1 is not aligned to the element size, 4",
       [](auto& builder) { builder.root.segments[1]->offset = 126; }},
  };
  for (const auto& fault : faults) check_refused(fault);
}

TEST_CASE("data at an odd address is refused") {
  const auto file = two_entries().build();
  const AlignedBytes longer(file.bytes());
  const auto opened = DataFile::from_bytes(longer.bytes().subspan(8), nullptr, "odd.ptd");
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error() == Error::InvalidArgument);
}

}}  // namespace data_file_test
