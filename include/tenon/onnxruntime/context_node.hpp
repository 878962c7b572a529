// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/compiler/emit/tensor_text.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

/// Reads EPContext nodes: ONNX Runtime's operator for the work of a compiler that ran earlier
/// (docs/hosts/onnxruntime.md lists its attributes).
namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// The value of an attribute; nothing for a type that no attribute read here has.
using Attribute = std::variant<std::monostate, std::int64_t, std::string, std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

inline constexpr std::string_view context_operator = "EPContext";
inline constexpr std::string_view context_domain = "com.microsoft";

/// An EPContext node, checked.
struct ContextNode {
  std::string backend;      ///< `source`: the backend's id.
  std::string context;      ///< `ep_cache_context`: bytes, or the path of a file.
  bool is_embedded = true;  ///< `embed_mode`: `context` is bytes.
  /// `tenon_method`: the context is a program, and this is its method. Empty: it is a blob.
  std::string method;
  /// `tenon_inputs` and `tenon_outputs`: the tensors of the call. Nothing: the node's.
  std::optional<std::vector<aot::TensorValue>> inputs;
  std::optional<std::vector<aot::TensorValue>> outputs;
  std::optional<std::uint32_t> payload_version;  ///< `tenon_payload_version`.
  /// `tenon_spec_keys` and `tenon_spec_0`, ...: compile specs.
  std::vector<std::pair<std::string, std::string>> specs;
  /// `tenon_data_keys` and `tenon_data_0`, ...: named data.
  std::vector<std::pair<std::string, std::string>> data;
};

namespace detail {

/// Takes attributes out of `all`; a wrong type is a failure that names the attribute.
class AttributeReader {
 public:
  explicit AttributeReader(Attributes& all) noexcept : all_(all) {}

  /// Nothing where the node has no such attribute.
  template <class T>
  [[nodiscard]] Result<std::optional<T>> take(std::string_view name) {
    const auto found = all_.find(name);
    if (found == all_.end()) return std::optional<T>();
    if (T* const value = std::get_if<T>(&found->second)) {
      return std::optional<T>(std::move(*value));
    }
    return error(Error::InvalidType, "attribute ", name, ": expected ", type_name<T>());
  }

  /// Fails where the node has no such attribute.
  [[nodiscard]] Result<std::string> take_text(std::string_view name) {
    TENON_TRY(auto value, take<std::string>(name));
    if (value) return *std::move(value);
    return error(Error::InvalidArgument, "attribute ", name, " is missing");
  }

  /// The pairs of `tenon_KIND_keys` and `tenon_KIND_0`, `tenon_KIND_1`, ...
  [[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>> take_pairs(
      std::string_view kind) {
    std::vector<std::pair<std::string, std::string>> out;
    TENON_TRY(auto keys, take<std::vector<std::string>>(concat("tenon_", kind, "_keys")));
    if (!keys) return out;
    for (std::string& key : *keys) {
      TENON_TRY(std::string value, take_text(concat("tenon_", kind, "_", out.size())));
      out.emplace_back(std::move(key), std::move(value));
    }
    return out;
  }

  [[nodiscard]] Result<std::optional<std::vector<aot::TensorValue>>> take_tensors(
      std::string_view name) {
    TENON_TRY(auto texts, take<std::vector<std::string>>(name));
    if (!texts) return std::optional<std::vector<aot::TensorValue>>();
    TENON_TRY(auto tensors, aot::parse_tensors(*texts, name));
    return std::optional(std::move(tensors));
  }

 private:
  template <class T>
  static constexpr std::string_view type_name() noexcept {
    if constexpr (std::is_same_v<T, std::int64_t>) return "an integer";
    if constexpr (std::is_same_v<T, std::string>) return "a string";
    return "a list of strings";
  }

  Attributes& all_;
};

}  // namespace detail

/// Reads a node out of its attributes, whose bytes it takes.
///
/// errors: InvalidArgument and InvalidType, which name the attribute; NotSupported for a node that
///         refers to the context of another one (`main_context` is 0), and for a dtype that no
///         program can hold.
[[nodiscard]] inline Result<ContextNode> read_context_node(Attributes attributes) {
  detail::AttributeReader reader(attributes);
  ContextNode out;
  TENON_TRY(out.backend, reader.take_text("source"));
  TENON_TRY(const auto main_context, reader.take<std::int64_t>("main_context"));
  if (main_context.value_or(1) != 1) {
    return error(Error::NotSupported, "attribute main_context: expected 1, found ", *main_context,
                 "; a node of a Tenon backend has a context of its own");
  }
  TENON_TRY(const auto embed_mode, reader.take<std::int64_t>("embed_mode"));
  if (embed_mode && *embed_mode != 0 && *embed_mode != 1) {
    return error(Error::InvalidArgument, "attribute embed_mode: expected 0 or 1, found ",
                 *embed_mode);
  }
  out.is_embedded = embed_mode.value_or(1) == 1;
  TENON_TRY(out.context, reader.take_text("ep_cache_context"));
  if (out.context.empty()) {
    return error(Error::InvalidArgument, "attribute ep_cache_context is empty, expected ",
                 out.is_embedded ? "the context" : "the path of a file");
  }
  TENON_TRY(auto method, reader.take<std::string>("tenon_method"));
  if (method && method->empty()) {
    return error(Error::InvalidArgument, "attribute tenon_method is empty");
  }
  out.method = method.value_or("");
  TENON_TRY(const auto version, reader.take<std::int64_t>("tenon_payload_version"));
  if (version) {
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    if (*version < 0 || *version > most) {
      return error(Error::InvalidArgument, "attribute tenon_payload_version: expected 0 to ", most,
                   ", found ", *version);
    }
    out.payload_version = static_cast<std::uint32_t>(*version);
  }
  TENON_TRY(out.inputs, reader.take_tensors("tenon_inputs"));
  TENON_TRY(out.outputs, reader.take_tensors("tenon_outputs"));
  TENON_TRY(out.specs, reader.take_pairs("spec"));
  TENON_TRY(out.data, reader.take_pairs("data"));
  const bool is_program = !out.method.empty();
  if (is_program && (out.inputs || out.outputs || !out.specs.empty() || !out.data.empty())) {
    return error(Error::InvalidArgument,
                 "attribute tenon_method: the context is a program, which has its own tensors, "
                 "compile specs and named data; expected none in attributes");
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::ort
