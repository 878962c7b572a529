// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/abi/version.h"
#include "tenon/conformance/record_program.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/arrays/npy.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"
#include "tenon/host/platform/new_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// An argument in one run: its declaration, and the elements of a tensor in C order.
struct RecordedValue {
  RecordedArgument argument;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> elements;
};

/// One run of a delegate: all its arguments before and after.
struct RecordedRun {
  std::vector<RecordedValue> before, after;
};

/// The content of a case to be written.
struct RecordedCase {
  RecordedProgram program;
  std::vector<RecordedRun> runs;
  nlohmann::ordered_json runtime_specs = nlohmann::ordered_json::object();
};

/// A copy of `value`. errors: as `host::to_array`; NotSupported for a tensor on a device and for
/// lists of tensors. The texts continue "argument 3: ".
[[nodiscard]] inline Result<RecordedValue> record_value(const tenon_value& value) {
  RecordedValue out;
  auto& declared = out.argument.value;
  const tenon_span& span = value.as.span;
  const auto size = static_cast<std::size_t>(span.size);
  switch (value.kind) {
    case TENON_VALUE_NONE:
      return out;
    case TENON_VALUE_INT:
      declared = value.as.integer;
      return out;
    case TENON_VALUE_DOUBLE:
      declared = value.as.real;
      return out;
    case TENON_VALUE_BOOL:
      declared = value.as.boolean != 0;
      return out;
    case TENON_VALUE_STRING:
      declared = std::string(static_cast<const char*>(span.data), size);
      return out;
    case TENON_VALUE_INT_LIST: {
      std::vector<std::int64_t> numbers;
      for (const tenon_value* one : host::elements_of(value)) numbers.push_back(one->as.integer);
      declared = std::move(numbers);
      return out;
    }
    case TENON_VALUE_DOUBLE_LIST: {
      const auto* numbers = static_cast<const double*>(span.data);
      declared = std::vector<double>(numbers, numbers + size);
      return out;
    }
    case TENON_VALUE_BOOL_LIST: {
      const auto* truths = static_cast<const std::uint8_t*>(span.data);
      declared = std::vector<bool>(truths, truths + size);
      return out;
    }
    case TENON_VALUE_TENSOR:
      break;
    default:
      return error(Error::NotSupported, "is a ", value_kind_name(value.kind),
                   ", which is not recorded");
  }
  TENON_TRY(const host::ValueArray array, host::to_array(value));
  const tenon_tensor& tensor = *value.as.tensor;
  RecordedTensor declaration;
  declaration.type = array.type;
  for (std::int32_t i = 0; i < tensor.dl.ndim; ++i) {
    declaration.bounds.push_back(static_cast<std::int32_t>(tensor.bounds[i]));
    declaration.dim_order.push_back(tensor.dim_order[i]);
  }
  declaration.shape_dynamism = tensor.shape_dynamism;
  declaration.is_planned = (tensor.flags & TENON_TENSOR_MEMORY_PLANNED) != 0;
  declared = std::move(declaration);
  out.shape = array.shape;
  out.elements.assign(array.data.begin(), array.data.end());
  return out;
}

namespace detail {

/// Writes the files of a case into a directory.
class CaseWriter {
 public:
  CaseWriter(const RecordedCase& recorded, std::filesystem::path directory)
      : recorded_(recorded), directory_(std::move(directory)) {}

  Status write() {
    TENON_RETURN_IF_ERROR(write_bytes("model.pte", write_program(recorded_.program)));
    auto runs = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < recorded_.runs.size(); ++i) {
      TENON_TRY(auto run, write_run(i));
      runs.push_back(std::move(run));
    }
    nlohmann::ordered_json out;
    out["description"] = concat("Recorded from one delegate of ", recorded_.program.backend_id);
    out["method"] = recorded_.program.method;
    out["runs"] = std::move(runs);
    if (!recorded_.runtime_specs.empty()) {
      out["runtime_specs"][recorded_.program.backend_id] = recorded_.runtime_specs;
    }
    out["made_by"] = "tenon-proxy " TENON_VERSION_STRING;
    const std::string text =
        out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    return write_bytes("case.json", std::as_bytes(std::span(text.data(), text.size())));
  }

 private:
  Result<nlohmann::ordered_json> write_run(std::size_t number) {
    auto inputs = nlohmann::ordered_json::array();
    auto expected = nlohmann::ordered_json::array();
    const auto& arguments = recorded_.program.arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      auto& list = arguments[i].is_output ? expected : inputs;
      const bool is_tensor = std::holds_alternative<RecordedTensor>(arguments[i].value);
      if (!arguments[i].is_output && !is_tensor) continue;  // It is part of the program.
      const RecordedRun& run = recorded_.runs[number];
      const std::string name = concat(arguments[i].is_output ? "expected_" : "input_", list.size(),
                                      "_of_run_", number, ".npy");
      TENON_TRY(auto entry, entry_of(arguments[i].is_output ? run.after[i] : run.before[i], name));
      list.push_back(std::move(entry));
    }
    return nlohmann::ordered_json{{"inputs", std::move(inputs)}, {"expected", std::move(expected)}};
  }

  /// The form of a value in case.json; writes the file of a tensor.
  Result<nlohmann::ordered_json> entry_of(const RecordedValue& value, const std::string& name) {
    const auto& declared = value.argument.value;
    if (const auto* tensor = std::get_if<RecordedTensor>(&declared)) {
      TENON_RETURN_IF_ERROR(
          host::write_npy((directory_ / name).native(), tensor->type, value.shape, value.elements));
      return nlohmann::ordered_json(name);
    }
    if (const auto* number = std::get_if<std::int64_t>(&declared)) {
      return nlohmann::ordered_json(*number);
    }
    if (const auto* real = std::get_if<double>(&declared)) return nlohmann::ordered_json(*real);
    if (const auto* truth = std::get_if<bool>(&declared)) return nlohmann::ordered_json(*truth);
    return nlohmann::ordered_json(nullptr);  // Is not compared.
  }

  Status write_bytes(std::string_view name, std::span<const std::byte> bytes) {
    return host::write_file(directory_ / name, {bytes});
  }

  const RecordedCase& recorded_;
  std::filesystem::path directory_;
};

/// Renames `made` to the first free name delegate_1, delegate_2, ... below `parent`.
inline Result<std::filesystem::path> move_to_free_name(const std::filesystem::path& made,
                                                       const std::filesystem::path& parent) {
  constexpr std::uint32_t most = 1000000;
  for (std::uint32_t number = 1; number < most; ++number) {
    const std::filesystem::path path = parent / concat("delegate_", number);
    std::error_code failure;
    if (std::filesystem::exists(path, failure)) continue;
    std::filesystem::rename(made, path, failure);
    if (!failure) return path;
    // Another process may have taken the name meanwhile.
    if (!std::filesystem::exists(path)) {
      return error(Error::AccessFailed, path.native(), ": cannot be made: ", failure.message());
    }
  }
  return error(Error::AccessFailed, parent.native(), ": has ", most, " cases already");
}

}  // namespace detail

/// Writes `recorded` as a new directory delegate_N below `parent`, which appears complete or not at
/// all, and returns its path. errors: AccessFailed.
[[nodiscard]] inline Result<std::filesystem::path> write_case(const RecordedCase& recorded,
                                                              const std::filesystem::path& parent) {
  std::error_code failure;
  std::filesystem::create_directories(parent, failure);
  std::string made = (parent / ".recording_XXXXXX").native();
  if (::mkdtemp(made.data()) == nullptr) {
    return error(Error::AccessFailed, parent.native(),
                 ": no directory can be made there: ", std::string_view(std::strerror(errno)));
  }
  // The usual permissions; mkdtemp makes a directory for its owner alone.
  std::filesystem::permissions(made, std::filesystem::perms(0755), failure);
  const auto write_all = [&]() -> Result<std::filesystem::path> {
    TENON_RETURN_IF_ERROR(detail::CaseWriter(recorded, made).write());
    return detail::move_to_free_name(made, parent);
  };
  auto path = write_all();
  if (!path.ok()) std::filesystem::remove_all(made, failure);
  return path;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
