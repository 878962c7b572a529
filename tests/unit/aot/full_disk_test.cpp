// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "unit/host/platform/files_support.hpp"

namespace tenon::test::full_disk {

TEST_CASE("A program that does not fit on the disk leaves nothing behind, wherever it is cut") {
  const TemporaryDirectory directory;
  directory.write("model.pte", "before");
  aot::ProgramData data;
  auto& method = data.methods.emplace_back();
  method.add_delegate({"B", aot::SharedBytes(std::vector<std::byte>(20'000)), {}, {}});
  const auto image = aot::make_pte(data);
  REQUIRE(image.ok());
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{300},
                                    std::uint64_t{5000}, image->size() - 1}) {
    Status status;
    {
      const FileSizeLimit full(limit);
      status = image->write(directory / "model.pte");
    }
    REQUIRE(status.error() == Error::OutOfResources);
    REQUIRE_THAT(std::string(status.text()),
                 ContainsSubstring(directory.file("model.pte") + ": cannot write: "));
    REQUIRE(names_in(directory.path()) == std::vector<std::string>{"model.pte"});
    REQUIRE(file_content(directory / "model.pte") == "before");
  }
  REQUIRE(aot::write_pte(data, directory / "model.pte").ok());
  REQUIRE(std::filesystem::file_size(directory / "model.pte") == image->size());
  REQUIRE(host::Program::open(directory / "model.pte").ok());
  data.methods.emplace_back();
  REQUIRE(aot::write_pte(data, directory / "model.pte").error() == Error::InvalidArgument);
  REQUIRE(std::filesystem::file_size(directory / "model.pte") == image->size());
}

}  // namespace tenon::test::full_disk
