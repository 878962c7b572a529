// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aoti/container_api.hpp"
#include "tenon/aoti/input_signature.hpp"
#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/shims/proxy_shims.hpp"
#include "tenon/aoti/tensors/constant_adoption.hpp"
#include "tenon/aoti/tensors/size_mask.hpp"
#include "tenon/aoti/tensors/tensor_pool.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// One model container of a compiled library, with one model in it. All its tensors come from
/// `pool`, which must outlive it.
///
/// A failure carries the model's own message where its PyTorch is new enough to keep one, and the
/// message of the shim that failed below it.
///
/// Threads: one at a time.
class Container {
 public:
  /// `device` is "cpu", "cuda:0", "mps".
  [[nodiscard]] static Result<Container> create(const ContainerApi& api, TensorPool& pool,
                                                const char* device) {
    Container out(api, pool);
    TENON_RETURN_IF_ERROR(out.call("AOTInductorModelContainerCreateWithDevice",
                                   [&] { return api.create(&out.object_, 1, device, nullptr); }));
    TENON_RETURN_IF_ERROR(out.read("number of inputs", api.get_num_inputs, out.num_inputs_));
    TENON_RETURN_IF_ERROR(out.read("number of outputs", api.get_num_outputs, out.num_outputs_));
    out.signature_ = InputSignature(out.num_inputs_);
    return out;
  }

  Container(Container&& other) noexcept
      : api_(other.api_),
        pool_(other.pool_),
        object_(std::exchange(other.object_, nullptr)),
        num_inputs_(other.num_inputs_),
        num_outputs_(other.num_outputs_),
        proxy_(other.proxy_),
        signature_(std::move(other.signature_)) {}
  Container& operator=(Container&&) = delete;
  ~Container() {
    if (!object_) return;
    const DeviceScope scope(pool_->memory());
    const CurrentPool current(*pool_);
    // Nothing can be done about a failure: the library is unloaded next.
    static_cast<void>(api_.destroy(object_));
  }

  [[nodiscard]] std::size_t num_inputs() const noexcept { return num_inputs_; }
  [[nodiscard]] std::size_t num_outputs() const noexcept { return num_outputs_; }

  /// From now on runs of the model call operators through `proxy`, which must outlive this object.
  void use_proxy(const ProxyExecutor* proxy) noexcept { proxy_ = proxy; }

  /// The constants of a blob, in its order, and which of them the model may use in place: with
  /// `in_place` all that it does not write to. A library that does not report the kinds of its
  /// constants gets copies. Empty when the library does not report their sizes.
  [[nodiscard]] Result<std::vector<ModelConstant>> constants(bool in_place) {
    std::vector<ModelConstant> out;
    if (!api_.get_num_constants || !api_.get_constant_data_size) return out;
    std::size_t count = 0;
    TENON_RETURN_IF_ERROR(read("number of constants", api_.get_num_constants, count));
    std::size_t offset = 0;
    for (std::size_t i = 0; i < count; ++i) {
      bool folded = false;
      std::int32_t type = 0;
      std::size_t nbytes = 0;
      if (api_.get_constant_from_folded) {
        TENON_RETURN_IF_ERROR(read("constant", api_.get_constant_from_folded, folded, i));
      }
      if (folded) continue;
      TENON_RETURN_IF_ERROR(read("size of a constant", api_.get_constant_data_size, nbytes, i));
      if (api_.get_constant_type) {
        TENON_RETURN_IF_ERROR(read("type of a constant", api_.get_constant_type, type, i));
      }
      TENON_TRY(const bool is_fixed, is_fixed_constant(static_cast<ConstantType>(type), i));
      out.push_back({offset, nbytes, in_place && is_fixed, !is_fixed});
      if (__builtin_add_overflow(offset, nbytes, &offset)) {
        return error(Error::InvalidProgram, "the sizes of its ", count, " constants overflow");
      }
    }
    return out;
  }

  /// Size in bytes that the blob of constants must have; 0 when the library does not report it.
  [[nodiscard]] Result<std::uint64_t> constants_blob_size(
      std::span<const ModelConstant> constants) {
    std::uint64_t reported = 0;
    if (api_.get_constants_blob_size && !constants.empty()) {
      TENON_RETURN_IF_ERROR(read("size of the constants", api_.get_constants_blob_size, reported));
    }
    std::uint64_t sum = 0;
    for (const ModelConstant& constant : constants) sum += constant.nbytes;
    return reported > sum ? reported : sum;
  }

  /// Loads the model's constants. `blob` has at least `constants_blob_size` bytes and must outlive
  /// this object.
  [[nodiscard]] Result<std::vector<ConstantAdoption::State>> load_constants(
      Bytes blob, std::vector<ModelConstant> constants, PlaceConstant place = {}) {
    if (!api_.update_constants_from_blob) {
      return error(Error::DelegateInvalidCompatibility,
                   "the library has no AOTInductorModelUpdateConstantsFromBlob: it was compiled by "
                   "PyTorch before 2.9, compile it again");
    }
    ConstantAdoption adoption(blob, std::move(constants), place);
    pool_->set_adoption(&adoption);
    const Status status = call("AOTInductorModelUpdateConstantsFromBlob", [&] {
      return api_.update_constants_from_blob(object_,
                                             reinterpret_cast<const std::uint8_t*>(blob.data()));
    });
    pool_->set_adoption(nullptr);
    if (!status.ok()) return error(status.error(), status.text());
    if (adoption.num_left() == 0) return adoption.take_states();
    return error(Error::InvalidProgram, "the model left ", adoption.num_left(),
                 " constants of its blob unread; it was compiled with its weights inside");
  }

  /// Names of one constant of the model, and how the model uses it.
  struct ConstantName {
    const char* name;      ///< In the compiled code.
    const char* original;  ///< In the program that was exported (FQN).
    bool is_fixed;         ///< The model never writes to it.
    std::int32_t dtype;
    std::size_t nbytes;
  };

  /// All constants that come from outside the library. Strings live as long as the model.
  /// errors: DelegateInvalidCompatibility when the library does not report them.
  [[nodiscard]] Result<std::vector<ConstantName>> constant_names() {
    if (!api_.get_num_constants || !api_.get_constant_name || !api_.get_constant_original_fqn ||
        !api_.get_constant_dtype || !api_.get_constant_data_size ||
        !api_.update_user_managed_constants) {
      return error(Error::DelegateInvalidCompatibility,
                   "the library takes no weights by name: it was compiled by a PyTorch that is too "
                   "old");
    }
    std::size_t count = 0;
    TENON_RETURN_IF_ERROR(read("number of constants", api_.get_num_constants, count));
    std::vector<ConstantName> out;
    for (std::size_t i = 0; i < count; ++i) {
      bool folded = false;
      if (api_.get_constant_from_folded) {
        TENON_RETURN_IF_ERROR(read("constant", api_.get_constant_from_folded, folded, i));
      }
      if (folded) continue;
      ConstantName& constant = out.emplace_back();
      std::int32_t type = 0;
      TENON_RETURN_IF_ERROR(read("name of a constant", api_.get_constant_name, constant.name, i));
      TENON_RETURN_IF_ERROR(
          read("name of a constant", api_.get_constant_original_fqn, constant.original, i));
      TENON_RETURN_IF_ERROR(
          read("dtype of a constant", api_.get_constant_dtype, constant.dtype, i));
      TENON_RETURN_IF_ERROR(
          read("size of a constant", api_.get_constant_data_size, constant.nbytes, i));
      if (api_.get_constant_type) {
        TENON_RETURN_IF_ERROR(read("type of a constant", api_.get_constant_type, type, i));
      }
      constant.is_fixed =
          is_fixed(static_cast<ConstantType>(type), constant.name, constant.original);
    }
    return out;
  }

  /// Has the model use these tensors as its constants, in place. The handles remain the caller's;
  /// their memory must outlive this object.
  [[nodiscard]] Status use_constants(std::span<const ConstantEntry> entries) {
    return call("AOTInductorModelContainerUpdateUserManagedConstantBufferPairs", [&] {
      return api_.update_user_managed_constants(object_, entries.data(), entries.size(), false,
                                                true);
    });
  }

  /// Runs the model. It takes ownership of `inputs`; the caller releases `outputs`, also those that
  /// are not null after a failure. `stream` is the device's queue for the model's work.
  ///
  /// Inputs that differ from the inputs of the last run are checked, by the model itself where
  /// possible (model_checks.hpp). errors: InvalidArgument when they are not those the model was
  /// compiled for; Internal with the model's own message.
  [[nodiscard]] Status run(std::span<ModelTensor*> inputs, std::span<ModelTensor*> outputs,
                           void* stream = nullptr) {
    if (signature_.is_of(inputs)) [[likely]] {
      return call(run_call, [&] { return run_plain(inputs, outputs, stream); });
    }
    TENON_RETURN_IF_ERROR(signature_.check(inputs));
    signature_.note(inputs);
    Status status = api_.run_with_checks
                        ? run_with_checks(inputs, outputs, stream)
                        : call(run_call, [&] { return run_plain(inputs, outputs, stream); });
    if (status.ok()) signature_.accept();
    return status;
  }

 private:
  Container(const ContainerApi& api, TensorPool& pool) noexcept : api_(api), pool_(&pool) {}

  static constexpr std::string_view run_call = "AOTInductorModelContainerRun";

  /// As the interface has it: without const.
  [[nodiscard]] void* proxy() const noexcept { return const_cast<ProxyExecutor*>(proxy_); }

  RuntimeError run_plain(std::span<ModelTensor*> inputs, std::span<ModelTensor*> outputs,
                         void* stream) {
    // One model and one thread at a time: the locks of `run` would guard nothing.
    const auto function = api_.run_single_threaded ? api_.run_single_threaded : api_.run;
    return function(object_, inputs.data(), inputs.size(), outputs.data(), outputs.size(), stream,
                    proxy());
  }

  [[nodiscard]] Status run_with_checks(std::span<ModelTensor*> inputs,
                                       std::span<ModelTensor*> outputs, void* stream) {
    for (ModelTensor* tensor : inputs) {
      // A model does not check the rank before it reads sizes. No size is negative, so -1 fails its
      // check of a dimension that the tensor lacks.
      for (std::size_t d = tensor->shape().size(); d < max_rank; ++d) {
        tensor->sizes[d] = tensor->strides[d] = -1;
      }
    }
    const auto run = [&] {
      return call(
          run_call,
          [&] {
            return api_.run_with_checks(object_, inputs.data(), inputs.size(), outputs.data(),
                                        outputs.size(), stream, proxy());
          },
          api_.get_last_error_of_checks);
    };
    Status status = run();
    if (!status.ok() && api_.num_device_checks == inputs.size()) {
      SizeMask mask(*pool_, inputs);
      // The checks name one dimension at a time.
      for (auto small = find_small_dimension(status.text()); small && mask.add(*small);
           small = find_small_dimension(status.text())) {
        status = mask.during(run);
        if (status.ok()) return status;
      }
    }
    if (status.ok()) return status;
    return is_about_inputs(status.text()) ? error(Error::InvalidArgument, status.text())
                                          : std::move(status);
  }

  /// True for a message of the checks of generated code about an input, or of `assert_size_stride`
  /// (PyTorch: torch/csrc/inductor/aoti_runtime/utils.h) about one.
  static bool is_about_inputs(std::string_view text) noexcept {
    const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
    return has("input_handles[") || has("Error in op: input");
  }

  /// Whether the model never writes to constant `index` of type `type`.
  Result<bool> is_fixed_constant(ConstantType type, std::size_t index) {
    const char* name = nullptr;
    const char* original = nullptr;
    if (type == ConstantType::buffer && api_.get_constant_name && api_.get_constant_original_fqn) {
      TENON_RETURN_IF_ERROR(read("name of a constant", api_.get_constant_name, name, index));
      TENON_RETURN_IF_ERROR(
          read("name of a constant", api_.get_constant_original_fqn, original, index));
    }
    return is_fixed(type, name, original);
  }

  /// Whether a model never writes to a constant of this type and these names, which are null where
  /// they are not known. What Inductor folded when it froze a model (config.freezing) has type
  /// Buffer, a name `_frozen_paramN` that no attribute of the exported module has, and no other
  /// (PyTorch: torch/_inductor/constant_folding.py, replace_node_with_constant). Freezing leaves
  /// out what the model writes to (freezing.py, replace_params_with_constants).
  static bool is_fixed(ConstantType type, const char* name, const char* original) noexcept {
    if (type != ConstantType::buffer) {
      return type == ConstantType::parameter || type == ConstantType::tensor_constant;
    }
    return name && original && is_frozen(name) && std::string_view(name) == original;
  }

  static bool is_frozen(std::string_view name) noexcept {
    constexpr std::string_view prefix = "_frozen_param";
    if (!name.starts_with(prefix) || name.size() == prefix.size()) return false;
    name.remove_prefix(prefix.size());
    return name.find_first_not_of("0123456789") == name.npos;
  }

  /// The model's own message, without its advice for authors of operators.
  static std::string_view trimmed(std::string_view message) noexcept {
    message = message.substr(0, message.find("\nThis error most often"));
    while (message.ends_with('\n')) message.remove_suffix(1);
    return message.empty() ? "the model gives no reason" : message;
  }

  template <class Call>
  [[nodiscard]] Status call(std::string_view what, Call&& function) {
    return call(what, std::forward<Call>(function), api_.get_last_error);
  }

  template <class Call>
  [[nodiscard]] Status call(std::string_view what, Call&& function,
                            RuntimeError (*get_last_error)(const char**)) {
    const DeviceScope scope(pool_->memory());
    if (!scope.ok()) return error(scope.status().error(), scope.status().text());
    const CurrentPool current(*pool_);
    // An earlier failure without consequences is not the cause of one in this call.
    if (!pool_->failure().empty()) static_cast<void>(pool_->take_failure());
    const RuntimeError failed = function();
    if (failed == 0) [[likely]]
      return ok();
    const char* message = nullptr;
    if (get_last_error) static_cast<void>(get_last_error(&message));
    const std::string cause = pool_->take_failure();
    const Error code = cause.empty() ? Error::Internal : pool_->failure_code();
    return error(code, what, " failed: ", trimmed(message ? message : ""),
                 cause.empty() ? "" : "; cause: ", std::string_view(cause));
  }

  template <class Function, class Value, class... Index>
  [[nodiscard]] Status read(std::string_view what, Function function, Value& out, Index... index) {
    return call(what, [&] { return function(object_, index..., &out); });
  }

  ContainerApi api_;
  TensorPool* pool_;
  ContainerObject* object_ = nullptr;
  std::size_t num_inputs_ = 0;
  std::size_t num_outputs_ = 0;
  const ProxyExecutor* proxy_ = nullptr;
  InputSignature signature_{0};
};

}}}  // namespace tenon::TENON_RELEASE::aoti
