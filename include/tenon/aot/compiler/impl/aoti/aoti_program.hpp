// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/aoti/aoti_program.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "tenon/aot/compiler/impl/emit/tensor_value.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/core/aoti_names.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/sha256.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Describes one method and adds its data.
class AotiEmitter {
 public:
  AotiEmitter(const AotiMethod& method, const AotiOptions& options, NamedDataStore& named_data)
      : graph_(method.program), model_(*method.model), options_(options), named_data_(named_data) {}

  [[nodiscard]] Result<MethodData> emit() && {
    method_.name = graph_.method_name();
    TENON_RETURN_IF_ERROR(find_device());
    DelegateCall call;
    TENON_TRY(DelegateData delegate, make_delegate());
    call.delegate_index = method_.add_delegate(std::move(delegate));
    for (const ValueId id : graph_.inputs()) {
      TENON_TRY(const ValueIndex index, tensor(id, "input"));
      method_.inputs.push_back(index);
      call.args.push_back(on_device_ ? copied_to_device(index) : index);
    }
    std::vector<KernelCall> copies;
    for (std::size_t i = 0; i < graph_.num_outputs(); ++i) {
      const EdgeOutput output = graph_.output(i);
      if (output.kind == EdgeOutputKind::BufferMutation) continue;  // The model keeps its buffers.
      if (output.kind == EdgeOutputKind::UserInputMutation) {
        return error(Error::NotSupported, "input '", graph_.value(output.target).name(),
                     "' is changed by the model; return the new content instead");
      }
      // Each output has a tensor of its own, also an input, a constant, or one value twice: the
      // model writes each.
      TENON_TRY(const ValueIndex index, tensor(output.value, "output"));
      method_.outputs.push_back(index);
      if (on_device_) {
        const ValueIndex there = twin(index);
        call.args.push_back(there);
        copies.push_back({method_.op("et_copy::_d2h_copy", "out"), {there, index, index}});
      } else {
        call.args.push_back(index);
      }
    }
    method_.instructions.push_back(std::move(call));
    for (KernelCall& copy : copies) method_.instructions.push_back(std::move(copy));
    TENON_RETURN_IF_ERROR(plan_method_memory(method_, options_.memory));
    return std::move(method_);
  }

 private:
  Status find_device() {
    known_ = aoti::find_torch_device(model_.torch_device);
    on_device_ = known_ != nullptr && known_->name == "cuda";
    if (known_ != nullptr || options_.backend_id) return ok();
    return error(Error::InvalidArgument,
                 model_.torch_device.empty()
                     ? concat("the device of the model is not known")
                     : concat("no backend is known for device '", model_.torch_device, "'"),
                 "; name the backend");
  }

  Result<DelegateData> make_delegate() {
    const std::string_view method = graph_.method_name();
    const bool by_content = options_.keys == AotiKeys::Content;
    const SharedBytes weights = model_.weights.value_or(SharedBytes());
    const auto prefix = [&](const SharedBytes& bytes) {
      return by_content ? sha256_hex(bytes.bytes()) : std::string(method);
    };
    const std::string library_key = aoti::library_key(prefix(model_.library));
    const std::string weights_key = aoti::weights_key(prefix(weights));
    TENON_RETURN_IF_ERROR(named_data_.add_named_data(library_key, model_.library));
    // A model without weights has its key all the same, for runtimes that look for it.
    NamedDataOptions where{.alignment = 64};
    if (!weights.empty() &&
        options_.external_weights.value_or(known_ != nullptr && known_->weights_in_own_file)) {
      where.external_tag = aoti::external_tag(known_ ? known_->name : model_.torch_device);
    }
    TENON_RETURN_IF_ERROR(named_data_.add_named_data(weights_key, weights, where));
    if (model_.operator_calls) {
      TENON_RETURN_IF_ERROR(named_data_.add_named_data(aoti::operator_calls_key(library_key),
                                                       *model_.operator_calls));
    }
    if (model_.cpu_features) {
      TENON_RETURN_IF_ERROR(named_data_.add_named_data(aoti::cpu_features_key(library_key),
                                                       SharedBytes::copy_of(*model_.cpu_features)));
    }

    DelegateData out;
    out.id = options_.backend_id.value_or(std::string(known_ ? known_->backend_id : ""));
    if (by_content) out.processed = SharedBytes::copy_of(concat(library_key, "\n", weights_key));
    out.compile_specs = options_.compile_specs;
    add_spec(out, "method_name", method);
    if (on_device_) {
      add_spec(out, "target_device", "cuda:0");
      TENON_RETURN_IF_ERROR(read_device_index(out.compile_specs));
    }
    return out;
  }

  /// From "cuda" or "cuda:1".
  Status read_device_index(const std::vector<CompileSpecData>& specs) {
    const auto spec = std::ranges::find(specs, "target_device", &CompileSpecData::key);
    const std::string_view text = as_text(spec->value.bytes());
    if (text == "cuda") return ok();
    std::int8_t index = -1;
    constexpr std::string_view prefix = "cuda:";
    const char* const end = text.data() + text.size();
    if (text.starts_with(prefix)) {
      const auto [stop, failed] = std::from_chars(text.data() + prefix.size(), end, index);
      if (failed != std::errc{} || stop != end) index = -1;
    }
    if (index < 0) {
      return error(Error::InvalidArgument,
                   "compile spec target_device: expected 'cuda' or 'cuda:N', found '", text, "'");
    }
    device_index_ = index;
    return ok();
  }

  static void add_spec(DelegateData& delegate, std::string_view key, std::string_view value) {
    if (std::ranges::find(delegate.compile_specs, key, &CompileSpecData::key) !=
        delegate.compile_specs.end()) {
      return;
    }
    delegate.compile_specs.push_back({std::string(key), SharedBytes::copy_of(value)});
  }

  Result<ValueIndex> tensor(ValueId id, std::string_view what) {
    const EdgeValue value = graph_.value(id);
    if (!value.is_tensor()) {
      return error(Error::NotSupported, what, " '", value.name(),
                   "' is a number; models of AOTInductor take and give tensors here");
    }
    TENON_TRY(TensorValue made, make_tensor_value(value));
    made.data = storage::Planned();
    return method_.add(std::move(made));
  }

  /// A tensor like it on the device.
  ValueIndex twin(ValueIndex index) {
    auto copy = std::get<TensorValue>(method_.values[static_cast<std::size_t>(index)]);
    copy.device = {ProgramDeviceType::CUDA, device_index_};
    return method_.add(std::move(copy));
  }
  ValueIndex copied_to_device(ValueIndex index) {
    const ValueIndex there = twin(index);
    method_.instructions.push_back(
        KernelCall{method_.op("et_copy::_h2d_copy", "out"), {index, there, there}});
    return there;
  }

  const EdgeProgram& graph_;
  const AotiModel& model_;
  const AotiOptions& options_;
  NamedDataStore& named_data_;
  const aoti::ModelDevice* known_ = nullptr;
  bool on_device_ = false;  ///< Its arguments are in memory of the device.
  std::int8_t device_index_ = 0;
  MethodData method_;
};

}  // namespace detail

Result<ProgramData> make_aoti_program(std::span<const AotiMethod> methods,
                                      const AotiOptions& options) {
  if (methods.empty())
    return error(Error::InvalidArgument, "a program: expected at least one method, found none");
  std::vector<const AotiMethod*> order;
  for (const AotiMethod& method : methods) order.push_back(&method);
  const auto name_of = [](const AotiMethod* method) { return method->program.method_name(); };
  std::ranges::stable_sort(order, {}, name_of);

  ProgramData program;
  NamedDataStore named_data;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string_view name = name_of(order[i]);
    if (i > 0 && name_of(order[i - 1]) == name) {
      return error(Error::InvalidArgument, "two methods have the name '", name, "'");
    }
    auto emitted = detail::AotiEmitter(*order[i], options, named_data).emit();
    if (!emitted.ok()) {
      return std::move(emitted).status().with_context(concat("method '", name, "'"));
    }
    program.methods.push_back(*std::move(emitted));
  }
  program.named_data = named_data.get_named_data_store_output();
  return program;
}

}}}  // namespace tenon::TENON_RELEASE::aot
