// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/layers/arrays/npy.hpp"

/// Directories of cases, written for one test.
namespace case_test {

/// A directory for cases and subject files, removed on destruction.
class Directory : public tenon::test::TemporaryDirectory {
 public:
  void array(std::string_view name, const std::vector<float>& values) const {
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(values.size())};
    const auto written = tenon::host::write_npy(file(name), tenon::ScalarType::Float, shape,
                                                std::as_bytes(std::span(values)));
    REQUIRE(written.ok());
  }

  /// A complete case without case.json in a subdirectory.
  void add_case(const std::string& name) const {
    std::filesystem::create_directories(path() / name);
    (void)write(name + "/model.pte", "program");
    array(name + "/input_0.npy", {1, 2});
    array(name + "/expected_0.npy", {2, 4});
  }

  /// A case with `json` as case.json, in a directory "c" with one program and files a.npy, b.npy.
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
