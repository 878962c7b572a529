// SPDX-License-Identifier: MIT
//
// What a graph, a description of a program and an archive of PyTorch can hold any number of:
// partitioning, lowering, emitting and writing, reading.
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "collection.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/aot.hpp"
#include "tenon/aot/compiler/compile_methods.hpp"
#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/aot/compiler/lower/check_partition.hpp"
#include "tenon/aot/compiler/lower/delegation_info.hpp"
#include "tenon/aot/compiler/lower/edge_program_text.hpp"
#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/compiler/lower/lowered_program.hpp"
#include "tenon/aot/compiler/write/program_check.hpp"
#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/aot/edge_program_builder.hpp"
#ifdef TENON_GROWTH_PT2
#include "tenon/aot/compiler/pt2/reader.hpp"
#include "unit/aot/pt2/archive_support.hpp"
#endif

namespace tenon::test {
namespace {

using namespace aot;
using Owned = std::shared_ptr<const OwnedEdgeProgram>;

const EdgeTensor four{ScalarType::Float, {4}};

Owned built(EdgeProgramBuilder builder) {
  auto program = std::move(builder).build();
  if (!program.ok()) throw std::logic_error(std::string(program.text()));
  return std::make_shared<const OwnedEdgeProgram>(*std::move(program));
}

/// A chain of additions, each of which reads its predecessor; every second one is a relu when
/// `alternates`.
Owned chain(std::size_t count, bool alternates = false) {
  EdgeProgramBuilder builder;
  ValueId last = builder.user_input("x", four);
  for (std::size_t i = 0; i < count; ++i) {
    if (alternates && i % 2 != 0) {
      last = builder.node("aten.relu.default", {{"self", EdgeRef{last}}}, four);
    } else {
      last = builder.node("aten.add.Tensor", {{"self", EdgeRef{last}}, {"other", EdgeRef{last}}},
                          four);
    }
  }
  builder.user_output(last);
  return built(std::move(builder));
}

/// Additions that all read the input, and are all outputs.
Owned fan(std::size_t count) {
  EdgeProgramBuilder builder;
  const ValueId x = builder.user_input("x", four);
  for (std::size_t i = 0; i < count; ++i) {
    builder.user_output(
        builder.node("aten.add.Tensor", {{"self", EdgeRef{x}}, {"other", EdgeRef{x}}}, four));
  }
  return built(std::move(builder));
}

/// Each addition has a parameter of its own.
Owned weighted(std::size_t count) {
  EdgeProgramBuilder builder;
  std::vector<ValueId> weights;
  for (std::size_t i = 0; i < count; ++i) {
    const std::array<float, 4> content{static_cast<float>(i), 1, 2, 3};
    weights.push_back(builder.stored(EdgeOrigin::Parameter, concat("p_", i), concat("w.", i), four,
                                     SharedBytes::copy_of(std::as_bytes(std::span(content)))));
  }
  ValueId last = builder.user_input("x", four);
  for (const ValueId weight : weights) {
    last = builder.node("aten.add.Tensor", {{"self", EdgeRef{last}}, {"other", EdgeRef{weight}}},
                        four);
  }
  builder.user_output(last);
  return built(std::move(builder));
}

PartitionOptions options() {
  PartitionOptions out;
  out.spec.backend_id = "Toy";
  return out;
}

const auto adds = [](const EdgeProgram&, const EdgeNode& node) {
  return node.target() == "aten.add.Tensor";
};

/// Partitions the graph, takes the partitions out, and lists what was delegated.
Task partitions(const Owned& program) {
  return [program]() -> Status {
    TENON_TRY(const PartitionResult found, partition_by_support(program->view(), adds, options()));
    TENON_RETURN_IF_ERROR(check_partition(program->view(), found));
    TENON_TRY(const LoweredProgram lowered, lower(program->view(), found));
    return get_delegation_info(lowered).num_delegated_nodes == 0 ? error(Error::Internal, "none")
                                                                 : ok();
  };
}

/// The description of the program file, with or without delegates.
Result<ProgramData> emitted(const Owned& program, bool delegates) {
  PartitionResult found;
  if (delegates) {
    TENON_TRY(found, partition_by_support(program->view(), adds, options()));
  }
  TENON_TRY(LoweredProgram lowered, lower(program->view(), found));
  std::vector<PreprocessResult> results(lowered.partitions.size());
  std::vector<CompiledMethod> methods;
  methods.push_back({std::move(lowered), std::move(results)});
  return emit(methods);
}

Task emits(const Owned& program, bool delegates) {
  return [program, delegates] { return outcome_of(emitted(program, delegates)); };
}

Task writes(const Owned& program, bool delegates) {
  auto data = emitted(program, delegates);
  if (!data.ok()) throw std::logic_error(std::string(data.text()));
  auto kept = std::make_shared<const ProgramData>(*std::move(data));
  return [program, kept]() -> Status {
    TENON_RETURN_IF_ERROR(check_program(*kept));
    return outcome_of(make_pte(*kept));
  };
}

Task prints(const Owned& program) {
  return [program] {
    return to_text(program->view()).empty() ? error(Error::Internal, "nothing") : ok();
  };
}

SharedBytes number_bytes(std::size_t number) {
  return SharedBytes::copy_of(std::as_bytes(std::span(&number, 1)));
}

/// Names events, the last one first.
Task names_events(std::size_t count) {
  return [count]() -> Status {
    DebugHandleMap map;
    for (std::size_t i = count; i-- > 0;) map.add(static_cast<std::int64_t>(i), std::array{1u});
    for (std::size_t i = 0; i < count; ++i) {
      if (!map.find(static_cast<std::int64_t>(i))) return error(Error::Internal, "one is missing");
    }
    return map.size() == count ? ok() : error(Error::Internal, "there are others");
  };
}

Task stores_named_data(std::size_t count) {
  return [count]() -> Status {
    NamedDataStore store;
    for (std::size_t i = 0; i < count; ++i) {
      TENON_RETURN_IF_ERROR(store.add_named_data(concat("k", i), number_bytes(i / 2)));
    }
    const auto data = store.get_named_data_store_output();
    return outcome_of(make_ptd(data.buffers, data.pte_data));
  };
}

Task writes_named_data(std::size_t count) {
  auto program = std::make_shared<ProgramData>();
  program->methods.emplace_back();
  NamedDataStore store;
  for (std::size_t i = 0; i < count; ++i) {
    if (!store.add_named_data(concat("k", i), number_bytes(i)).ok()) std::abort();
  }
  program->named_data = store.get_named_data_store_output();
  return [program] { return outcome_of(make_pte(*program)); };
}

Task writes_methods(std::size_t count) {
  auto program = std::make_shared<ProgramData>();
  for (std::size_t i = 0; i < count; ++i) program->methods.emplace_back().name = concat("m", i);
  return [program] { return outcome_of(make_pte(*program)); };
}

Task writes_delegates(std::size_t count) {
  auto program = std::make_shared<ProgramData>();
  MethodData& method = program->methods.emplace_back();
  for (std::size_t i = 0; i < count; ++i) {
    method.add_delegate({"Toy", number_bytes(i), {}, BlobPlacement::Segment});
  }
  return [program] { return outcome_of(make_pte(*program)); };
}

Task builds(std::size_t count) {
  return [count] {
    chain(count);
    return ok();
  };
}

#ifdef TENON_GROWTH_PT2
using Json = nlohmann::json;

Task reads_archive(const ZipContent& content) {
  auto directory = std::make_shared<TemporaryDirectory>();
  content.write(*directory / "m.pt2");
  return [directory] { return outcome_of(read_pt2(*directory / "m.pt2")); };
}

Json tensor_argument(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }

/// A chain of `count` nodes behind the fixture's relu, each of one of `targets` in turn.
Task reads_nodes(std::size_t count, const std::vector<std::string>& targets) {
  ZipContent content = ZipContent::fixture("mlp_decomposed");
  Json model = content.json("models/model.json");
  Json& graph = model["graph_module"]["graph"];
  const Json tensor = graph["tensor_values"]["relu"];
  Json node = graph["nodes"][2];
  std::string last = "relu";
  Json added = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = concat("more_", i);
    node["name"] = name;
    node["target"] = "torch.ops." + targets[i % targets.size()];
    node["inputs"][0]["arg"] = tensor_argument(last);
    node["outputs"][0] = tensor_argument(name);
    graph["tensor_values"][name] = tensor;
    added.push_back(node);
    last = name;
  }
  for (Json& each : added) graph["nodes"].push_back(std::move(each));
  content.set("models/model.json", model);
  return reads_archive(content);
}

/// `count` more parameters, in one file of weights each or all in one.
Task reads_weights(std::size_t count, bool one_file) {
  ZipContent content = ZipContent::fixture("mlp_decomposed");
  Json model = content.json("models/model.json");
  Json weights = content.json("data/weights/model_weights_config.json");
  Json& graph = model["graph_module"]["graph"];
  Json& specs = model["graph_module"]["signature"]["input_specs"];
  const Json tensor = graph["tensor_values"]["p_fc2_bias"];
  const Json weight = weights["config"]["fc2.bias"];
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = concat("p_more_", i), fqn = concat("more.", i);
    const std::string file = one_file ? "weight_3" : concat("weight_more_", i);
    graph["tensor_values"][name] = tensor;
    graph["inputs"].push_back(tensor_argument(name));
    specs.push_back({{"parameter", {{"arg", {{"name", name}}}, {"parameter_name", fqn}}}});
    weights["config"][fqn] = weight;
    weights["config"][fqn]["path_name"] = file;
    if (!one_file) {
      content.entries["model/data/weights/" + file] =
          content.entries["model/data/weights/weight_3"];
    }
  }
  content.set("models/model.json", model);
  content.set("data/weights/model_weights_config.json", weights);
  return reads_archive(content);
}
#endif

}  // namespace

std::vector<Collection> compiler_collections() {
  std::vector<Collection> all{
      {"graph: nodes, built", builds},
      {"graph: nodes in one partition", [](std::size_t n) { return partitions(chain(n)); }},
      {"graph: nodes in many partitions", [](std::size_t n) { return partitions(chain(n, true)); }},
      {"graph: nodes that read one value", [](std::size_t n) { return partitions(fan(n)); }},
      {"graph: parameters of a partition", [](std::size_t n) { return partitions(weighted(n)); }},
      {"graph: nodes, printed", [](std::size_t n) { return prints(chain(n)); }},
      {"emit: nodes with kernels", [](std::size_t n) { return emits(chain(n), false); }},
      {"emit: values that live to the end", [](std::size_t n) { return emits(fan(n), false); }},
      {"emit: parameters", [](std::size_t n) { return emits(weighted(n), false); }},
      {"emit: delegates", [](std::size_t n) { return emits(chain(n, true), true); }},
      {"write: nodes with kernels", [](std::size_t n) { return writes(chain(n), false); }},
      {"write: parameters", [](std::size_t n) { return writes(weighted(n), false); }},
      {"write: delegates", writes_delegates},
      {"write: methods", writes_methods},
      {"write: named data", writes_named_data},
      {"write: keys of a data file", stores_named_data},
      {"write: events with debug handles", names_events},
  };
#ifdef TENON_GROWTH_PT2
  all.push_back({"archive: nodes and values",
                 [](std::size_t n) { return reads_nodes(n, {"aten.relu.default"}); }});
  all.push_back({"archive: operators that change one tensor and its views", [](std::size_t n) {
                   return reads_nodes(n, {"aten.view.default", "aten.view.default",
                                          "aten.relu_.default", "aten.abs_.default"});
                 }});
  all.push_back({"archive: parameters, each in a file of its own",
                 [](std::size_t n) { return reads_weights(n, false); }});
  all.push_back(
      {"archive: parameters in one file", [](std::size_t n) { return reads_weights(n, true); }});
#endif
  return all;
}

}  // namespace tenon::test
