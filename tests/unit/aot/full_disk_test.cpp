// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/program/program.hpp"
#include "unit/host/files/files_support.hpp"

namespace tenon::test::full_disk {

TEST_CASE("A program that does not fit on the disk leaves nothing behind, wherever it is cut") {
  const TemporaryFolder folder;
  folder.write("model.pte", "before");
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
      status = image->write(folder / "model.pte");
    }
    REQUIRE(status.error() == Error::OutOfResources);
    REQUIRE_THAT(std::string(status.text()),
                 ContainsSubstring(folder.file("model.pte") + ": cannot write: "));
    REQUIRE(names_in(folder.path()) == std::vector<std::string>{"model.pte"});
    REQUIRE(file_content(folder / "model.pte") == "before");
  }
  REQUIRE(aot::write_pte(data, folder / "model.pte").ok());
  REQUIRE(std::filesystem::file_size(folder / "model.pte") == image->size());
  REQUIRE(host::Program::open(folder / "model.pte").ok());
  data.methods.emplace_back();
  REQUIRE(aot::write_pte(data, folder / "model.pte").error() == Error::InvalidArgument);
  REQUIRE(std::filesystem::file_size(folder / "model.pte") == image->size());
}

}  // namespace tenon::test::full_disk
