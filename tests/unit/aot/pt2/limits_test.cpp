// SPDX-License-Identifier: MIT
//
// Archives that are small and unpack to much, or describe much: what reading them may cost.
#include "tenon/aot/compiler/pt2/limits.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

#include "archive_support.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/aot/compiler/pt2/reader.hpp"

namespace pt2_limits_test {

using namespace tenon;
using namespace tenon::aot;
using nlohmann::json;
using tenon::test::TemporaryDirectory;
using tenon::test::ZipContent;

constexpr const char* model_entry = "model/models/model.json";
const std::string weights_entry = "data/weights/model_weights_config.json";

struct Outcome {
  std::uintmax_t file_size = 0;
  Error error = Error::Ok;
  std::string text;  ///< Without the path.
};

Outcome read(const ZipContent& content, const Pt2Limits& limits = {}) {
  const TemporaryDirectory directory;
  content.write(directory / "m.pt2");
  const auto program = read_pt2(directory / "m.pt2", limits);
  Outcome out{std::filesystem::file_size(directory / "m.pt2"), program.error(),
              std::string(program.text())};
  const std::string path = directory.file("m.pt2") + ": ";
  if (!program.ok()) {
    REQUIRE(out.text.starts_with(path));
    out.text.erase(0, path.size());
  }
  return out;
}

/// The MLP with a member of its model that nothing reads.
ZipContent with_extra(const std::string& extra) {
  ZipContent content = ZipContent::fixture("mlp");
  std::string& model = content.entries.at(model_entry);
  model = R"({"extra": )" + extra + ", " + model.substr(model.find('{') + 1);
  return content;
}

std::string list_of(std::size_t count, const std::string& element) {
  std::string out = "[" + element;
  for (std::size_t i = 1; i < count; ++i) out += "," + element;
  return out + "]";
}

/// `config.fc1.weight` as `count` weights of 512 floats that are one float, repeated as `numel`.
ZipContent repeating(std::int64_t numel) {
  ZipContent content = ZipContent::fixture("mlp_decomposed");
  json weights = content.json(weights_entry);
  json& meta = weights["config"]["fc1.weight"]["tensor_meta"];
  meta["sizes"] = json::array({{{"as_int", numel}}});
  meta["strides"] = json::array({{{"as_int", 0}}});
  content.set(weights_entry, weights);
  return content;
}

/// Refused with the default of `ratio`, for `what`, and read with a large one.
void check_ratio(const ZipContent& content, std::uint64_t Pt2Limits::* ratio,
                 const std::string& what, const std::string& limit) {
  const Outcome refused = read(content);
  CHECK(refused.file_size < 100'000);
  CHECK(refused.error == Error::OutOfResources);
  CHECK_THAT(refused.text, ContainsSubstring(what) && ContainsSubstring("the limit " + limit));
  Pt2Limits limits;
  limits.*ratio = 2000;
  CHECK(read(content, limits).error == Error::Ok);
}

TEST_CASE("packed JSON that unpacks to far more than PyTorch's is refused before it is unpacked",
          "[pt2][limits]") {
  // 1 MB of JSON in 3 KB.
  ZipContent content = with_extra(list_of(500'000, "0"));
  content.compressed = true;
  check_ratio(content, &Pt2Limits::json_ratio, "entry 'models/model.json': bytes for each of the ",
              "json_ratio is 48");
}

TEST_CASE("JSON of an archive has limits of bytes, values and depth", "[pt2][limits]") {
  Pt2Limits limits;
  limits.json.bytes = 1000;
  CHECK_THAT(read(ZipContent::fixture("mlp"), limits).text,
             ContainsSubstring("'models/model.json': bytes: found 5518, the limit json.bytes"));
  limits = {};
  limits.json.values = 100;
  CHECK_THAT(read(ZipContent::fixture("mlp"), limits).text,
             ContainsSubstring("models/model.json: has more values than 100"));
  limits = {};
  limits.json.depth = 3;
  CHECK_THAT(read(ZipContent::fixture("mlp"), limits).text,
             ContainsSubstring("is nested deeper than 3 levels"));
  CHECK(read(with_extra(list_of(1000, "0"))).error == Error::Ok);
}

TEST_CASE("entries that unpack to far more than the file are refused", "[pt2][limits]") {
  ZipContent content = ZipContent::fixture("mlp");
  content.entries.emplace("model/data/weights/zeros", std::string(std::size_t{40} << 20, '\0'));
  content.compressed = true;
  check_ratio(content, &Pt2Limits::unpacked_ratio, "bytes of all entries for each of the file's ",
              "unpacked_ratio is 64");
}

TEST_CASE("a weight that repeats its elements has a limit of bytes", "[pt2][limits]") {
  Pt2Limits limits;
  limits.copied_bytes = 4000;
  // The bytes of all entries are free: that is what copies of other layouts need.
  const Outcome refused = read(repeating(10'000), limits);
  CHECK(refused.error == Error::OutOfResources);
  CHECK_THAT(refused.text, ContainsSubstring(weights_entry +
                                             ": config.fc1.weight: bytes of a copy in the plain "
                                             "order: found 40000, the limit copied_bytes is 4000"));
  // With more it is read, and then is not what the model describes.
  limits.copied_bytes = 40'000;
  CHECK_THAT(read(repeating(10'000), limits).text, ContainsSubstring("in another way"));
  CHECK(read(repeating(INT64_MAX)).error == Error::OutOfResources);
  CHECK(read(repeating(std::int64_t{1} << 27)).error == Error::OutOfResources);
}

TEST_CASE("long names in an archive do not make long errors", "[pt2][limits]") {
  const std::string name(100'000, 'n');
  const auto changed = [&](auto edit) {
    ZipContent content = ZipContent::fixture("mlp_decomposed");
    json model = content.json("models/model.json");
    edit(model["graph_module"]["graph"], model["graph_module"]["signature"]);
    content.set("models/model.json", model);
    const Outcome outcome = read(content);
    CHECK(outcome.error != Error::Ok);
    CHECK(outcome.text.size() < 1000);
  };
  changed([&](json& graph, json&) {
    graph["nodes"][2]["name"] = name, graph["nodes"][2]["target"] = 1;
  });
  changed([&](json& graph, json&) { graph["nodes"][2]["target"] = "#" + name; });
  changed([&](json& graph, json&) { graph["nodes"][2]["inputs"][0]["arg"] = {{name, 1}}; });
  changed([&](json& graph, json&) {
    graph["nodes"][2]["inputs"][0]["arg"] = {{"as_optional_tensor", {{name, 1}}}};
  });
  changed([&](json& graph, json&) {
    graph["nodes"][2]["inputs"][0]["arg"] = {{"as_sym_int", {{name, 1}}}};
  });
  changed([&](json& graph, json&) {
    graph["nodes"][2]["inputs"][0]["arg"] = {{"as_sym_ints", json::array({{{name, 1}}})}};
  });
  changed([&](json& graph, json&) {
    graph["nodes"][2]["outputs"][0] = {{"as_tensor", {{"name", name}}}};
  });
  changed([&](json& graph, json&) { graph["tensor_values"]["relu"]["sizes"][0] = {{name, 1}}; });
  changed([&](json&, json& signature) { signature["input_specs"][0] = {{name, 1}}; });
  changed([&](json&, json& signature) {
    signature["input_specs"][1]["parameter"]["parameter_name"] = name;
  });
  // A model has the name of its method, and of its entry.
  ZipContent content = ZipContent::fixture("mlp");
  const std::string longest(60'000, 'm');
  content.entries["model/models/" + longest + ".json"] = "{}";
  content.entries.erase(model_entry);
  const Outcome outcome = read(content);
  CHECK(outcome.error == Error::InvalidProgram);
  CHECK(outcome.text.size() < 1000);
}

}  // namespace pt2_limits_test
