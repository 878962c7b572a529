// SPDX-License-Identifier: MIT
//
// Archives that were damaged at random: they are refused, or give a program that can be walked
// through. The seeds are fixed, so that a failure comes again.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "archive_support.hpp"
#include "support/catch.hpp"
#include "support/rounds.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/aot/compiler/lower/edge_program_text.hpp"
#include "tenon/aot/compiler/pt2/reader.hpp"

using namespace tenon;
using namespace tenon::aot;
using nlohmann::json;
using tenon::test::rounds;
using tenon::test::TemporaryDirectory;
using tenon::test::ZipContent;

namespace damaged_test {

const std::vector<std::string> fixtures{"unbacked", "vision_decomposed", "shared",
                                        "symbolic", "arguments",         "stateful"};

struct Outcomes {
  int read = 0;
  int refused = 0;
};

/// Reads the file, and everything of a program.
void try_read(const std::filesystem::path& path, Outcomes& outcomes) {
  const auto program = read_pt2(path);
  if (!program.ok()) {
    ++outcomes.refused;
    REQUIRE(program.text().starts_with(path.native()));
    REQUIRE((program.error() == Error::InvalidProgram || program.error() == Error::NotSupported ||
             program.error() == Error::AccessFailed || program.error() == Error::OutOfResources));
    return;
  }
  ++outcomes.read;
  for (const Pt2Method& method : program->methods) {
    const EdgeProgram view = method.program.view();
    REQUIRE(to_text(view).size() > 10);
    unsigned sum = 0;
    for (ValueId id = 0; id < view.num_values(); ++id) {
      for (const std::byte byte : view.value(id).data()) sum += static_cast<unsigned>(byte);
    }
    REQUIRE(sum + 1 != 0);
  }
}

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  /// Below `limit`, which is not 0. Not std::uniform_int_distribution, which differs by library.
  std::size_t below(std::size_t limit) { return engine_() % limit; }

 private:
  std::mt19937 engine_;
};

/// All values inside `root`, itself first.
void collect(json& root, std::vector<json*>& out) {
  out.push_back(&root);
  if (root.is_structured()) {
    for (json& child : root) collect(child, out);
  }
}

/// Replaces one value by another: of the same JSON, or a value that is rarely good.
void mutate(json& root, Random& random) {
  std::vector<json*> all;
  collect(root, all);
  json& victim = *all[1 + random.below(all.size() - 1)];
  const std::vector<json> odd{nullptr,
                              -1,
                              0,
                              1,
                              INT64_MAX,
                              INT64_MIN,
                              18446744073709551615u,
                              1e300,
                              "",
                              "x",
                              "Symbol('s77', integer=True)",
                              "FloorDiv(Symbol('s77'), Integer(0))",
                              json::array(),
                              json::object(),
                              true,
                              {{"as_int", 3}},
                              {{"as_name", "x"}},
                              {{"as_tensor", {{"name", "x"}}}}};
  if (random.below(2) == 0) {
    victim = odd[random.below(odd.size())];
  } else {
    json other = *all[random.below(all.size())];
    victim = std::move(other);
  }
}

}  // namespace damaged_test

using namespace damaged_test;

TEST_CASE("archives with some bytes changed or the end cut off are refused or read", "[pt2]") {
  const TemporaryDirectory directory;
  Outcomes outcomes;
  Random random(1);
  for (const std::string& name : fixtures) {
    const std::string whole =
        test::file_content(std::filesystem::path(TENON_TEST_FIXTURES) / "pt2" / name / "model.pt2");
    REQUIRE(whole.size() > 1000);
    for (int round = 0; round < rounds(150); ++round) {
      std::string bytes = whole;
      if (round % 5 == 4) {
        bytes.resize(random.below(bytes.size()));
      } else {
        // Every second time near the end, where the directory is.
        const std::size_t begin = round % 2 == 0 ? 0 : bytes.size() - bytes.size() / 8;
        for (std::size_t i = 0; i <= random.below(8); ++i) {
          bytes[begin + random.below(bytes.size() - begin)] = static_cast<char>(random.below(256));
        }
      }
      try_read(directory.write("m.pt2", bytes), outcomes);
    }
  }
  CHECK(outcomes.refused > rounds(300));
}

TEST_CASE("archives whose JSON was changed at random are refused or read", "[pt2]") {
  const TemporaryDirectory directory;
  Outcomes outcomes;
  Random random(2);
  for (const std::string& name : fixtures) {
    const ZipContent whole = ZipContent::fixture(name);
    const json model = whole.json("models/model.json");
    const json weights = whole.json("data/weights/model_weights_config.json");
    for (int round = 0; round < rounds(150); ++round) {
      ZipContent content = whole;
      const bool is_model = round % 3 != 2 || weights["config"].empty();
      json value = is_model ? model : weights;
      for (std::size_t i = 0; i <= random.below(3); ++i) mutate(value, random);
      content.set(is_model ? "models/model.json" : "data/weights/model_weights_config.json", value);
      content.write(directory / "m.pt2");
      try_read(directory / "m.pt2", outcomes);
    }
  }
  CHECK(outcomes.refused > rounds(200));
  CHECK(outcomes.read > rounds(20));
}
