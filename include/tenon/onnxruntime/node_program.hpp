// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/emit/single_call.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/onnxruntime/context_file.hpp"
#include "tenon/onnxruntime/context_node.hpp"
#include "tenon/onnxruntime/node_tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// An EPContext node as the host loads it.
struct NodeProgram {
  std::shared_ptr<const host::Program> program;
  std::string method;
};

namespace detail {

/// Bytes that begin at a multiple of 16, as a program needs them.
[[nodiscard]] inline std::shared_ptr<const std::vector<std::byte>> aligned_copy(
    std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

/// The tensors of the call: those that the node states, else those that the model declares. Of
/// fixed sizes they are the caller's memory.
[[nodiscard]] inline Result<std::vector<aot::TensorValue>> call_tensors(
    std::optional<std::vector<aot::TensorValue>> stated, std::span<const NodeTensor> declared,
    std::string_view attribute, bool are_inputs) {
  std::vector<aot::TensorValue> out;
  if (stated) {
    out = *std::move(stated);
  } else {
    for (const NodeTensor& each : declared) {
      TENON_TRY(aot::TensorValue tensor, program_tensor(each, attribute));
      out.push_back(std::move(tensor));
    }
  }
  for (aot::TensorValue& tensor : out) {
    if (are_inputs || !tensor.is_dynamic) {
      tensor.data = aot::storage::FromCaller{};
    } else {
      tensor.data = aot::storage::Planned{};
    }
  }
  return out;
}

}  // namespace detail

/// Makes the program of a node: the context itself, or a program of one call around a blob. `model`
/// is the path of the model, empty where it came as bytes.
///
/// errors: as `context_file`, `aot::make_program`, `aot::make_pte` and `host::Program::open`.
[[nodiscard]] inline Result<NodeProgram> make_node_program(ContextNode node,
                                                           std::span<const NodeTensor> inputs,
                                                           std::span<const NodeTensor> outputs,
                                                           const std::filesystem::path& model,
                                                           const host::HostLimits& limits) {
  std::filesystem::path file;
  if (!node.is_embedded) {
    TENON_TRY(file, context_file(model, node.context));
  }
  const std::string name = "the context";
  NodeProgram out;
  if (!node.method.empty()) {
    out.method = std::move(node.method);
    if (!node.is_embedded) {
      TENON_TRY(out.program, host::Program::open(file, limits));
      return out;
    }
    const auto bytes = detail::aligned_copy(node.context);
    TENON_TRY(out.program, host::Program::from_bytes(*bytes, bytes, name, limits));
    return out;
  }
  aot::SingleCall call;
  call.backend = std::move(node.backend);
  if (node.is_embedded) {
    const auto bytes = std::make_shared<const std::string>(std::move(node.context));
    call.blob = aot::SharedBytes::borrow(std::as_bytes(std::span(*bytes)), bytes);
  } else {
    TENON_TRY(host::MappedFile opened, host::MappedFile::open(file));
    const auto mapped = std::make_shared<const host::MappedFile>(std::move(opened));
    call.blob = aot::SharedBytes::borrow(mapped->bytes(), mapped);
  }
  TENON_TRY(call.inputs,
            detail::call_tensors(std::move(node.inputs), inputs, "tenon_inputs", true));
  TENON_TRY(call.outputs,
            detail::call_tensors(std::move(node.outputs), outputs, "tenon_outputs", false));
  for (auto& [key, value] : node.specs) {
    call.specs.push_back({std::move(key), aot::SharedBytes::copy_of(value)});
  }
  for (auto& [key, value] : node.data) {
    call.data.emplace_back(std::move(key), aot::SharedBytes::copy_of(value));
  }
  TENON_TRY(const aot::ProgramData described, aot::make_program(call));
  TENON_TRY(const aot::FileImage image, aot::make_pte(described));
  const auto bytes = std::make_shared<const std::vector<std::byte>>(image.bytes());
  TENON_TRY(out.program, host::Program::from_bytes(*bytes, bytes, name, limits));
  out.method = std::move(call.method);
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::ort
