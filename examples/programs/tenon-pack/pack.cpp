// SPDX-License-Identifier: MIT
#include "pack.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "tenon/aot/compiler/emit/single_call.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/layers/arrays/npy.hpp"
#include "tenon/host/layers/prove/golden.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/onnxruntime/context_model.hpp"

namespace tenon::pack {
namespace {

using host::path_of;

Status check_paths(const Arguments& arguments) {
  std::vector<std::string> read{arguments.blob};
  for (const auto& [key, path] : arguments.data) read.push_back(path);
  for (const std::string& path : read) {
    std::error_code failed;
    if (!std::filesystem::equivalent(path_of(path), path_of(arguments.program), failed) || failed)
      continue;
    return error(Error::InvalidArgument, arguments.program, ": is read, and cannot be written");
  }
  return ok();
}

/// Appends the arrays of the files that `list` names to `out`.
Status read_arrays(const std::string& list, const std::vector<aot::TensorValue>& values,
                   std::string_view what, std::deque<host::Array>& arrays,
                   std::vector<host::GoldenTensor>& out) {
  const auto paths = list.empty() ? std::vector<std::string_view>() : split(list, ',');
  if (paths.size() != values.size()) {
    return error(Error::InvalidArgument, "--golden ", list, ": has ", paths.size(), " files, and ",
                 values.size(), " ", what, "s are described");
  }
  for (std::uint32_t i = 0; i < paths.size(); ++i) {
    TENON_TRY(host::NpyArray read, host::read_npy(std::string(paths[i])));
    auto array = host::to_scalar_type(std::move(read), values[i].layout.scalar_type);
    if (!array.ok()) return std::move(array).status().with_context(paths[i]);
    const host::Array& kept = arrays.emplace_back(*std::move(array));
    out.push_back({i, kept.type, kept.shape, kept.data.span(), {}});
    if (what == "output") out.back().tolerance = host::golden_tolerance(kept.view());
  }
  return ok();
}

Result<aot::SharedBytes> read_golden(const Arguments& arguments) {
  std::deque<host::Array> arrays;
  host::GoldenCases golden;
  for (const auto& [inputs, outputs] : arguments.golden) {
    host::GoldenCase& one = golden.cases.emplace_back();
    one.method = arguments.method;
    TENON_RETURN_IF_ERROR(read_arrays(inputs, arguments.inputs, "input", arrays, one.inputs));
    TENON_RETURN_IF_ERROR(read_arrays(outputs, arguments.outputs, "output", arrays, one.outputs));
  }
  TENON_TRY(auto bytes, host::write_golden(golden));
  return aot::SharedBytes(std::move(bytes));
}

Result<Call> read_call(const Arguments& arguments) {
  Call out{.backend = arguments.backend,
           .method = arguments.method,
           .blob = {},
           .inputs = arguments.inputs,
           .outputs = arguments.outputs,
           .specs = {},
           .data = {}};
  TENON_TRY(out.blob, read_bytes(arguments.blob));
  for (const auto& [key, value] : arguments.specs) {
    out.specs.push_back({key, aot::SharedBytes::copy_of(value)});
  }
  for (const auto& [key, path] : arguments.data) {
    TENON_TRY(aot::SharedBytes bytes, read_bytes(path));
    out.data.emplace_back(key, std::move(bytes));
  }
  if (arguments.golden.empty()) return out;
  TENON_TRY(aot::SharedBytes golden, read_golden(arguments));
  out.data.emplace_back(host::golden_key, std::move(golden));
  return out;
}

/// Large bytes, which a host does not read to open a program, become one.
void leave_out_large(aot::SharedBytes& bytes) {
  constexpr std::size_t large = std::size_t{1} << 20;
  if (bytes.size() > large) bytes = aot::SharedBytes::copy_of(bytes.bytes().first(1));
}

/// Fails unless the host opens the program, with its usual limits.
Status check_opens(aot::ProgramData program) {
  std::vector<bool> is_read(program.named_data.buffers.size());
  for (const aot::NamedEntry& data : program.named_data.pte_data) {
    if (data.key == host::variants_key || data.key == host::golden_key)
      is_read[data.entry.buffer_index] = true;
  }
  for (std::size_t i = 0; i < is_read.size(); ++i) {
    if (!is_read[i]) leave_out_large(program.named_data.buffers[i]);
  }
  for (aot::DelegateData& delegate : program.methods[0].delegates) {
    leave_out_large(delegate.processed);
    for (aot::CompileSpecData& spec : delegate.compile_specs) leave_out_large(spec.value);
  }
  TENON_TRY(const aot::FileImage image, aot::make_pte(program));
  const auto bytes = std::make_shared<const std::vector<std::byte>>(image.bytes());
  TENON_TRY(const auto opened,
            host::Program::from_bytes(*bytes, bytes, "no host would open the program"));
  TENON_RETURN_IF_ERROR(host::golden_cases_of(*opened));
  return host::Variants::of(*opened).status();
}

Result<WrittenFile> write(const Call& call, const Arguments& arguments) {
  TENON_TRY(const aot::ProgramData program, aot::make_program(call));
  TENON_RETURN_IF_ERROR(check_opens(program));
  TENON_TRY(const aot::FileImage image,
            arguments.onnx ? ort::make_context_model(call) : aot::make_pte(program));
  TENON_RETURN_IF_ERROR(image.write(path_of(arguments.program)));
  return WrittenFile{arguments.program, image.size()};
}

}  // namespace

Result<aot::SharedBytes> read_bytes(const std::string& path) {
  TENON_TRY(host::MappedFile opened, host::MappedFile::open(path_of(path)));
  auto file = std::make_shared<const host::MappedFile>(std::move(opened));
  const Bytes bytes = file->bytes();
  return aot::SharedBytes::borrow(bytes, std::move(file));
}

Report pack(const Arguments& arguments) {
  Report out;
  const auto run = [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_paths(arguments));
    TENON_TRY(out.call, read_call(arguments));
    TENON_TRY(out.program, write(out.call, arguments));
    return ok();
  };
  out.failure = run();
  if (!out.failure.ok()) out.code = ExitCode::wrong_usage;
  return out;
}

}  // namespace tenon::pack
