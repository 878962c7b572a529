// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/conformance/case.hpp"
#include "tenon/conformance/compare.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/data_file.hpp"
#include "tenon/host/device_memory.hpp"
#include "tenon/host/method.hpp"
#include "tenon/host/program.hpp"
#include "tenon/host/value_array.hpp"

namespace tenon::conformance {

/// The method of a case, loaded, with the memory of its inputs and outputs. Movable; refers to the
/// case, which must outlive it, and to what the options refer to. One thread at a time.
class CaseRunner {
 public:
  /// Opens the program and its data and loads the method, with the case's runtime specs after the
  /// options' own. errors: those of `host::Program::open`, `DataFile::open` and `Method::load`.
  [[nodiscard]] static Result<CaseRunner> load(const Case& of_case, host::MethodOptions options) {
    CaseRunner out(of_case, std::move(options));
    TENON_TRY(out.program_, host::Program::open(of_case.program));
    for (const std::filesystem::path& path : of_case.data_files) {
      TENON_TRY(out.options_.data_files.emplace_back(), host::DataFile::open(path));
    }
    for (const host::BackendOption& option : of_case.runtime_specs) {
      out.options_.backend_options.push_back(option);
    }
    TENON_CHECK(out.load_method());
    return out;
  }

  [[nodiscard]] host::Method& method() noexcept { return *method_; }

  /// Executes run `index` of the case, on a method that is loaded anew where the run says so, and
  /// compares each output of which something is expected.
  ///
  /// errors: those of setting inputs, of executing and of reading expected outputs;
  /// InvalidArgument when the case has another number of inputs or outputs than the method.
  [[nodiscard]] Result<std::vector<Comparison>> run(std::size_t index,
                                                    const Tolerances& tolerances) {
    const CaseRun& run = case_->runs.at(index);
    if (run.fresh) TENON_CHECK(load_method());
    TENON_CHECK(set_inputs(run));
    TENON_CHECK(method_->execute());
    return compare_outputs(run, tolerances);
  }

  /// Gives the method the inputs of a run.
  [[nodiscard]] Status set_inputs(const CaseRun& run) {
    TENON_CHECK(check_count("inputs", run.inputs.size(), method_->num_inputs()));
    inputs_.clear();
    inputs_.reserve(run.inputs.size());
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      Status set = set_input(i, run.inputs[i]);
      if (!set.ok()) return std::move(set).with_context(concat("input ", i));
    }
    return ok();
  }

  /// Compares what the method last gave with what a run expects.
  [[nodiscard]] Result<std::vector<Comparison>> compare_outputs(const CaseRun& run,
                                                                const Tolerances& tolerances) {
    std::vector<Comparison> out;
    if (run.expected.empty()) return out;
    TENON_CHECK(check_count("outputs", run.expected.size(), method_->num_outputs()));
    for (std::size_t i = 0; i < run.expected.size(); ++i) {
      const tenon_value& value = method_->output(i);
      const bool on_device =
          value.kind == TENON_VALUE_TENSOR && !host::is_cpu(value.as.tensor->dl.device);
      if (!on_device) {
        TENON_TRY(out.emplace_back(), compare_output(i, value, run.expected[i], tolerances));
        continue;
      }
      tenon_tensor copy = *value.as.tensor;
      host::ArrayBytes bytes(static_cast<std::size_t>(copy.nbytes));
      TENON_CHECK(method_->read_output(i, {bytes.data(), bytes.size()}));
      copy.dl.data = bytes.data();
      copy.dl.device = {TENON_DL_CPU, 0};
      tenon_value on_host = value;
      on_host.as.tensor = &copy;
      TENON_TRY(out.emplace_back(), compare_output(i, on_host, run.expected[i], tolerances));
    }
    return out;
  }

 private:
  CaseRunner(const Case& of_case, host::MethodOptions options)
      : case_(&of_case), options_(std::move(options)) {}

  Status check_count(std::string_view what, std::size_t found, std::size_t expected) const {
    if (found == expected) return ok();
    return error(Error::InvalidArgument, case_->folder.string(), ": the method ", case_->method,
                 " has ", expected, " ", what, ", the case ", found);
  }

  Status load_method() {
    method_.reset();
    outputs_.clear();
    TENON_TRY(method_, host::Method::load(program_, case_->method, options_));
    for (std::size_t i = 0; i < method_->num_outputs(); ++i) {
      const tenon_value& value = method_->output(i);
      if (value.kind != TENON_VALUE_TENSOR) continue;
      const tenon_tensor& tensor = *value.as.tensor;
      const bool has_place = tensor.dl.data != nullptr || tensor.capacity == 0 ||
                             (tensor.flags & TENON_TENSOR_MEMORY_PLANNED) != 0;
      if (has_place) continue;
      host::ArrayBytes& memory = outputs_.emplace_back(static_cast<std::size_t>(tensor.capacity));
      TENON_CHECK(method_->set_output(i, {memory.data(), memory.size()}));
    }
    return ok();
  }

  Status set_input(std::size_t index, const CaseValue& value) {
    if (std::holds_alternative<std::monostate>(value)) return ok();
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      return method_->set_input(index, host::InputScalar(*integer));
    }
    if (const auto* real = std::get_if<double>(&value)) {
      return method_->set_input(index, host::InputScalar(*real));
    }
    if (const auto* boolean = std::get_if<bool>(&value)) {
      return method_->set_input(index, host::InputScalar(*boolean));
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
      return method_->set_input(index, host::InputScalar(std::string_view(*text)));
    }
    const tenon_value& input = method_->input(index);
    if (input.kind != TENON_VALUE_TENSOR) {
      return error(Error::InvalidType, "the method takes a value of kind ",
                   value_kind_name(input.kind), ", the case has a file");
    }
    const tenon_tensor& tensor = *input.as.tensor;
    TENON_TRY(host::Array array, read_array(value, static_cast<ScalarType>(tensor.scalar_type)));
    host::Array& kept = inputs_.emplace_back(host::Array{array.type, array.shape, {}});
    kept.data = host::to_layout(std::move(array),
                                {tensor.dim_order, static_cast<std::size_t>(tensor.dl.ndim)});
    return method_->set_input(index, host::InputTensor{kept.type, kept.shape, kept.data.span()});
  }

  const Case* case_;
  host::MethodOptions options_;
  std::shared_ptr<const host::Program> program_;
  std::vector<host::Array> inputs_;
  std::vector<host::ArrayBytes> outputs_;
  std::unique_ptr<host::Method> method_;  // Last: it refers to what stands above.
};

}  // namespace tenon::conformance
