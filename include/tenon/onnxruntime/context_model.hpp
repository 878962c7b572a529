// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/emit/single_call.hpp"
#include "tenon/aot/compiler/emit/tensor_text.hpp"
#include "tenon/aot/compiler/write/file_image.hpp"
#include "tenon/core/result.hpp"
#include "tenon/onnxruntime/context_node.hpp"
#include "tenon/onnxruntime/node_tensor.hpp"
#include "tenon/onnxruntime/protobuf_message.hpp"

/// Makes ONNX models of one context node. The numbers of fields and types are onnx.proto's.
namespace tenon { inline namespace TENON_RELEASE { namespace ort {

namespace detail {

/// The attributes of a node.
class AttributeWriter {
 public:
  explicit AttributeWriter(Message& node) noexcept : node_(node) {}

  void add(std::string_view name, const aot::SharedBytes& bytes) {
    add(name, 3, [&](Message& out) { out.add_bytes(4, bytes); });
  }
  void add_number(std::string_view name, std::uint64_t number) {
    add(name, 2, [&](Message& out) { out.add_number(3, number); });
  }
  void add_texts(std::string_view name, const std::vector<std::string>& texts) {
    add(name, 8, [&](Message& out) {
      for (const std::string& each : texts) out.add_text(9, each);
    });
  }
  /// As `AttributeReader::take_pairs` reads them.
  void add_pairs(std::string_view kind,
                 const std::vector<std::pair<std::string, aot::SharedBytes>>& pairs) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : pairs) {
      add(concat("tenon_", kind, "_", keys.size()), value);
      keys.push_back(key);
    }
    if (!keys.empty()) add_texts(concat("tenon_", kind, "_keys"), keys);
  }

 private:
  template <class AddValue>
  void add(std::string_view name, std::uint64_t type, const AddValue& add_value) {
    Message attribute;
    attribute.add_text(1, name);
    add_value(attribute);
    attribute.add_number(20, type);
    node_.add_message(5, std::move(attribute));
  }

  Message& node_;
};

/// The declaration of a tensor. A size that changes has a name.
[[nodiscard]] inline Result<Message> declare(std::string_view name,
                                             const aot::TensorValue& tensor) {
  const auto type = element_type(tensor.layout.scalar_type);
  if (!type) {
    return error(Error::InvalidType, name, ": ", name_of(tensor.layout.scalar_type),
                 " is no dtype of ONNX Runtime");
  }
  Message shape;
  for (std::size_t i = 0; i < tensor.layout.sizes.size(); ++i) {
    Message size;
    if (tensor.is_dynamic) {
      size.add_text(2, concat(name, "_", i));
    } else {
      size.add_number(1, static_cast<std::uint64_t>(tensor.layout.sizes[i]));
    }
    shape.add_message(1, std::move(size));
  }
  Message of_tensor;
  of_tensor.add_number(1, static_cast<std::uint64_t>(*type));
  of_tensor.add_message(2, std::move(shape));
  Message of_value;
  of_value.add_message(1, std::move(of_tensor));
  Message out;
  out.add_text(1, name);
  out.add_message(2, std::move(of_value));
  return out;
}

}  // namespace detail

/// An ONNX model of one node, whose context is the blob of `call`: its tensors are input_0, ...,
/// and output_0, ...; its name is the method's.
///
/// errors: InvalidType for a dtype that ONNX Runtime has not; OutOfResources for a model that
///         protobuf cannot hold.
[[nodiscard]] inline Result<aot::FileImage> make_context_model(const aot::SingleCall& call) {
  Message node;
  Message graph;
  const auto add_tensors = [&](const std::vector<aot::TensorValue>& tensors, std::string_view kind,
                               std::uint32_t field_of_node,
                               std::uint32_t field_of_graph) -> Result<std::vector<std::string>> {
    std::vector<std::string> texts;
    for (const aot::TensorValue& each : tensors) {
      const std::string name = concat(kind, "_", texts.size());
      TENON_TRY(Message declared, detail::declare(name, each));
      node.add_text(field_of_node, name);
      graph.add_message(field_of_graph, std::move(declared));
      texts.push_back(tensor_text(each));
    }
    return texts;
  };
  TENON_TRY(const auto inputs, add_tensors(call.inputs, "input", 1, 11));
  TENON_TRY(const auto outputs, add_tensors(call.outputs, "output", 2, 12));
  node.add_text(3, call.method);
  node.add_text(4, context_operator);
  node.add_text(7, context_domain);
  detail::AttributeWriter attributes(node);
  attributes.add("source", aot::SharedBytes::copy_of(call.backend));
  attributes.add_number("main_context", 1);
  attributes.add_number("embed_mode", 1);
  attributes.add("ep_cache_context", call.blob);
  attributes.add_texts("tenon_inputs", inputs);
  attributes.add_texts("tenon_outputs", outputs);
  std::vector<std::pair<std::string, aot::SharedBytes>> specs;
  for (const auto& each : call.specs) specs.emplace_back(each.key, each.value);
  attributes.add_pairs("spec", specs);
  attributes.add_pairs("data", call.data);
  graph.add_message(1, std::move(node));
  graph.add_text(2, "tenon");

  Message model;
  model.add_number(1, 10);  // ONNX 1.16's format, which every ONNX Runtime of the bridge reads.
  model.add_text(2, "tenon");
  model.add_message(7, std::move(graph));
  for (const auto& [domain, version] :
       {std::pair<std::string_view, std::uint64_t>("", 18),
        std::pair<std::string_view, std::uint64_t>(context_domain, 1)}) {
    Message operators;
    operators.add_text(1, domain);
    operators.add_number(2, version);
    model.add_message(8, std::move(operators));
  }
  aot::FileImage out = std::move(model).image();
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  if (out.size() <= most) return out;
  return error(Error::OutOfResources, "the model would have ", out.size(),
               " bytes, a file of ONNX at most ", most);
}

}}}  // namespace tenon::TENON_RELEASE::ort
