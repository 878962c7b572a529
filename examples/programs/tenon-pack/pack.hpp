// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/compiler/emit/single_call.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"
#include "tool.hpp"

namespace tenon::pack {

using tool::ExitCode;
using tool::WrittenFile;

using Call = aot::SingleCall;

/// The bytes of a whole file, which is mapped.
///
/// errors: AccessFailed, also for an empty file.
[[nodiscard]] Result<aot::SharedBytes> read_bytes(const std::string& path);

/// The command line.
struct Arguments {
  std::string blob;  ///< A file.
  std::string backend;
  std::string method = "forward";
  std::vector<aot::TensorValue> inputs;
  std::vector<aot::TensorValue> outputs;
  std::vector<std::pair<std::string, std::string>> specs;  ///< Keys and values.
  std::vector<std::pair<std::string, std::string>> data;   ///< Keys and files.
  /// Golden cases: .npy files of all inputs and of all outputs, with commas between them.
  std::vector<std::pair<std::string, std::string>> golden;
  std::string program;  ///< The file to write.
  bool onnx = false;    ///< It is a model for ONNX Runtime.
  bool json = false;
};

/// Reads the command line. errors: InvalidArgument and NotSupported, which name the wrong argument.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

struct Report {
  std::optional<WrittenFile> program;
  Call call;  ///< Of a program that was written.
  Status failure;
  ExitCode code = ExitCode::success;
};

/// Reads the blob and the data, and writes the program. On failure no file is written.
[[nodiscard]] Report pack(const Arguments& arguments);

/// The report for a person, and as one line of JSON (docs/schemas/tenon-pack.schema.json).
[[nodiscard]] std::string to_text(const Report& report);
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace tenon::pack
