// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/program_difference.hpp"
#include "support/random_program.hpp"
#include "support/rounds.hpp"
#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon::test::random_programs {

constexpr std::uint64_t num_programs = rounds(std::uint64_t{10'000});

aot::PteOptions options_of(std::uint64_t seed) {
  aot::PteOptions out;
  out.segment_alignment = std::uint64_t{16} << seed % 9;
  out.constant_alignment = std::uint64_t{16} << seed % 3;
  out.delegate_alignment = std::uint64_t{16} << seed % 5;
  return out;
}

std::string difference(const aot::ExternalData& expected, const aot::NamedDataStoreOutput& data,
                       const host::DataFile& found) {
  if (found.num_keys() != expected.entries.size()) return "number of keys";
  for (std::uint32_t i = 0; i < found.num_keys(); ++i) {
    const auto& [key, entry] = expected.entries[i];
    if (found.key(i) != key) return "key";
    const auto bytes = found.key_data(i);
    if (!aot::UniqueBytes::equal(bytes, data.buffers[entry.buffer_index].bytes())) return "data";
    const auto layout = found.key_layout(i);
    if (layout.has_value() != entry.tensor_layout.has_value()) return "having a layout";
    if (!layout) continue;
    const aot::DenseLayout same{layout->scalar_type,
                                {layout->sizes.begin(), layout->sizes.end()},
                                {layout->dim_order.begin(), layout->dim_order.end()}};
    if (same != *entry.tensor_layout) return "layout";
  }
  return "";
}

TEST_CASE("Random programs and their data files come back as they were written") {
  std::size_t num_values = 0;
  std::size_t num_delegates = 0;
  std::size_t num_files = 0;
  for (std::uint64_t seed = 0; seed < num_programs; ++seed) {
    const auto expected = RandomProgram(seed).make();
    const auto image = aot::make_pte(expected, options_of(seed));
    INFO("seed " << seed << ": " << image.text());
    REQUIRE(image.ok());
    const auto bytes = image->bytes();
    const auto program = host::Program::from_bytes(bytes, nullptr, "written");
    INFO(program.text());
    REQUIRE(program.ok());
    REQUIRE(ProgramDifference(expected, **program).find() == "");
    for (const auto& method : expected.methods) {
      num_values += method.values.size();
      num_delegates += method.delegates.size();
    }
    for (const auto& external : expected.named_data.external_data) {
      const auto file = aot::make_ptd(expected.named_data.buffers, external.entries,
                                      {options_of(seed).segment_alignment});
      INFO(file.text());
      REQUIRE(file.ok());
      const auto file_bytes = file->bytes();
      const auto found = host::DataFile::from_bytes(file_bytes, nullptr, "written");
      INFO(found.text());
      REQUIRE(found.ok());
      REQUIRE(difference(external, expected.named_data, **found) == "");
      ++num_files;
    }
  }
  // The generator did not lose its way.
  REQUIRE(num_values > 5 * num_programs);
  REQUIRE(num_delegates > num_programs);
  REQUIRE(num_files > num_programs / 2);
}

TEST_CASE("A random program is written the same way twice") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto first = aot::make_pte(RandomProgram(seed).make());
    const auto second = aot::make_pte(RandomProgram(seed).make());
    REQUIRE(first.ok());
    REQUIRE(first->bytes() == second->bytes());
  }
}

}  // namespace tenon::test::random_programs
