// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/onnxruntime/context_node.hpp"
#include "tenon/onnxruntime/node_tensor.hpp"
#include "tenon/onnxruntime/runtime.hpp"

/// Reads nodes of ONNX Runtime's graphs.
namespace tenon { inline namespace TENON_RELEASE { namespace ort {

namespace detail {

/// A list that ONNX Runtime gives by a function for its size and one for its elements.
template <class Element, class Owner>
[[nodiscard]] Result<std::vector<Element>> read_list(
    const Runtime& runtime, const Owner& owner,
    const Function<StatusPointer(const Owner*, std::size_t*)>& count_of,
    const Function<StatusPointer(const Owner*, Element*, std::size_t)>& elements_of) {
  std::size_t count = 0;
  TENON_RETURN_IF_ERROR(runtime.check(count_of, &owner, &count));
  std::vector<Element> out(count);
  if (count) TENON_RETURN_IF_ERROR(runtime.check(elements_of, &owner, out.data(), count));
  return out;
}

/// A text of an object; empty for null.
template <class Owner>
[[nodiscard]] Result<std::string_view> read_text(
    const Runtime& runtime, const Owner& owner,
    const Function<StatusPointer(const Owner*, const char**)>& text_of) {
  const char* text = nullptr;
  TENON_RETURN_IF_ERROR(runtime.check(text_of, &owner, &text));
  return text ? std::string_view(text) : std::string_view();
}

/// The bytes of a string, which may have any, or of a list of strings, each with a NUL behind it.
[[nodiscard]] inline Result<std::string> read_string(const Runtime& runtime,
                                                     const OpAttr& attribute, OpAttrType type) {
  std::size_t size = 0;
  // Fails by design, and states the size.
  StatusPointer too_small =
      runtime.call(api::ReadOpAttr, &attribute, type, nullptr, std::size_t{0}, &size);
  if (too_small) runtime.call(api::ReleaseStatus, too_small);
  std::string out(size, '\0');
  if (size) {
    TENON_RETURN_IF_ERROR(
        runtime.check(api::ReadOpAttr, &attribute, type, out.data(), out.size(), &size));
    out.resize(size);
  }
  return out;
}

[[nodiscard]] inline Result<Attribute> read_attribute(const Runtime& runtime,
                                                      const OpAttr& attribute) {
  OpAttrType type{};
  TENON_RETURN_IF_ERROR(runtime.check(api::OpAttr_GetType, &attribute, &type));
  if (type == OpAttrType::Int) {
    std::int64_t out = 0;
    std::size_t size = 0;
    TENON_RETURN_IF_ERROR(
        runtime.check(api::ReadOpAttr, &attribute, type, &out, sizeof out, &size));
    return Attribute(out);
  }
  if (type == OpAttrType::String) {
    TENON_TRY(std::string out, read_string(runtime, attribute, type));
    return Attribute(std::move(out));
  }
  if (type == OpAttrType::Strings) {
    TENON_TRY(const std::string all, read_string(runtime, attribute, type));
    std::vector<std::string> out;
    for (std::size_t at = 0; at < all.size(); at += out.back().size() + 1) {
      out.emplace_back(all.c_str() + at);
    }
    return Attribute(std::move(out));
  }
  return Attribute();
}

}  // namespace detail

/// The attributes of a node.
[[nodiscard]] inline Result<Attributes> read_attributes(const Runtime& runtime, const Node& node) {
  TENON_TRY(const auto list,
            detail::read_list<const OpAttr*>(runtime, node, api::Node_GetNumAttributes,
                                             api::Node_GetAttributes));
  Attributes out;
  for (const OpAttr* const each : list) {
    TENON_TRY(const std::string_view name, detail::read_text(runtime, *each, api::OpAttr_GetName));
    TENON_TRY(Attribute value, detail::read_attribute(runtime, *each));
    out.emplace(name, std::move(value));
  }
  return out;
}

/// A string attribute; empty where the node has none, or none of that type.
[[nodiscard]] inline Result<std::string> read_text_attribute(const Runtime& runtime,
                                                             const Node& node, const char* name) {
  const OpAttr* attribute = nullptr;
  TENON_RETURN_IF_ERROR(runtime.check(api::Node_GetAttributeByName, &node, name, &attribute));
  if (!attribute) return std::string();
  TENON_TRY(Attribute value, detail::read_attribute(runtime, *attribute));
  std::string* const text = std::get_if<std::string>(&value);
  return text ? std::move(*text) : std::string();
}

/// Whether `node` is ONNX Runtime's operator for compiled contexts.
[[nodiscard]] inline Result<bool> is_context_node(const Runtime& runtime, const Node& node) {
  TENON_TRY(const std::string_view type,
            detail::read_text(runtime, node, api::Node_GetOperatorType));
  TENON_TRY(const std::string_view domain, detail::read_text(runtime, node, api::Node_GetDomain));
  return type == context_operator && domain == context_domain;
}

[[nodiscard]] inline Result<std::vector<const Node*>> read_nodes(const Runtime& runtime,
                                                                 const Graph& graph) {
  return detail::read_list<const Node*>(runtime, graph, api::Graph_GetNumNodes,
                                        api::Graph_GetNodes);
}

/// An input or output of a node, as the model declares it.
[[nodiscard]] inline Result<NodeTensor> read_tensor(const Runtime& runtime,
                                                    const ValueInfo& value) {
  NodeTensor out;
  TENON_TRY(const std::string_view name, detail::read_text(runtime, value, api::GetValueInfoName));
  out.name = name;
  const TypeInfo* type = nullptr;
  TENON_RETURN_IF_ERROR(runtime.check(api::GetValueInfoTypeInfo, &value, &type));
  const TensorTypeAndShapeInfo* tensor = nullptr;
  if (type) TENON_RETURN_IF_ERROR(runtime.check(api::CastTypeInfoToTensorInfo, type, &tensor));
  if (!tensor) return out;
  ElementType element{};
  TENON_RETURN_IF_ERROR(runtime.check(api::GetTensorElementType, tensor, &element));
  out.type = scalar_type(element);
  std::size_t rank = 0;
  TENON_RETURN_IF_ERROR(runtime.check(api::GetDimensionsCount, tensor, &rank));
  out.sizes.resize(rank);
  if (rank) {
    TENON_RETURN_IF_ERROR(runtime.check(api::GetDimensions, tensor, out.sizes.data(), rank));
  }
  return out;
}

/// The tensors of a list of a node; an absent one has an empty name.
[[nodiscard]] inline Result<std::vector<NodeTensor>> read_tensors(
    const Runtime& runtime, const Node& node,
    const Function<StatusPointer(const Node*, std::size_t*)>& count_of,
    const Function<StatusPointer(const Node*, const ValueInfo**, std::size_t)>& list_of) {
  TENON_TRY(const auto values,
            detail::read_list<const ValueInfo*>(runtime, node, count_of, list_of));
  std::vector<NodeTensor> out;
  for (const ValueInfo* const value : values) {
    if (!value) {
      out.emplace_back();
      continue;
    }
    TENON_TRY(NodeTensor tensor, read_tensor(runtime, *value));
    out.push_back(std::move(tensor));
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::ort
