// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aot/operators.hpp"
#include "aot/preprocess.hpp"
#include "common/blob.hpp"
#include "support/catch.hpp"
#include "support/edge_programs.hpp"
#include "tenon/aot.hpp"
#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/edge_program_builder.hpp"

/// Graphs by hand, and the IR that they become.
namespace openvino_aot_test {

using namespace openvino_backend;
using namespace tenon::aot;
using namespace tenon::test;
using Size = EdgeTensor::Size;
using Arguments = std::vector<EdgeProgramBuilder::Argument>;

inline constexpr auto f32 = ScalarType::Float;
inline constexpr auto i64 = ScalarType::Long;

inline std::vector<float> ramp(std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(i);
  return out;
}

inline tenon::aot::SharedBytes bytes_of(const std::vector<float>& values) {
  return tenon::aot::SharedBytes::copy_of(std::as_bytes(std::span(values)));
}

inline ValueId parameter(EdgeProgramBuilder& graph, const std::string& name,
                         const EdgeTensor& tensor) {
  std::size_t count = 1;
  for (const auto& size : tensor.sizes) count *= static_cast<std::size_t>(size.max);
  return graph.stored(EdgeOrigin::Parameter, name, name, tensor, bytes_of(ramp(count)));
}

/// One node whose result is the output.
inline OwnedEdgeProgram one_node(EdgeProgramBuilder&& graph, std::string_view target,
                                 const Arguments& arguments, const EdgeTensor& out) {
  graph.user_output(graph.node(target, arguments, out));
  return build_ok(std::move(graph));
}

/// The IR of all nodes.
inline Ir lower_ok(const OwnedEdgeProgram& program) {
  IrBuilder builder(program.view(), IrBuilder::Purpose::Compile);
  REQUIRE(builder.add_inputs().ok());
  for (std::size_t i = 0; i < program.view().num_nodes(); ++i) {
    const auto lowered = openvino_backend::lower(builder, program.view().node(i));
    INFO(lowered.text());
    REQUIRE(lowered.ok());
  }
  REQUIRE(builder.add_outputs().ok());
  return builder.take_ir();
}

/// Types of the layers in their order, without constants: "Parameter Relu Result".
inline std::string types_of(const Ir& ir) {
  std::string out;
  for (const Layer& layer : ir.layers) {
    if (layer.type == "Const") continue;
    out += (out.empty() ? "" : " ") + layer.type;
  }
  return out;
}

inline const Layer& layer_of(const Ir& ir, std::string_view type) {
  const auto found = std::ranges::find(ir.layers, type, &Layer::type);
  REQUIRE(found != ir.layers.end());
  return *found;
}

inline std::string attribute(const Layer& layer, std::string_view name) {
  for (const auto& [key, value] : layer.attributes) {
    if (key == name) return value;
  }
  return "(none)";
}

/// Bytes of the constant that is input `index` of a layer.
template <class T>
std::vector<T> constant_input(const Ir& ir, const Layer& layer, std::size_t index) {
  const Layer& from = ir.layers[layer.inputs[index].layer];
  REQUIRE(from.type == "Const");
  const std::size_t offset = std::stoull(attribute(from, "offset"));
  const std::size_t nbytes = std::stoull(attribute(from, "size"));
  REQUIRE(offset + nbytes <= ir.weights.size());
  std::vector<T> out(nbytes / sizeof(T));
  std::copy_n(ir.weights.data() + offset, nbytes, reinterpret_cast<std::byte*>(out.data()));
  return out;
}

inline tenon::aot::PartitionResult partition_ok(const OwnedEdgeProgram& program,
                                                const Specs& specs = {}) {
  const SpecList list(specs);
  auto result = openvino_backend::partition(program.view(), list.view());
  INFO(result.text());
  REQUIRE(result.ok());
  return *std::move(result);
}

/// Compiles each partition; the number of them. A partition that is chosen and cannot be compiled
/// fails the test.
inline std::size_t compile_all(const OwnedEdgeProgram& program) {
  auto partitions = partition_ok(program);
  for (auto& [tag, spec] : partitions.partition_tags) spec.backend_id = "TenonOpenvino";
  const auto lowered = tenon::aot::lower(program.view(), partitions);
  INFO(lowered.text());
  REQUIRE(lowered.ok());
  for (const auto& part : lowered->partitions) {
    const auto result =
        openvino_backend::preprocess(part.program.view(), tenon::CompileSpecs(nullptr, 0));
    INFO(part.tag << ": " << result.text());
    CHECK(result.ok());
  }
  return lowered->partitions.size();
}

}  // namespace openvino_aot_test
