// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "proxied.hpp"
#include "support/catch.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"

using namespace tenon;
using namespace tenon::test;
namespace fs = std::filesystem;

namespace proxy_record_test { namespace record_test {
namespace {

using Numbers = std::vector<float>;
using Sizes = std::vector<std::int64_t>;

/// Executes with these inputs, which it owns, and returns the first output in C order.
struct Runner {
  host::Method& method;
  std::vector<host::ArrayBytes> kept{};

  Result<Numbers> run(const std::vector<Numbers>& inputs, const Sizes& sizes) {
    kept.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      host::Array array{ScalarType::Float, sizes, host::ArrayBytes(inputs[i].size() * 4)};
      std::memcpy(array.data.data(), inputs[i].data(), array.data.size());
      const tenon_tensor& tensor = *method.input(i).as.tensor;
      kept.push_back(host::to_layout(std::move(array),
                                     {tensor.dim_order, static_cast<std::size_t>(tensor.dl.ndim)}));
      TENON_RETURN_IF_ERROR(
          method.set_input(i, host::InputTensor{ScalarType::Float, sizes, kept.back().span()}));
    }
    TENON_RETURN_IF_ERROR(method.execute());
    TENON_TRY(const auto array, host::to_array(method.output(0)));
    Numbers out(array.data.size() / 4);
    std::memcpy(out.data(), array.data.data(), array.data.size());
    return out;
  }
};

nlohmann::json read_json(const fs::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

/// Runs a recorded case on the plugin itself. Returns the number of outputs that are as recorded.
std::size_t replay(const fs::path& directory, const std::string& plugin) {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(fs::path(plugin)).ok());
  const auto program = host::Program::open(directory / "model.pte");
  INFO(program.text());
  REQUIRE(program.ok());
  const nlohmann::json json = read_json(directory / "case.json");
  host::MethodOptions options;
  options.registry = &registry;
  const auto method =
      host::Method::load(*program, json["method"].get<std::string>(), std::move(options));
  INFO(method.text());
  REQUIRE(method.ok());
  std::size_t equal = 0;
  for (const nlohmann::json& run : json["runs"]) {
    std::vector<host::NpyArray> inputs;
    for (std::size_t i = 0; i < run["inputs"].size(); ++i) {
      inputs.push_back(*host::read_npy(directory / run["inputs"][i].get<std::string>()));
    }
    REQUIRE(inputs.size() == (*method)->num_inputs());
    std::vector<host::ArrayBytes> kept;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Sizes shape = inputs[i].shape;
      const tenon_tensor& tensor = *(*method)->input(i).as.tensor;
      kept.push_back(
          host::to_layout(host::Array{ScalarType::Float, shape, std::move(inputs[i].data)},
                          {tensor.dim_order, static_cast<std::size_t>(tensor.dl.ndim)}));
      REQUIRE((*method)
                  ->set_input(i, host::InputTensor{ScalarType::Float, shape, kept.back().span()})
                  .ok());
    }
    REQUIRE((*method)->execute().ok());
    REQUIRE(run["expected"].size() == (*method)->num_outputs());
    for (std::size_t i = 0; i < run["expected"].size(); ++i) {
      const auto expected = host::read_npy(directory / run["expected"][i].get<std::string>());
      const auto found = host::to_array((*method)->output(i));
      REQUIRE(expected.ok());
      REQUIRE(found.ok());
      CHECK(found->shape == expected->shape);
      equal += std::ranges::equal(found->data, expected->data.span()) ? 1 : 0;
    }
  }
  return equal;
}

const Numbers ones{1, 2, 3, 4, 5, 6};
const Numbers tens{10, 20, 30, 40, 50, 60};

std::vector<fs::path> directories_in(const fs::path& parent) {
  std::vector<fs::path> out;
  if (!fs::exists(parent)) return out;
  for (const auto& entry : fs::directory_iterator(parent)) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

}  // namespace

TEST_CASE("a recorded delegate gives the same numbers again", "[proxy]") {
  const TemporaryDirectory records;
  struct Recorded {
    const char* name;
    std::vector<Numbers> inputs;
    Sizes sizes;
  };
  const Numbers twelve(12, 2.5f);
  for (const Recorded& one :
       {Recorded{"add", {ones, tens}, {2, 3}}, Recorded{"named_data", {ones, tens}, {2, 3}},
        Recorded{"constant", {ones}, {2, 3}}, Recorded{"scalar", {{1.5f}, {2.25f}}, {}},
        Recorded{"channels_last", {twelve, twelve}, {1, 2, 2, 3}}}) {
    INFO(one.name);
    const fs::path directory = records / one.name;
    {
      Proxied proxied(zoo_plugin("good"), {{"TENON_PROXY_RECORD", directory.native()}});
      const auto method = proxied.load(zoo_case(one.name));
      REQUIRE(method.ok());
      REQUIRE(Runner{**method}.run(one.inputs, one.sizes).ok());
      CHECK(proxied.findings().empty());
    }
    REQUIRE(directories_in(directory) == std::vector{directory / "delegate_1"});
    CHECK(replay(directory / "delegate_1", zoo_plugin("good")) == 1);
  }
}

TEST_CASE("a recorded case keeps its state between runs, and only the first runs", "[proxy]") {
  const TemporaryDirectory records;
  for (const auto& [most, kept] : std::map<std::string, std::size_t>{{"", 4}, {"2", 2}}) {
    const fs::path directory = records / ("most" + most);
    {
      Proxied proxied(zoo_plugin("good"), {{"TENON_PROXY_RECORD", directory.native()},
                                           {"TENON_PROXY_RECORD_RUNS", most}});
      const auto method = proxied.load(zoo_case("counter"));
      REQUIRE(method.ok());
      for (int run = 1; run <= 6; ++run) {
        const auto found = Runner{**method}.run({{10, 20, 30}}, {3});
        REQUIRE(found.ok());
        CHECK(found->front() == 10.0f + static_cast<float>(run));
      }
    }
    CHECK(read_json(directory / "delegate_1/case.json")["runs"].size() == kept);
    CHECK(replay(directory / "delegate_1", zoo_plugin("good")) == kept);
  }
}

TEST_CASE("a recorded case has the shapes of each run", "[proxy]") {
  const TemporaryDirectory records;
  {
    Proxied proxied(zoo_plugin("good"), {{"TENON_PROXY_RECORD", records.path().native()}});
    const auto method = proxied.load(zoo_case("add_dynamic"));
    REQUIRE(method.ok());
    const Numbers twelve(12, 0.5f);
    REQUIRE(Runner{**method}.run({twelve, twelve}, {4, 3}).ok());
    REQUIRE(Runner{**method}.run({ones, tens}, {2, 3}).ok());
    REQUIRE(Runner{**method}.run({twelve, twelve}, {4, 3}).ok());
  }
  CHECK(replay(records / "delegate_1", zoo_plugin("good")) == 3);
}

TEST_CASE("each delegate becomes a case of its own and old cases are kept", "[proxy]") {
  const TemporaryDirectory records;
  for (int times = 0; times < 2; ++times) {
    Proxied proxied(zoo_plugin("good"), {{"TENON_PROXY_RECORD", records.path().native()}});
    const auto method = proxied.load(zoo_case("two_delegates"));
    REQUIRE(method.ok());
    REQUIRE(Runner{**method}.run({ones, tens}, {2, 3}).ok());
  }
  const auto directories = directories_in(records.path());
  REQUIRE(directories.size() == 4);
  for (const fs::path& directory : directories) CHECK(replay(directory, zoo_plugin("good")) == 1);
}

TEST_CASE("options of a load are part of a recorded case", "[proxy]") {
  const TemporaryDirectory records;
  {
    Proxied proxied(zoo_plugin("good"), {{"TENON_PROXY_RECORD", records.path().native()}});
    const auto program = host::Program::open(zoo_case("add"));
    REQUIRE(program.ok());
    host::MethodOptions options;
    options.registry = &proxied.registry();
    options.backend_options = {{"ZooBackend", "bias", std::int64_t{7}}};
    const auto method = host::Method::load(*program, "forward", std::move(options));
    REQUIRE(method.ok());
    REQUIRE(Runner{**method}.run({ones, tens}, {2, 3}).ok());
  }
  const auto json = read_json(records / "delegate_1/case.json");
  CHECK(json["runtime_specs"]["ZooBackend"]["bias"] == 7);
}

TEST_CASE("a delegate that was never executed is not recorded", "[proxy]") {
  const TemporaryDirectory records;
  {
    Proxied proxied(zoo_plugin("good"), {{"TENON_PROXY_RECORD", records.path().native()}});
    REQUIRE(proxied.load(zoo_case("add")).ok());
  }
  CHECK(directories_in(records.path()).empty());
}

TEST_CASE("a recording that cannot be written is reported and the run continues", "[proxy]") {
  Proxied proxied(zoo_plugin("good"), {{"TENON_PROXY_RECORD", "/proc/none"}});
  {
    const auto method = proxied.load(zoo_case("add"));
    REQUIRE(method.ok());
    CHECK(Runner{**method}.run({ones, tens}, {2, 3}).ok());
  }
  const auto said = proxied.logged(TENON_LOG_ERROR, "a delegate of ZooBackend is not recorded");
  REQUIRE(said.size() == 1);
  CHECK_THAT(std::string(said.front()),
             ContainsSubstring("/proc/none: no directory can be made there"));
}

}}  // namespace proxy_record_test::record_test
