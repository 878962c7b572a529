// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiled.hpp"
#include "tenon/aot/compiler/compile_methods.hpp"
#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/edge_program_builder.hpp"

namespace tenon::test {

/// A fault planted into a model: the parameter of this name is scaled.
struct WeightFault {
  std::string parameter{};
  float scale = 1;
};

/// A transformer of `layers` layers as an exporter writes it: tokens x [4, 8] of two heads, layer
/// norms, a network with gelu. Weights are numbers of a fixed sequence.
class Transformer {
 public:
  explicit Transformer(std::size_t layers, WeightFault fault = {}) : fault_(std::move(fault)) {
    auto x = graph_.user_input("x", tokens);
    for (std::size_t i = 0; i < layers; ++i) x = layer(x, concat("layers.", i));
    graph_.user_output(norm(x, "norm"));
  }

  [[nodiscard]] aot::OwnedEdgeProgram build() && { return build_ok(std::move(graph_)); }

  static constexpr std::int64_t num_tokens = 4, width = 8;

 private:
  using Ref = aot::EdgeRef;
  using Ints = aot::EdgeInts;
  using Size = aot::EdgeTensor::Size;

  static constexpr auto f32 = ScalarType::Float;
  static inline const aot::EdgeTensor tokens{f32, {num_tokens, width}};

  aot::ValueId parameter(const std::string& name, std::vector<Size> sizes) {
    std::size_t count = 1;
    for (const Size& size : sizes) count *= static_cast<std::size_t>(size.max);
    std::vector<float> values(count);
    for (float& value : values) {
      state_ = state_ * 1664525 + 1013904223;
      value = static_cast<float>(state_ >> 8) / static_cast<float>(1U << 24) - 0.5F;
      if (name == fault_.parameter) value *= fault_.scale;
    }
    std::string own = "p_" + name;
    for (char& c : own) c = c == '.' ? '_' : c;
    return graph_.stored(aot::EdgeOrigin::Parameter, own, name, {f32, std::move(sizes)},
                         bytes_of(values));
  }

  aot::ValueId linear(aot::ValueId x, const std::string& name, std::int64_t from, std::int64_t to) {
    const auto weight = parameter(name + ".weight", {to, from});
    const auto bias = parameter(name + ".bias", {to});
    return node("aten.linear.default",
                {{"input", Ref{x}}, {"weight", Ref{weight}}, {"bias", Ref{bias}}}, {num_tokens, to},
                name);
  }

  aot::ValueId norm(aot::ValueId x, const std::string& name) {
    const auto weight = parameter(name + ".weight", {width});
    const auto bias = parameter(name + ".bias", {width});
    return node("aten.layer_norm.default",
                {{"input", Ref{x}},
                 {"normalized_shape", Ints({width})},
                 {"weight", Ref{weight}},
                 {"bias", Ref{bias}}},
                {num_tokens, width}, name);
  }

  /// [4, 8] to [2, 4, 4]: heads, tokens, width of a head.
  aot::ValueId heads(aot::ValueId x, const std::string& name) {
    const auto split = node("aten.view.default", {{"self", Ref{x}}, {"size", Ints({4, 2, 4})}},
                            {4, 2, 4}, name + ".view");
    return node("aten.transpose.int",
                {{"self", Ref{split}}, {"dim0", std::int64_t{0}}, {"dim1", std::int64_t{1}}},
                {2, 4, 4}, name + ".transpose");
  }

  aot::ValueId layer(aot::ValueId x, const std::string& name) {
    const auto normed = norm(x, name + ".norm1");
    const auto q = heads(linear(normed, name + ".q", width, width), name + ".q");
    const auto k = heads(linear(normed, name + ".k", width, width), name + ".k");
    const auto v = heads(linear(normed, name + ".v", width, width), name + ".v");
    const auto turned =
        node("aten.transpose.int",
             {{"self", Ref{k}}, {"dim0", std::int64_t{1}}, {"dim1", std::int64_t{2}}}, {2, 4, 4},
             name + ".turned");
    const auto scores = node("aten.matmul.default", {{"self", Ref{q}}, {"other", Ref{turned}}},
                             {2, 4, 4}, name + ".scores");
    const auto scaled = node("aten.mul.Scalar", {{"self", Ref{scores}}, {"other", 0.5}}, {2, 4, 4},
                             name + ".scaled");
    const auto weights =
        node("aten.softmax.int", {{"self", Ref{scaled}}, {"dim", std::int64_t{-1}}}, {2, 4, 4},
             name + ".softmax");
    const auto mixed = node("aten.matmul.default", {{"self", Ref{weights}}, {"other", Ref{v}}},
                            {2, 4, 4}, name + ".mixed");
    const auto back =
        node("aten.transpose.int",
             {{"self", Ref{mixed}}, {"dim0", std::int64_t{0}}, {"dim1", std::int64_t{1}}},
             {4, 2, 4}, name + ".back");
    const auto joined = node("aten.reshape.default", {{"self", Ref{back}}, {"shape", Ints({4, 8})}},
                             {num_tokens, width}, name + ".joined");
    const auto attention = add(x, linear(joined, name + ".out", width, width), name + ".attention");
    const auto wide = linear(norm(attention, name + ".norm2"), name + ".up", width, 2 * width);
    const auto gelu =
        node("aten.gelu.default", {{"self", Ref{wide}}}, {num_tokens, 2 * width}, name + ".gelu");
    return add(attention, linear(gelu, name + ".down", 2 * width, width), name + ".result");
  }

  aot::ValueId add(aot::ValueId a, aot::ValueId b, const std::string& name) {
    return node("aten.add.Tensor", {{"self", Ref{a}}, {"other", Ref{b}}}, {num_tokens, width},
                name);
  }

  aot::ValueId node(std::string_view target,
                    const std::vector<aot::EdgeProgramBuilder::Argument>& of,
                    std::vector<Size> sizes, std::string name) {
    for (char& c : name) c = c == '.' ? '_' : c;
    return graph_.node(target, of, {f32, std::move(sizes)}, name);
  }

  WeightFault fault_;
  std::uint32_t state_ = 1;
  aot::EdgeProgramBuilder graph_;
};

/// The program as `tenon-compile --backend GraphBackend` makes it; not `delegated`: with kernels
/// alone.
inline aot::ProgramData compile_whole(const aot::OwnedEdgeProgram& program, bool debug_handles,
                                      bool delegated = true) {
  auto plugin = aot::PluginPreprocess::find(graph_registry(), TENON_GRAPH_BACKEND_ID);
  REQUIRE(plugin.ok());
  const aot::BackendToUse use{*std::move(plugin), {}, false};
  const aot::EdgeProgram view = program.view();
  const auto compiled =
      aot::compile_methods(std::span(&view, 1), std::span(&use, delegated ? 1 : 0));
  INFO(compiled.text());
  REQUIRE(compiled.ok());
  aot::EmitOptions options;
  options.debug_handles = debug_handles;
  auto data = aot::emit(*compiled, options);
  INFO(data.text());
  REQUIRE(data.ok());
  return *std::move(data);
}

}  // namespace tenon::test
