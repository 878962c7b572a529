// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>
#include <system_error>

#include "cpu_without.hpp"
#include "installed_plugins.hpp"
#include "isolated_files.hpp"
#include "options.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/args.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/arrays/exported_value.hpp"
#include "tenon/host/layers/arrays/output_memory.hpp"
#include "tenon/host/layers/budget/budget.hpp"
#include "tenon/host/layers/cancel/cancel.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "tenon/host/layers/progress/load_progress.hpp"
#include "tenon/host/layers/scheduling/scheduling_hints.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/prove.hpp"
#include "tenon/host/schema/program_generated.h"
#include "tenon/host/signatures.hpp"
#include "tool.hpp"
#include "unused_plugin.hpp"
#include "values.hpp"

namespace tenon::run {
namespace {

// Logs below the level of an error are for the plugin's author; no argument asks for them.
void log_errors(std::int32_t level, std::string_view plugin, std::string_view text) {
  if (level < TENON_LOG_ERROR) return;
  const std::string name = host::path_text(host::path_of(plugin).filename());
  const std::string line =
      printable(concat("tenon-run: log of ", name, ": ", host::shortened(text))) + "\n";
  std::fputs(line.c_str(), stderr);
}

bool is_exported_scalar(std::uint32_t kind) {
  return kind == TENON_VALUE_INT || kind == TENON_VALUE_DOUBLE || kind == TENON_VALUE_BOOL ||
         kind == TENON_VALUE_STRING;
}

// "Float [2, 3]", or "Float up to [2, 3]" when the shape is dynamic.
std::string type_text(const host::TensorMeta& tensor) {
  const std::vector<std::int64_t> sizes(tensor.layout.sizes.begin(), tensor.layout.sizes.end());
  return concat(name_of(tensor.layout.scalar_type),
                tensor.shape_dynamism == TENON_SHAPE_STATIC ? " " : " up to ", shape_text(sizes));
}

// The element type of an output that can be compared with an array.
Result<ScalarType> output_type(const host::MethodMeta& meta, std::size_t index) {
  TENON_TRY(const std::uint32_t kind, meta.output_tag(index));
  switch (kind) {
    case TENON_VALUE_TENSOR: {
      TENON_TRY(const auto tensor, meta.output_tensor_meta(index));
      return tensor.layout.scalar_type;
    }
    case TENON_VALUE_INT:
    case TENON_VALUE_INT_LIST:
      return ScalarType::Long;
    case TENON_VALUE_DOUBLE:
    case TENON_VALUE_DOUBLE_LIST:
      return ScalarType::Double;
    case TENON_VALUE_BOOL:
    case TENON_VALUE_BOOL_LIST:
      return ScalarType::Bool;
    default:
      return error(Error::InvalidType, "output ", index, " is of kind ", value_kind_name(kind),
                   ", which cannot be compared with an array");
  }
}

/// A pattern that matches `name` alone.
std::string pattern_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// The plugins that are named run as --isolate says, others as the variable.
std::shared_ptr<const host::PluginIsolation> isolation_of(const Arguments& arguments) {
  if (arguments.isolate.empty()) return tool_isolation();
  auto others =
      host::parse_isolation_rules(host::environment_variable("TENON_ISOLATE").value_or(""));
  if (!others.ok()) return tool_isolation();  // Says why.
  std::vector<host::IsolationRule> rules;
  for (const std::string& plugin : arguments.plugins) {
    const std::string name = host::path_text(host::path_of(plugin).filename());
    rules.push_back(
        {pattern_of(name), {.profile = *host::parse_worker_profile(arguments.isolate)}});
  }
  rules.insert(rules.end(), others->begin(), others->end());
  return std::make_shared<host::WorkerIsolation>(std::move(rules), worker_program());
}

}  // namespace

Session::Session(const Arguments& arguments, RecordedRun* recorded)
    : arguments_(arguments),
      recorded_(recorded),
      trace_(arguments.limits.trace_events),
      cpu_(tool::cpu_without(arguments.without_cpu_features)),
      registry_({"tenon-run " TENON_VERSION_STRING,
                 &log_errors,
                 {host::environment_library_policy(), isolation_of(arguments)}},
                &cpu_) {
  report_.program = arguments.model;
  registry_.add_search(host::discovery({.installed = installed_plugins()}));
}

Report Session::run() && {
  run_stages();
  // The trace of a failed run is useful as well; its own failure counts only if there is no other.
  Status written = write_trace();
  if (!written.ok() && report_.failure.ok()) {
    report_.failure = std::move(written);
    report_.code = ExitCode::wrong_usage;
  }
  return std::move(report_);
}

void Session::run_stages() {
  const bool went_well = stage(ExitCode::invalid_file, &Session::add_plugins) &&
                         stage(ExitCode::invalid_file, &Session::open_program) &&
                         stage(ExitCode::invalid_file, &Session::check_plugins) &&
                         stage(ExitCode::wrong_usage, &Session::read_inputs) &&
                         stage(ExitCode::wrong_usage, &Session::read_labels) &&
                         stage(ExitCode::wrong_usage, &Session::read_expected) &&
                         stage(ExitCode::no_backend, &Session::choose_variant) &&
                         stage(ExitCode::no_backend, &Session::find_backends) &&
                         stage(ExitCode::wrong_usage, &Session::read_options) &&
                         stage(ExitCode::invalid_file, &Session::load_method) &&
                         stage(ExitCode::invalid_file, &Session::check_kernel_plugins) &&
                         stage(ExitCode::execute_failed, &Session::record) &&
                         stage(ExitCode::wrong_usage, &Session::set_inputs) &&
                         stage(ExitCode::execute_failed, &Session::set_outputs) &&
                         stage(ExitCode::execute_failed, &Session::execute) &&
                         stage(ExitCode::execute_failed, &Session::read_outputs) &&
                         stage(ExitCode::execute_failed, &Session::report_outputs) &&
                         stage(ExitCode::wrong_usage, &Session::write_outputs) &&
                         stage(ExitCode::execute_failed, &Session::compare_outputs);
  if (!went_well) return;
  for (const OutputReport& output : report_.outputs) {
    if (output.comparison && !output.comparison->equal) report_.code = ExitCode::failed;
  }
}

bool Session::stage(ExitCode code, Status (Session::*step)()) {
  Status outcome = (this->*step)();
  if (outcome.ok()) return true;
  report_.code = code_of_failure_.value_or(code);
  report_.failure = std::move(outcome);
  return false;
}

Status Session::fail(ExitCode code, Status failure) {
  code_of_failure_ = code;
  return failure;
}

// Reading: arguments and files, before any code of a plugin runs.

Status Session::add_plugins() {
  for (const std::string& path : arguments_.plugins) {
    TENON_TRY(const auto record, host::peek(host::path_of(path)));
    if (Status added = registry_.register_backend(host::path_of(path)); !added.ok()) {
      const bool twice = added.error() == Error::RegistrationAlreadyRegistered;
      return fail(twice ? ExitCode::wrong_usage : ExitCode::invalid_file, std::move(added));
    }
    PluginReport plugin{path, record.name, record.version, {}, false};
    for (const auto& backend : record.backends) {
      plugin.backends.push_back(backend.id);
      plugin.offers_kernels = plugin.offers_kernels || backend.offers_kernels;
    }
    report_.plugins.push_back(std::move(plugin));
  }
  return ok();
}

/// Warns of plugins that were named and have nothing to do. Whether one with kernels has is known
/// when the method is loaded.
Status Session::check_plugins() { return warn_of_plugins(false); }

Status Session::check_kernel_plugins() { return warn_of_plugins(true); }

Status Session::warn_of_plugins(bool with_kernels) {
  TENON_TRY(const host::MethodMeta method, meta());
  const auto named = method.backends();
  std::vector<std::string> used(named.begin(), named.end());
  TENON_TRY(const host::Variants variants, host::Variants::of(*program_));
  for (const host::ProgramVariant& variant : variants.of_method(report_.method)) {
    for (const host::VariantNeed& need : variant.needs) used.emplace_back(need.backend_id);
  }
  std::set<std::string, std::less<>> loaded;
  for (const host::BackendInfo& info : registry_.enumerate_backends()) {
    if (info.state == host::BackendState::loaded) loaded.emplace(info.id());
  }
  const auto* operators = (*program_->plan(plan_))->operators();
  const bool needs_kernels = operators && operators->size() != 0;
  for (const PluginReport& plugin : report_.plugins) {
    if (plugin.offers_kernels != with_kernels) continue;
    const auto is_loaded = [&](const std::string& id) { return loaded.contains(id); };
    if (with_kernels && (needs_kernels || std::ranges::any_of(plugin.backends, is_loaded))) {
      continue;
    }
    std::string warning = tool::unused_plugin_warning(
        plugin.path, plugin.backends, concat("method ", report_.method, " names"), used);
    if (!warning.empty()) report_.warnings.push_back(std::move(warning));
  }
  return ok();
}

Result<std::string> Session::choose_method() const {
  if (!arguments_.method.empty()) {
    TENON_RETURN_IF_ERROR(program_->plan(arguments_.method));
    return arguments_.method;
  }
  if (program_->num_methods() == 1) return std::string(program_->method_name(0));
  auto forward = program_->plan("forward");
  if (forward.ok()) return std::string("forward");
  return std::move(forward).status().with_context("--method is needed");
}

Status Session::open_program() {
  TENON_RETURN_IF_ERROR(timed("open", report_.timings.open_ns, [&]() -> Status {
    TENON_TRY(program_,
              host::Variants::open(host::path_of(arguments_.model), arguments_.limits.of_host));
    for (const std::string& path : arguments_.data) {
      TENON_TRY(data_files_.emplace_back(),
                host::DataFile::open(host::path_of(path), arguments_.limits.of_host));
    }
    return ok();
  }));
  auto method = choose_method();
  if (!method.ok()) return fail(ExitCode::wrong_usage, std::move(method).status());
  report_.method = *std::move(method);
  plan_ = report_.method;
  return ok();
}

Status Session::read_labels() {
  if (arguments_.labels.empty()) return ok();
  TENON_TRY(labels_, tenon::run::read_labels(arguments_.labels));
  return ok();
}

Status Session::read_inputs() {
  TENON_TRY(const host::MethodMeta method, meta());
  std::size_t used = 0;
  for (std::size_t i = 0; i < method.num_inputs(); ++i) {
    TENON_TRY(const std::uint32_t kind, method.input_tag(i));
    if (kind == TENON_VALUE_NONE || is_exported_scalar(kind)) continue;
    if (kind != TENON_VALUE_TENSOR) {
      return error(Error::NotSupported, "method ", report_.method, ": input ", i, " is of kind ",
                   value_kind_name(kind), "; expected a tensor or a number");
    }
    if (used == arguments_.inputs.size()) {
      TENON_TRY(const auto tensor, method.input_tensor_meta(i));
      return error(Error::InvalidArgument, "method ", report_.method, ": input ", i, " (",
                   type_text(tensor), ") has no file; give one more --input");
    }
    TENON_RETURN_IF_ERROR(read_input(method, i, arguments_.inputs[used++]));
  }
  if (used == arguments_.inputs.size()) return ok();
  return error(Error::InvalidArgument, "method ", report_.method, ": it takes ", used,
               " tensors, but --input was given ", arguments_.inputs.size(), " times");
}

Status Session::read_input(const host::MethodMeta& method, std::size_t index,
                           const std::string& path) {
  TENON_TRY(const auto tensor, method.input_tensor_meta(index));
  TENON_TRY(host::NpyArray file, host::read_npy(path));
  auto array = host::to_scalar_type(std::move(file), tensor.layout.scalar_type);
  if (!array.ok()) {
    return std::move(array).status().with_context(concat("input ", index, ": ", path));
  }
  const ScalarType type = array->type;
  std::vector<std::int64_t> shape = array->shape;
  report_.inputs.push_back({path, concat(name_of(type), " ", shape_text(shape)), type, shape});
  host::ArrayBytes data = host::to_layout(*std::move(array), tensor.layout.dim_order);
  inputs_.push_back({index, type, std::move(shape), std::move(data)});
  return ok();
}

Status Session::read_expected() {
  TENON_TRY(const host::MethodMeta method, meta());
  if (arguments_.expected.size() > method.num_outputs()) {
    return error(Error::InvalidArgument, "method ", report_.method, ": it has ",
                 method.num_outputs(), " outputs, but --expect was given ",
                 arguments_.expected.size(), " times");
  }
  for (std::size_t i = 0; i < arguments_.expected.size(); ++i) {
    TENON_TRY(const ScalarType type, output_type(method, i));
    TENON_TRY(host::NpyArray file, host::read_npy(arguments_.expected[i]));
    auto array = host::to_scalar_type(std::move(file), type);
    if (!array.ok()) {
      return std::move(array).status().with_context(
          concat("output ", i, ": ", arguments_.expected[i]));
    }
    expected_.push_back(*std::move(array));
  }
  return ok();
}

// Running.

/// The stages behind this one are about the plan of the variant that it chooses.
Status Session::choose_variant() {
  TENON_TRY(const host::Variants all, host::Variants::of(*program_));
  const auto variants = all.of_method(report_.method);
  if (!arguments_.variant.empty()) {
    for (const host::ProgramVariant& one : variants) {
      if (one.name != arguments_.variant) continue;
      plan_ = program_->method_name(one.plan);
      return ok();
    }
    return fail(ExitCode::wrong_usage,
                error(Error::InvalidArgument, "--variant ", arguments_.variant, ": method ",
                      report_.method, variants.empty() ? " has no variants" : " has ",
                      join(variants, ", ",
                           [](const host::ProgramVariant& one) { return std::string(one.name); })));
  }
  if (variants.empty()) return ok();
  host::MethodOptions options;
  options.registry = &registry_;
  options.layers.add(host::DataFiles(data_files_));
  options.layers.add(arguments_.embedded_code);
  TENON_TRY(choice_, host::choose_variant(program_, report_.method, options));
  if (Status refused = choice_.status(); !refused.ok()) {
    return std::move(refused).with_context(concat(program_->name(), ": method ", report_.method));
  }
  plan_ = program_->method_name(choice_.answers[*choice_.chosen].variant->plan);
  return ok();
}

Status Session::find_backends() {
  TENON_TRY(const host::MethodMeta method, host::MethodMeta::of(*program_, plan_));
  return timed("backends", report_.timings.backends_ns, [&]() -> Status {
    for (const std::string_view id : method.backends()) {
      TENON_TRY(auto backend, registry_.lookup_backend(id));
      TENON_RETURN_IF_ERROR(backend->is_available());
      backends_.push_back(std::move(backend));
    }
    const schema::ExecutionPlan& plan = **program_->plan(plan_);
    for (const host::DeviceBuffer& buffer : host::find_device_buffers(plan)) {
      const auto look_up = [this](std::string_view id) { return registry_.lookup_backend(id); };
      auto memory = host::find_device_memory(buffer.device, host::find_backend_ids(plan), look_up);
      if (!memory.ok()) return std::move(memory).status().with_context(buffer.text());
    }
    return ok();
  });
}

Status Session::read_options() {
  std::vector<std::string> ids;
  for (const auto& backend : backends_) ids.emplace_back(backend->id());
  for (const std::string& text : arguments_.options) {
    TENON_TRY(OptionArgument option, split_option(text, ids));
    const auto backend = std::ranges::find(ids, option.backend) - ids.begin();
    const auto declared = backends_[static_cast<std::size_t>(backend)]->options();
    TENON_TRY(OptionValue value, option_value(option, declared));
    options_.push_back({std::move(option.backend), std::move(option.key), std::move(value)});
  }
  return ok();
}

Status Session::load_method() {
  host::MethodOptions options;
  options.registry = &registry_;
  options.layers.add(host::DataFiles(data_files_));
  options.backend_options = options_;
  options.layers.add(arguments_.embedded_code);
  options.limits = arguments_.limits.of_host;
  options.layers.add(host::Budget(arguments_.budget));
  if (options.limits.run_milliseconds != host::HostLimits::none) {
    options.layers.add(host::Cancellation());
  }
  options.layers.add(host::SchedulingHints(arguments_.scheduling));
  if (arguments_.threads != 0) {
    TENON_TRY(pool_, host::WorkerPool::create(arguments_.threads));
    options.layers.add(*pool_);
  }
  if (arguments_.prepared) {
    TENON_TRY(const auto directory, host::default_prepared_directory());
    TENON_TRY(prepared_, host::PreparedCache::open(directory));
    options.layers.add(*prepared_);
  }
  TENON_RETURN_IF_ERROR(host::add_prove_of_environment(options.layers));
  if (!arguments_.trace.empty()) options.layers.add(trace_);
  // By the name of its plan, which for the default variant is the method's, to be chosen again.
  if (plan_ == report_.method) {
    TENON_TRY(const host::Variants variants, host::Variants::of(*program_));
    const host::ProgramVariant* const variant = variants.find(plan_);
    if (variant && variant->is_default) {
      options.layers.add(host::Variant(std::string(variant->name)));
    }
  }
  const host::LoadProgress progress;
  options.layers.add(progress);
  Status loaded = timed("load", report_.timings.load_ns, [&]() -> Status {
    TENON_TRY(method_, host::Method::load(program_, plan_, options));
    return ok();
  });
  if (method_) report_.variant = method_->variant();
  if (!arguments_.trace.empty()) report_.timings.init_ns = trace_.total_ns("init");
  if (loaded.ok()) return ok();
  // A device that computes a golden case wrongly is no backend for the program.
  const bool is_of_backend =
      progress.failed_delegate() || loaded.error() == Error::DelegateInvalidCompatibility;
  return fail(is_of_backend ? ExitCode::no_backend : ExitCode::invalid_file, std::move(loaded));
}

Status Session::record() {
  if (recorded_ == nullptr) return ok();
  TENON_TRY(recorded_->known, method_->intermediates());
  std::vector<std::size_t> all(recorded_->known.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return method_->record_intermediates(all);
}

Status Session::set_inputs() {
  for (const Input& input : inputs_) {
    TENON_RETURN_IF_ERROR(method_->set_input(
        input.index, host::InputTensor{input.type, input.shape, input.data.span()}));
  }
  for (std::size_t i = 0; i < method_->num_inputs(); ++i) {
    const tenon_value& value = method_->input(i);
    if (value.kind == TENON_VALUE_TENSOR || value.kind == TENON_VALUE_NONE) continue;
    TENON_RETURN_IF_ERROR(method_->set_input(i, host::exported_value(value)));
  }
  return ok();
}

Status Session::set_outputs() {
  return host::set_outputs(*method_, arguments_.limits.output_bytes, [this](std::size_t nbytes) {
    return output_memory_.emplace_back(nbytes).data();
  });
}

Status Session::execute() {
  report_.timings.execute_ns.reserve(arguments_.repeat);
  for (std::uint32_t i = 0; i < arguments_.repeat; ++i) {
    // The run before may have written over inputs that were copied into the program's memory.
    if (i != 0) TENON_RETURN_IF_ERROR(set_inputs());
    const std::uint64_t start = trace_.now_ns();
    TENON_RETURN_IF_ERROR(method_->execute());
    report_.timings.execute_ns.push_back(trace_.now_ns() - start);
  }
  if (arguments_.memory) {
    TENON_TRY(report_.memory, method_->memory_info());
  }
  if (recorded_ != nullptr) {
    const auto tensors = method_->recorded_intermediates();
    recorded_->tensors.assign(tensors.begin(), tensors.end());
  }
  return ok();
}

Status Session::read_outputs() {
  for (std::size_t i = 0; i < method_->num_outputs(); ++i) {
    outputs_.push_back(&method_->output(i));
    const bool on_device =
        outputs_[i]->kind == TENON_VALUE_TENSOR && !host::is_cpu(outputs_[i]->as.tensor->dl.device);
    if (!on_device) continue;
    HostCopy& copy = host_copies_.emplace_back();
    copy.tensor = *outputs_[i]->as.tensor;
    copy.bytes = host::ArrayBytes::uninitialized(static_cast<std::size_t>(copy.tensor.nbytes));
    TENON_RETURN_IF_ERROR(method_->read_output(i, {copy.bytes.data(), copy.bytes.size()}));
    copy.tensor.dl.data = copy.bytes.data();
    copy.tensor.dl.device = {TENON_DL_CPU, 0};
    copy.value = *outputs_[i];
    copy.value.as.tensor = &copy.tensor;
    outputs_[i] = &copy.value;
  }
  return recorded_ == nullptr ? ok() : record_outputs();
}

Status Session::record_outputs() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i]->kind != TENON_VALUE_TENSOR) continue;
    TENON_TRY(const host::ValueArray array, whole_output(i));
    recorded_->outputs.push_back(
        {i, array.type, array.shape, {array.data.begin(), array.data.end()}});
  }
  return ok();
}

Result<host::ValueArray> Session::whole_output(std::size_t index) {
  auto array = host::to_array(*outputs_[index]);
  if (array.ok()) return array;
  return fail(ExitCode::execute_failed,
              std::move(array).status().with_context(concat("output ", index)));
}

Status Session::report_outputs() {
  std::uint64_t left = arguments_.limits.printed_values;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const tenon_value& value = *outputs_[i];
    OutputReport output;
    output.kind = value_kind_name(value.kind);
    output.type = type_text(value);
    if (host::is_array_kind(value.kind)) {
      // The whole output is read only by what asks for it: its size is the program's choice.
      auto first = host::first_elements(value, 0);
      if (!first.ok()) return std::move(first).status().with_context(concat("output ", i));
      output.dtype = first->type;
      output.shape = first->shape;
      if (arguments_.top != 0) {
        TENON_TRY(const host::ValueArray array, whole_output(i));
        output.top = top_classes(array.view(), arguments_.top, labels_);
      }
    }
    output.text = value_text(value, left);
    report_.outputs.push_back(std::move(output));
  }
  return ok();
}

Status Session::write_outputs() {
  if (arguments_.output.empty()) return ok();
  std::error_code failed;
  std::filesystem::create_directories(host::path_of(arguments_.output), failed);
  if (failed) {
    return error(Error::AccessFailed, arguments_.output,
                 ": the directory cannot be made: ", failed.message());
  }
  for (std::size_t i = 0; i < report_.outputs.size(); ++i) {
    if (!report_.outputs[i].dtype) continue;
    const std::string path =
        host::path_text(host::path_of(arguments_.output) / concat("output", i, ".npy"));
    TENON_TRY(const host::ValueArray array, whole_output(i));
    TENON_RETURN_IF_ERROR(host::write_npy(path, array.type, array.shape, array.data));
    report_.outputs[i].file = path;
  }
  return ok();
}

Status Session::compare_outputs() {
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    TENON_TRY(const host::ValueArray array, whole_output(i));  // read_expected takes no other kind.
    const host::Array& expected = expected_[i];
    host::Tolerance tolerance = host::default_tolerance(expected.type);
    if (arguments_.rtol) tolerance.rtol = *arguments_.rtol;
    if (arguments_.atol) tolerance.atol = *arguments_.atol;
    OutputReport& output = report_.outputs[i];
    output.expected_file = arguments_.expected[i];
    output.comparison = host::compare_arrays(
        array.view(), {expected.type, expected.shape, expected.data.span()}, tolerance);
  }
  return ok();
}

Status Session::write_trace() {
  if (arguments_.trace.empty()) return ok();
  return trace_.write(arguments_.trace);
}

}  // namespace tenon::run
