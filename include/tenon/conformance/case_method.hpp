// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/conformance/case.hpp"
#include "tenon/conformance/compare.hpp"
#include "tenon/conformance/context.hpp"
#include "tenon/conformance/loaded_plugin.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/data_file.hpp"
#include "tenon/host/method.hpp"
#include "tenon/host/program.hpp"
#include "tenon/host/tensor_storage.hpp"
#include "tenon/host/value_array.hpp"

namespace tenon::conformance {

/// The files of a case, open. Shared by all methods that are loaded from it. Any thread.
class CaseProgram {
 public:
  [[nodiscard]] static Result<CaseProgram> open(const Case& of_case) {
    CaseProgram out(of_case);
    TENON_TRY(out.program_, host::Program::open(of_case.program));
    for (const auto& path : of_case.data_files) {
      TENON_TRY(auto file, host::DataFile::open(path));
      out.data_files_.push_back(std::move(file));
    }
    return out;
  }

  [[nodiscard]] const Case& of_case() const noexcept { return *case_; }
  [[nodiscard]] const std::shared_ptr<const host::Program>& program() const noexcept {
    return program_;
  }
  [[nodiscard]] const std::vector<std::shared_ptr<const host::DataFile>>& data_files()
      const noexcept {
    return data_files_;
  }

 private:
  explicit CaseProgram(const Case& of_case) noexcept : case_(&of_case) {}

  const Case* case_;
  std::shared_ptr<const host::Program> program_;
  std::vector<std::shared_ptr<const host::DataFile>> data_files_;
};

/// The method of a case, loaded with the subject's backend, and the bytes of its inputs and
/// outputs. One thread at a time.
class CaseMethod {
 public:
  /// Loads the method with `options`, to which the case's data files are added.
  /// Fails as the method's load does. `program`, and what the options refer to, must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<CaseMethod>> load(const CaseProgram& program,
                                                                host::MethodOptions options) {
    const auto& files = program.data_files();
    options.data_files.insert(options.data_files.end(), files.begin(), files.end());
    TENON_TRY(auto method,
              host::Method::load(program.program(), program.of_case().method, std::move(options)));
    std::unique_ptr<CaseMethod> out(new CaseMethod(program, std::move(method)));
    TENON_CHECK(out->lend_outputs());
    return out;
  }

  /// The same with the subject's backend and the runtime specs of the case, then those of its
  /// author.
  [[nodiscard]] static Result<std::unique_ptr<CaseMethod>> load(const CaseProgram& program,
                                                                const OpenedBackend& backend,
                                                                const SubjectBackend& declared) {
    host::MethodOptions options;
    options.backends = {backend.ref()};
    options.backend_options = program.of_case().runtime_specs;
    for (const auto& [key, value] : declared.runtime_specs) {
      options.backend_options.push_back({declared.id, key, value});
    }
    return load(program, std::move(options));
  }

  [[nodiscard]] host::Method& method() noexcept { return *method_; }
  [[nodiscard]] const std::vector<CaseRun>& runs() const noexcept {
    return program_->of_case().runs;
  }

  /// Gives the method the inputs of `run`.
  Status set_inputs(const CaseRun& run) {
    inputs_.clear();
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      TENON_CHECK(set_input(i, run.inputs[i]).with_context(concat("input ", i)));
    }
    return ok();
  }

  [[nodiscard]] Status execute() { return method_->execute(); }

  /// Sets the inputs of `run` and executes.
  Status execute(const CaseRun& run) {
    TENON_CHECK(set_inputs(run));
    return method_->execute();
  }

  /// An output in this machine's memory, valid until the next one is asked for.
  [[nodiscard]] Result<const tenon_value*> output(std::size_t index) {
    const tenon_value& value = method_->output(index);
    if (value.kind != TENON_VALUE_TENSOR || host::is_cpu(value.as.tensor->dl.device)) return &value;
    copy_tensor_ = *value.as.tensor;
    copy_bytes_ = host::ArrayBytes(static_cast<std::size_t>(copy_tensor_.nbytes));
    TENON_CHECK(method_->read_output(index, {copy_bytes_.data(), copy_bytes_.size()}));
    copy_tensor_.dl.data = copy_bytes_.data();
    copy_tensor_.dl.device = {TENON_DL_CPU, 0};
    copy_value_ = value;
    copy_value_.as.tensor = &copy_tensor_;
    return &copy_value_;
  }

  /// Where outputs are not what `run` expects, a sentence for each.
  [[nodiscard]] Result<std::vector<std::string>> differences(const CaseRun& run,
                                                             const Tolerances& tolerances) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < run.expected.size(); ++i) {
      TENON_TRY(const tenon_value* found, output(i));
      TENON_TRY(const Comparison comparison,
                compare_output(i, *found, run.expected[i], tolerances));
      if (!comparison.equal) out.push_back(comparison.text);
    }
    return out;
  }

  /// Fills the memory of all outputs on the CPU with `byte`. Before the inputs are set: a program
  /// may plan both in one place.
  void fill_outputs(std::byte byte) {
    for (std::size_t i = 0; i < method_->num_outputs(); ++i) {
      const tenon_value& value = method_->output(i);
      if (value.kind != TENON_VALUE_TENSOR || !host::is_cpu(value.as.tensor->dl.device)) continue;
      const tenon_tensor& tensor = *value.as.tensor;
      const bool is_input = is_data_of_input(tensor.dl.data);
      if (!tensor.dl.data || is_input || (tensor.flags & TENON_TENSOR_CONSTANT) != 0) continue;
      std::memset(tensor.dl.data, static_cast<int>(byte), static_cast<std::size_t>(tensor.nbytes));
    }
  }

  /// Whether the inputs that are set have other sizes than the largest ones that the program
  /// allows.
  [[nodiscard]] bool has_smaller_inputs() const {
    for (std::size_t i = 0; i < method_->num_inputs(); ++i) {
      const tenon_value& value = method_->input(i);
      if (value.kind != TENON_VALUE_TENSOR) continue;
      const tenon_tensor& tensor = *value.as.tensor;
      const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
      if (tensor.nbytes == 0) return true;
      if (!std::equal(tensor.bounds, tensor.bounds + rank, tensor.dl.shape)) return true;
    }
    return false;
  }

  /// The bytes of all outputs that are arrays, one after the other: to be compared bit for bit.
  [[nodiscard]] Result<std::vector<std::byte>> output_bytes() {
    std::vector<std::byte> out;
    for (std::size_t i = 0; i < method_->num_outputs(); ++i) {
      TENON_TRY(const tenon_value* value, output(i));
      if (!host::is_array_kind(value->kind)) continue;
      TENON_TRY(const auto array, host::to_array(*value));
      const auto bytes = array.view().data;
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
    return out;
  }

 private:
  CaseMethod(const CaseProgram& program, std::unique_ptr<host::Method> method) noexcept
      : program_(&program), method_(std::move(method)) {}

  Status set_input(std::size_t index, const CaseValue& value) {
    if (std::holds_alternative<std::monostate>(value)) return ok();
    if (index >= method_->num_inputs()) {
      return error(Error::InvalidArgument, "the method has ", method_->num_inputs(), " inputs");
    }
    const tenon_value& target = method_->input(index);
    if (target.kind == TENON_VALUE_TENSOR) {
      const tenon_tensor& tensor = *target.as.tensor;
      TENON_TRY(auto array, read_array(value, static_cast<ScalarType>(tensor.scalar_type)));
      const ScalarType type = array.type;
      const std::vector<std::int64_t> shape = array.shape;
      host::ArrayBytes& bytes = inputs_.emplace_back(host::to_layout(
          std::move(array), {tensor.dim_order, static_cast<std::size_t>(tensor.dl.ndim)}));
      return method_->set_input(index,
                                host::InputTensor{type, shape, {bytes.data(), bytes.size()}});
    }
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
    return error(Error::InvalidType, "the method takes a value of kind ",
                 value_kind_name(target.kind), ", the case has a file");
  }

  [[nodiscard]] bool is_data_of_input(const void* data) const {
    for (std::size_t i = 0; i < method_->num_inputs(); ++i) {
      const tenon_value& value = method_->input(i);
      if (value.kind == TENON_VALUE_TENSOR && value.as.tensor->dl.data == data) return true;
    }
    return false;
  }

  /// Memory for outputs that the program does not plan.
  Status lend_outputs() {
    for (std::size_t i = 0; i < method_->num_outputs(); ++i) {
      const tenon_value& value = method_->output(i);
      if (value.kind != TENON_VALUE_TENSOR || value.as.tensor->dl.data) continue;
      const tenon_tensor& tensor = *value.as.tensor;
      if ((tensor.flags & TENON_TENSOR_MEMORY_PLANNED) != 0 || tensor.nbytes == 0) continue;
      const std::int64_t count =
          host::count_elements({tensor.bounds, static_cast<std::size_t>(tensor.dl.ndim)});
      host::ArrayBytes& bytes = outputs_.emplace_back(
          static_cast<std::size_t>(count) * size_of(static_cast<ScalarType>(tensor.scalar_type)));
      TENON_CHECK(method_->set_output(i, {bytes.data(), bytes.size()}));
    }
    return ok();
  }

  const CaseProgram* program_;
  std::list<host::ArrayBytes> inputs_, outputs_;  // Addresses stay.
  tenon_tensor copy_tensor_{};
  tenon_value copy_value_{};
  host::ArrayBytes copy_bytes_;
  std::unique_ptr<host::Method> method_;  // Goes first: its delegates may use the rest.
};

}  // namespace tenon::conformance
