// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/write/ptd_writer.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/schema/flat_tensor_generated.h"

namespace tenon::test::ptd_writer {

using aot::NamedEntry;
using aot::SharedBytes;

SharedBytes text(std::string_view value) { return SharedBytes::copy_of(value); }

std::size_t count_files(const std::filesystem::path& directory) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory), {}));
}

TEST_CASE("A written data file has ExecuTorch's header, and data at the alignment it asked for") {
  const std::vector<SharedBytes> buffers{text("data"), text("tensor bytes"), {}};
  const aot::DenseLayout layout{ScalarType::Float, {1, 3}, {1, 0}};
  const std::vector<NamedEntry> entries{{"bytes", {0, 512, {}}},
                                        {"tensor", {1, 3, layout}},
                                        {"again", {0, 1, {}}},
                                        {"none", {2, 1, {}}}};
  const auto image = aot::make_ptd(buffers, entries);
  REQUIRE(image.ok());
  const auto file = image->bytes();
  REQUIRE(as_text(Bytes(file).subspan(4, 8)) == "FT01FH01");
  REQUIRE(read_le<std::uint32_t>(file, 12) == 40u);
  REQUIRE(read_le<std::uint64_t>(file, 16) == 48u);
  const auto base = *read_le<std::uint64_t>(file, 32);
  REQUIRE(base + *read_le<std::uint64_t>(file, 40) == file.size());

  const auto found = host::DataFile::from_bytes(file, nullptr, "written");
  INFO(found.text());
  REQUIRE(found.ok());
  const auto& data = **found;
  REQUIRE(data.num_keys() == 4);
  REQUIRE(data.flatbuffer().segments()->size() == 3);
  REQUIRE(as_text(data.key_data(*data.find_key("bytes"))) == "data");
  REQUIRE((data.key_data(0).data() - file.data()) % 512 == 0);
  REQUIRE(data.key_data(0).data() == data.key_data(2).data());
  REQUIRE(data.key_data(3).empty());
  REQUIRE_FALSE(data.key_layout(0).has_value());
  const auto shape = data.key_layout(1);
  REQUIRE(shape.has_value());
  REQUIRE(shape->scalar_type == ScalarType::Float);
  REQUIRE(shape->sizes[1] == 3);
  REQUIRE(shape->dim_order[0] == 1);
}

TEST_CASE("A data file without entries can be written and read") {
  const auto image = aot::make_ptd({}, {});
  REQUIRE(image.ok());
  const auto file = image->bytes();
  const auto found = host::DataFile::from_bytes(file, nullptr, "written");
  INFO(found.text());
  REQUIRE(found.ok());
  REQUIRE((*found)->num_keys() == 0);
}

TEST_CASE("Entries that no reader would take are refused by key") {
  const std::vector<SharedBytes> buffers{text("data")};
  const auto refusal = [&](const std::vector<NamedEntry>& entries) {
    const auto image = aot::make_ptd(buffers, entries);
    REQUIRE(image.error() == Error::InvalidArgument);
    return std::string(image.text());
  };
  REQUIRE(refusal({{"a", {1}}}) ==
          "named data 'a': buffer index is 1, expected an index of one of 1 buffers");
  REQUIRE(refusal({{"a", {0}}, {"a", {0}}}) == "named data 'a': the key appears twice");
  REQUIRE(refusal({{"", {0}}}) == "named data '': the key is empty");
  REQUIRE(refusal({{"\xff", {0}}}).find("the key is not UTF-8") != std::string::npos);
  REQUIRE(refusal({{"a", {0, 0}}}).find("named data 'a': alignment is 0") == 0);
  REQUIRE(refusal({{"a", {0, 1, aot::DenseLayout{ScalarType::Float, {2}}}}}) ==
          "named data 'a': the tensor layout needs 8 bytes, but the data has 4");
  REQUIRE(refusal({{"a", {0, 1, aot::DenseLayout{ScalarType::Float, {-2}}}}}) ==
          "named data 'a': tensor layout: sizes[0] is -2, expected 0 or more");
  const auto image = aot::make_ptd(buffers, {}, {100});
  REQUIRE(image.text() ==
          "segment_alignment is 100, expected a power of two from 16 to 1073741824");
}

TEST_CASE("External data is written to a file for each tag, or not at all") {
  const TemporaryDirectory directory;
  aot::NamedDataStoreOutput data{{text("1"), text("2")},
                                 {{"inside", {0}}},
                                 {{"first", {{"a", {0}}}}, {"second", {{"b", {1}}, {"c", {0}}}}}};
  const auto paths = aot::write_external_data(data, directory.path());
  INFO(paths.text());
  REQUIRE(paths.ok());
  REQUIRE(paths->size() == 2);
  REQUIRE((*paths)[1] == directory.path() / "second.ptd");
  const auto found = host::DataFile::open((*paths)[1]);
  INFO(found.text());
  REQUIRE(found.ok());
  REQUIRE(as_text((*found)->key_data(*(*found)->find_key("b"))) == "2");
  REQUIRE(count_files(directory.path()) == 2);

  std::filesystem::remove((*paths)[0]);
  std::filesystem::remove((*paths)[1]);
  const auto refuse = [&](std::string_view expected) {
    const auto refused = aot::write_external_data(data, directory.path());
    REQUIRE_FALSE(refused.ok());
    REQUIRE_THAT(std::string(refused.text()), ContainsSubstring(std::string(expected)));
    REQUIRE(count_files(directory.path()) == 0);
  };
  data.external_data[1].entries[1].entry.buffer_index = 9;
  refuse("second.ptd: named data 'c': buffer index is 9");
  data.external_data[1].tag = "a/b";
  refuse("external tag 'a/b'");
  data.external_data[1].tag = "first";
  refuse("external tag 'first' appears twice");
}

}  // namespace tenon::test::ptd_writer
