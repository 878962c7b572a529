// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/program_builder.hpp"
#include "unit/programs/run/process.hpp"

namespace test {

using nlohmann::json;
using tenon::test::AlignedBytes;
using tenon::test::ProgramBuilder;
using Words = std::vector<std::string>;

inline const std::string fixtures = TENON_TEST_FIXTURES;
inline const std::string sin_model = fixtures + "/demo_sin_seg/model.pte";

/// The file of a plugin of the zoo.
[[nodiscard]] inline std::string zoo(const std::string& name) {
  return std::string(TENON_ZOO) + "/" + name + ".so";
}

/// A directory of plugins that no other user can write to, which build directories need not be,
/// with programs in a directory of their own.
class Bench {
 public:
  explicit Bench(const Words& plugins = {}) {
    for (const std::string& file : plugins) {
      const std::filesystem::path to = plugin(std::filesystem::path(file).filename().native());
      std::filesystem::copy_file(file, to);
      std::filesystem::permissions(to, std::filesystem::perms(0644));
    }
  }

  /// What the program finds in its environment, besides the place of the plugins.
  Variables variables;

  [[nodiscard]] std::string place() const { return plugins_.path().native(); }
  [[nodiscard]] std::string plugin(std::string_view name) const { return plugins_.file(name); }

  std::string write(std::string_view name, const std::string& bytes) const {
    return files_.write(name, bytes).native();
  }
  std::string write(const ProgramBuilder& builder, std::string_view name = "model.pte") const {
    return write(builder.build(), name);
  }
  std::string write(const AlignedBytes& file, std::string_view name) const {
    const auto bytes = file.bytes();
    return write(name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  [[nodiscard]] Outcome run(Words arguments, const std::string& out_path = {}) const {
    Variables all = variables;
    all.emplace("TENON_PLUGIN_PATH", place());
    const ScopedEnvironment environment(all);
    return run_program(TENON_DOCTOR, std::move(arguments), out_path);
  }

  /// The report of a run that gives `exit_code` and says nothing on standard error.
  [[nodiscard]] json report(const std::string& model, int exit_code, Words more = {}) const {
    more.insert(more.begin(), {model, "--json"});
    const Outcome outcome = run(more);
    INFO(outcome.err + outcome.out);
    REQUIRE(outcome.exit_code == exit_code);
    CHECK(outcome.err.empty());
    json out = json::parse(outcome.out);
    CHECK(out["exit_code"] == exit_code);
    CHECK(out["error"].is_null());
    return out;
  }
  /// Its only delegate.
  [[nodiscard]] json delegate(const std::string& model, int exit_code, Words more = {}) const {
    const json all = report(model, exit_code, std::move(more))["methods"].at(0);
    CHECK(all["can_run"] == (exit_code == 0));
    REQUIRE(all["delegates"].size() == 1);
    return all["delegates"][0];
  }

 private:
  TemporaryDirectory plugins_;
  TemporaryDirectory files_;
};

}  // namespace test
