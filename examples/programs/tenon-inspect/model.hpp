// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "inspect.hpp"
#include "tenon/core/status.hpp"
#include "tool.hpp"

namespace tenon::inspect {

enum class FileKind { plugin, program, data };

/// The kind that a file is taken for: by its identifier, and by its name's ending when it cannot be
/// read or has no known identifier. Everything else is taken for a plugin.
[[nodiscard]] FileKind kind_of_file(const std::filesystem::path& path);

/// A tensor's dtype and sizes, which are upper bounds when the shape is dynamic.
struct TensorFacts {
  std::string dtype;
  std::vector<std::int32_t> sizes;
};

/// An input or output of a method.
struct ValueFacts {
  std::string kind;  ///< "Tensor", "Int", ...
  std::optional<TensorFacts> tensor;
  bool is_dynamic = false;
  bool is_memory_planned = false;
  std::string device;  ///< "cpu", "cuda:0"; of a tensor.
};

struct SpecFacts {
  std::string key;
  std::string value;  ///< All bytes.
};

struct DelegateFacts {
  std::size_t blob = 0;  ///< Its number among the blobs of all methods (`--extract-blob`).
  std::string backend;
  std::uint64_t nbytes = 0;              ///< Of the blob.
  std::optional<std::uint32_t> segment;  ///< Nothing: inside the flatbuffer.
  std::vector<SpecFacts> compile_specs;
};

struct PlannedBuffer {
  std::uint64_t nbytes = 0;
  std::string device;
};

struct MethodFacts {
  std::string name;
  std::vector<ValueFacts> inputs;
  std::vector<ValueFacts> outputs;
  std::vector<DelegateFacts> delegates;
  std::vector<std::string> operators;  ///< Of kernel calls.
  std::vector<PlannedBuffer> planned_buffers;
  std::size_t num_instructions = 0;
};

struct NamedDataFacts {
  std::string key;
  std::uint64_t nbytes = 0;
  std::optional<TensorFacts> tensor;  ///< Known for data files alone.
};

/// Everything that is found out about a program or a data file.
struct ModelReport {
  std::string path;
  FileKind kind = FileKind::program;
  std::uint64_t nbytes = 0;
  std::vector<std::uint64_t> segments;  ///< Their sizes; of a program.
  std::vector<MethodFacts> methods;
  std::vector<NamedDataFacts> named_data;
  std::string extracted;  ///< The file that a blob was written to.

  Status failure;
  ExitCode code = ExitCode::success;
};

/// Reads the program or data file, and writes the blob that `arguments` asks for. No plugin is
/// loaded and nothing is executed.
[[nodiscard]] ModelReport inspect_model(const Arguments& arguments, FileKind kind);

/// The report for a person, and as one line of JSON
/// (docs/schemas/tenon-inspect-program.schema.json).
[[nodiscard]] std::string to_text(const ModelReport& report, bool verbose, bool color);
[[nodiscard]] std::string to_json(const ModelReport& report);

}  // namespace tenon::inspect
