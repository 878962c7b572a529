// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fuzz/program_walk.hpp"
#include "support/catch.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"
#include "tenon/host/schema/program_generated.h"

using namespace tenon;
using namespace tenon::test;
using nlohmann::json;

namespace {

const std::filesystem::path fixtures = TENON_TEST_FIXTURES;

/// Scalar type by the name that a fixture gives it ("torch.float32").
ScalarType scalar_type(const std::string& name) {
  constexpr std::string_view module = "torch.";
  REQUIRE(name.starts_with(module));
  const ScalarTypeInfo* const found = find_torch_scalar_type(name.substr(module.size()));
  INFO(name);
  REQUIRE(found);
  return found->type;
}

/// Checks sizes; where a shape is dynamic the program states only the bounds.
void check_tensor(const Result<host::TensorMeta>& meta, const json& facts) {
  REQUIRE(meta.ok());
  CHECK(meta->layout.scalar_type == scalar_type(facts["dtype"]));
  const std::vector<std::int32_t> shape = facts["shape"];
  REQUIRE(meta->layout.sizes.size() == shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (meta->shape_dynamism == TENON_SHAPE_STATIC) {
      CHECK(meta->layout.sizes[i] == shape[i]);
    } else {
      CHECK(meta->layout.sizes[i] >= shape[i]);
    }
  }
}

void check_plan(const host::Program& program, const json& facts, const json& delegates) {
  const auto meta = host::MethodMeta::of(program, facts["name"].get<std::string>());
  REQUIRE(meta.ok());
  REQUIRE(meta->num_operators() == facts["ops"].size());
  for (std::size_t i = 0; i < meta->num_operators(); ++i) {
    const std::string name = facts["ops"][i];
    const auto found = *meta->operator_name(i);
    CHECK(found == name);
  }
  const std::vector<std::uint64_t> buffers = facts["non_const_buffer_sizes"];
  REQUIRE(meta->num_memory_planned_buffers() == buffers.size() - 1);
  for (std::size_t i = 0; i + 1 < buffers.size(); ++i) {
    CHECK(*meta->memory_planned_buffer_size(i) == buffers[i + 1]);
  }
  REQUIRE(meta->num_delegates() == facts["delegates"].size());
  const auto& table = **program.plan(facts["name"].get<std::string>());
  for (std::size_t i = 0; i < meta->num_delegates(); ++i) {
    const auto delegate = meta->delegate(i);
    CHECK(delegate->id == facts["delegates"][i]["id"].get<std::string>());
    const auto& specs = facts["delegates"][i]["specs"];
    REQUIRE(delegate->compile_specs.size() == specs.size());
    for (std::size_t j = 0; j < specs.size(); ++j) {
      CHECK(delegate->compile_specs[j].key == specs[j][0].get<std::string>());
      CHECK(delegate->compile_specs[j].value.size() == specs[j][1].get<std::size_t>());
    }
    const auto* reference = table.delegates()->Get(static_cast<std::uint32_t>(i))->processed();
    CHECK(schema::EnumNameDataLocation(reference->location()) ==
          delegates[i][1].get<std::string>());
    CHECK(reference->index() == delegates[i][2].get<std::uint32_t>());
  }
}

void check_calls(const host::Program& program, const json& calls) {
  for (const auto& call : calls) {
    const auto meta = host::MethodMeta::of(program, call["method"].get<std::string>());
    REQUIRE(meta.ok());
    REQUIRE(meta->num_inputs() == call["inputs"].size());
    for (std::size_t i = 0; i < meta->num_inputs(); ++i) {
      check_tensor(meta->input_tensor_meta(i), call["inputs"][i]);
    }
    REQUIRE(meta->num_outputs() >= call["outputs"].size());
    const auto first = meta->num_outputs() - call["outputs"].size();
    for (std::size_t i = 0; i < call["outputs"].size(); ++i) {
      check_tensor(meta->output_tensor_meta(first + i), call["outputs"][i]);
    }
  }
}

void check_program(const host::Program& program, const json& facts) {
  const auto& flat = facts["flat"];
  REQUIRE(program.view().num_segments() == flat["segments"].size());
  for (std::size_t i = 0; i < program.view().num_segments(); ++i) {
    CHECK(program.view().segment(i).size() == flat["segments"][i][1].get<std::size_t>());
  }
  REQUIRE(program.num_keys() == flat["named_data"].size());
  for (std::uint32_t i = 0; i < program.num_keys(); ++i) {
    CHECK(program.key(i) == flat["named_data"][i][0].get<std::string>());
    const auto segment = program.view().segment(flat["named_data"][i][1].get<std::size_t>());
    CHECK(program.key_data(i).data() == segment.data());
  }
  REQUIRE(program.num_methods() == facts["plans"].size());
  for (std::size_t i = 0; i < program.num_methods(); ++i) {
    check_plan(program, facts["plans"][i], flat["delegates"][i]);
  }
  check_calls(program, facts["calls"]);
}

TEST_CASE("every program that ExecuTorch wrote opens and can be walked") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(fixtures)) {
    if (entry.path().extension() != ".pte") continue;
    INFO(entry.path());
    const auto program = host::Program::open(entry.path());
    INFO(program.text());
    REQUIRE(program.ok());
    CHECK(Walk::program(*program) != 0);
    ++count;
  }
  CHECK(count >= 23);
}

TEST_CASE("the facts of each fixture are found in its program") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(fixtures)) {
    if (entry.path().filename() != "fixture.json") continue;
    const auto model = entry.path().parent_path() / "model.pte";
    if (!std::filesystem::exists(model)) continue;
    INFO(entry.path());
    std::ifstream file(entry.path());
    const auto facts = json::parse(file);
    const auto program = host::Program::open(model);
    INFO(program.text());
    REQUIRE(program.ok());
    check_program(**program, facts);
    ++count;
  }
  CHECK(count >= 9);
}

TEST_CASE("the data file that ExecuTorch wrote opens and gives its data") {
  const auto file = host::DataFile::open(fixtures / "cuda_addmul/aoti_cuda_blob.ptd");
  INFO(file.text());
  REQUIRE(file.ok());
  REQUIRE((*file)->num_keys() == 1);
  CHECK((*file)->key(0) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855_weights_blob");
  CHECK((*file)->key_data(0).empty());
  CHECK(Walk::data_file(*file) != 0);
}

}  // namespace
