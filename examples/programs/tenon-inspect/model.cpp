// SPDX-License-Identifier: MIT
#include "model.hpp"

#include <array>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "tenon/core/args.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::inspect {
namespace {

std::string device_text(tenon_dl_device device) {
  if (device.device_type == TENON_DL_CPU) return "cpu";
  const std::string type = device.device_type == TENON_DL_CUDA
                               ? std::string("cuda")
                               : concat("device type ", device.device_type, " ");
  return concat(type, ":", device.device_id);
}

TensorFacts facts_of(const host::StoredTensorLayout& layout) {
  return {std::string(name_of(layout.scalar_type)), {layout.sizes.begin(), layout.sizes.end()}};
}

/// `tag` and `meta` are functions of MethodMeta, for inputs or for outputs.
template <class Tag, class Meta>
Result<ValueFacts> value_facts(const host::MethodMeta& method, std::size_t index, Tag tag,
                               Meta meta) {
  ValueFacts out;
  TENON_TRY(const std::uint32_t kind, (method.*tag)(index));
  out.kind = value_kind_name(kind);
  if (kind != TENON_VALUE_TENSOR) return out;
  TENON_TRY(const host::TensorMeta tensor, (method.*meta)(index));
  out.tensor = facts_of(tensor.layout);
  out.is_dynamic = tensor.shape_dynamism != TENON_SHAPE_STATIC;
  out.is_memory_planned = tensor.is_memory_planned;
  out.device = device_text(tensor.device);
  return out;
}

Result<MethodFacts> method_facts(const host::Program& program, std::string_view name,
                                 std::size_t& num_blobs) {
  MethodFacts out;
  out.name = name;
  TENON_TRY(const host::MethodMeta method, host::MethodMeta::of(program, name));
  using Meta = host::MethodMeta;
  for (std::size_t i = 0; i < method.num_inputs(); ++i) {
    TENON_TRY(ValueFacts value, value_facts(method, i, &Meta::input_tag, &Meta::input_tensor_meta));
    out.inputs.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < method.num_outputs(); ++i) {
    TENON_TRY(ValueFacts value,
              value_facts(method, i, &Meta::output_tag, &Meta::output_tensor_meta));
    out.outputs.push_back(std::move(value));
  }
  const schema::ExecutionPlan& plan = **program.plan(name);
  for (std::size_t i = 0; i < method.num_delegates(); ++i) {
    TENON_TRY(const host::DelegateMeta delegate, method.delegate(i));
    DelegateFacts facts;
    facts.blob = num_blobs++;
    facts.backend = delegate.id;
    facts.nbytes = delegate.blob.size();
    const auto* processed = plan.delegates()->Get(static_cast<std::uint32_t>(i))->processed();
    if (processed->location() == schema::DataLocation::SEGMENT) facts.segment = processed->index();
    for (const auto& spec : delegate.compile_specs) {
      facts.compile_specs.push_back(
          {std::string(spec.key),
           std::string(reinterpret_cast<const char*>(spec.value.data()), spec.value.size())});
    }
    out.delegates.push_back(std::move(facts));
  }
  for (std::size_t i = 0; i < method.num_operators(); ++i) {
    TENON_TRY(out.operators.emplace_back(), method.operator_name(i));
  }
  for (std::size_t i = 0; i < method.num_memory_planned_buffers(); ++i) {
    TENON_TRY(const std::uint64_t nbytes, method.memory_planned_buffer_size(i));
    TENON_TRY(const tenon_dl_device device, method.memory_planned_buffer_device(i));
    out.planned_buffers.push_back({nbytes, device_text(device)});
  }
  out.num_instructions = method.num_instructions();
  return out;
}

/// Writes blob `number`, counted over all methods, to `output`.
Status extract_blob(const host::Program& program, std::size_t number, const std::string& output) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < program.num_methods(); ++i) {
    const std::string_view name = program.method_name(i);
    TENON_TRY(const host::MethodMeta method, host::MethodMeta::of(program, name));
    if (number - first < method.num_delegates()) {
      TENON_TRY(const host::DelegateMeta delegate, method.delegate(number - first));
      TENON_TRY(host::NewFile file, host::NewFile::create(output));
      TENON_RETURN_IF_ERROR(file.write(delegate.blob));
      return file.commit();
    }
    first += method.num_delegates();
  }
  return error(Error::InvalidArgument, "--extract-blob ", number, ": ", program.name(), " has ",
               first, first == 1 ? " blob" : " blobs", ", counted from 0");
}

Status check_output(const std::string& model, const std::string& output) {
  std::error_code failed;
  if (output.empty() || !std::filesystem::equivalent(model, output, failed) || failed) return ok();
  return error(Error::InvalidArgument, output, ": is read, and cannot be written");
}

Status read_program(const Arguments& arguments, ModelReport& report) {
  TENON_TRY(const auto program, host::Variants::open(host::path_of(arguments.plugin)));
  for (std::size_t i = 0; i < program->view().num_segments(); ++i) {
    report.segments.push_back(program->view().segment(i).size());
  }
  std::size_t num_blobs = 0;
  // Plans of variants as well.
  for (std::size_t i = 0; i < program->num_methods(); ++i) {
    const std::string_view name = program->method_name(i);
    TENON_TRY(MethodFacts method, method_facts(*program, name, num_blobs));
    report.methods.push_back(std::move(method));
  }
  for (std::uint32_t i = 0; i < program->num_keys(); ++i) {
    report.named_data.push_back({std::string(program->key(i)), program->key_data(i).size(), {}});
  }
  if (!arguments.extract_blob) return ok();
  report.code = ExitCode::wrong_usage;  // Of what follows.
  TENON_RETURN_IF_ERROR(check_output(arguments.plugin, arguments.output));
  TENON_RETURN_IF_ERROR(extract_blob(*program, *arguments.extract_blob, arguments.output));
  report.code = ExitCode::success;
  report.extracted = arguments.output;
  return ok();
}

Status read_data_file(const Arguments& arguments, ModelReport& report) {
  TENON_TRY(const auto file, host::DataFile::open(host::path_of(arguments.plugin)));
  for (std::uint32_t i = 0; i < file->num_keys(); ++i) {
    NamedDataFacts facts{std::string(file->key(i)), file->key_data(i).size(), {}};
    if (const auto layout = file->key_layout(i)) facts.tensor = facts_of(*layout);
    report.named_data.push_back(std::move(facts));
  }
  if (!arguments.extract_blob) return ok();
  report.code = ExitCode::wrong_usage;
  return error(Error::InvalidArgument, "--extract-blob: a data file has no blobs");
}

}  // namespace

FileKind kind_of_file(const std::filesystem::path& path) {
  std::error_code failed;
  // Not of a FIFO or a device, which can be read only once.
  if (std::filesystem::is_regular_file(path, failed)) {
    std::array<char, 8> head{};
    std::ifstream file(path, std::ios::binary);
    file.read(head.data(), head.size());
    const std::string_view identifier(head.data() + 4, 4);
    if (identifier.starts_with("ET") && identifier != std::string_view("ET\0\0", 4)) {
      return FileKind::program;
    }
    if (identifier == "FT01") return FileKind::data;
  }
  if (path.extension() == ".pte") return FileKind::program;
  return path.extension() == ".ptd" ? FileKind::data : FileKind::plugin;
}

ModelReport inspect_model(const Arguments& arguments, FileKind kind) {
  ModelReport report;
  report.kind = kind;
  std::error_code failed;
  const auto path = std::filesystem::absolute(host::path_of(arguments.plugin), failed);
  report.path = failed ? arguments.plugin : host::path_text(path);
  const auto nbytes = std::filesystem::file_size(path, failed);
  report.nbytes = failed ? 0 : nbytes;
  report.code = ExitCode::invalid_file;
  report.failure = kind == FileKind::program ? read_program(arguments, report)
                                             : read_data_file(arguments, report);
  if (report.failure.ok()) report.code = ExitCode::success;
  return report;
}

}  // namespace tenon::inspect
