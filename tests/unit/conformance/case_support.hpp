// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "tenon/host/npy.hpp"

/// Folders of cases, written for one test.
namespace case_test {

/// A folder for cases and subject files that goes with this object.
class Folder : public tenon::test::TemporaryFolder {
 public:
  void array(std::string_view name, const std::vector<float>& values) const {
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(values.size())};
    const auto written = tenon::host::write_npy(file(name), tenon::ScalarType::Float, shape,
                                                std::as_bytes(std::span(values)));
    REQUIRE(written.ok());
  }

  /// A whole case without case.json in a folder inside.
  void add_case(const std::string& name) const {
    std::filesystem::create_directories(path() / name);
    (void)write(name + "/model.pte", "program");
    array(name + "/input_0.npy", {1, 2});
    array(name + "/expected_0.npy", {2, 4});
  }

  /// A case whose case.json is `json`, in a folder "c" with one program and files a.npy, b.npy.
  std::filesystem::path case_with(std::string_view json) const {
    std::filesystem::create_directories(path() / "c");
    (void)write("c/model.pte", "program");
    array("c/a.npy", {1, 2});
    array("c/b.npy", {2, 4});
    (void)write("c/case.json", json);
    return path() / "c";
  }
};

}  // namespace case_test
