// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/trace/intermediates.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <new>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/draft/intermediates.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/layers/arrays/impl/strided.hpp"
#include "tenon/host/layers/trace/impl/method_debug_handles.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/impl/method/bind_inputs.hpp"
#include "tenon/host/loader/impl/method/device_space.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Why a plugin's `tensor` cannot be copied; ok when it can.
[[nodiscard]] inline Status check_intermediate(const tenon_tensor& tensor) {
  const auto wrong = [](auto&&... text) {
    return error(Error::Internal, "a tensor with ", text...);
  };
  if (tensor.dl.ndim < 0 || static_cast<std::size_t>(tensor.dl.ndim) > max_rank) {
    return wrong(tensor.dl.ndim, " dimensions");
  }
  const auto* const type = find_scalar_type(tensor.scalar_type);
  if (type == nullptr) return wrong("the scalar type ", tensor.scalar_type);
  const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
  if (rank != 0 && (!tensor.dl.shape || !tensor.dim_order)) return wrong("no sizes or dim order");
  std::uint64_t nbytes = type->size;
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = tensor.dl.shape[i];
    if (size < 0 || __builtin_mul_overflow(nbytes, static_cast<std::uint64_t>(size), &nbytes)) {
      return wrong("the sizes ", shape_text({tensor.dl.shape, rank}));
    }
    if (tensor.dim_order[i] < rank) seen |= 1U << tensor.dim_order[i];
  }
  if (seen != (1U << rank) - 1) return wrong("a dim order that is no permutation");
  if (nbytes != tensor.nbytes) {
    return wrong("the sizes ", shape_text({tensor.dl.shape, rank}), ", which are ", nbytes,
                 " bytes, and ", tensor.nbytes, " bytes");
  }
  if (nbytes != 0 && !tensor.dl.data) return wrong("no data");
  return ok();
}

/// Copies the intermediate results of a method. Made when they are first asked for.
class MethodRecorder {
 public:
  MethodRecorder(const schema::ExecutionPlan& plan, std::span<const Chain> chains,
                 std::span<Delegate> delegates, const DeviceSpace* devices,
                 const HostLimits& limits)
      : plan_(plan),
        chains_(chains),
        delegates_(delegates),
        devices_(devices),
        max_bytes_(limits.intermediate_bytes) {}
  MethodRecorder(const MethodRecorder&) = delete;
  MethodRecorder& operator=(const MethodRecorder&) = delete;

  /// Finds what there is. `handles` are the program's, `own` has the method's own delegates.
  Status find(const DebugHandles& handles, std::span<tenon_delegate* const> own) {
    std::set<const Delegate*> listed;
    std::size_t instruction = 0;
    for (std::size_t chain = 0; chain < chains_.size(); ++chain) {
      for (std::size_t index = 0; index < chains_[chain].size(); ++index) {
        const Instruction& at = chains_[chain][index];
        if (at.kind == Kind::KernelCall) {
          find_kernel(at, instruction, MethodErrors{plan_}.operator_at(chain, index), handles);
        } else if (at.kind == Kind::DelegateCall && listed.insert(at.delegate).second) {
          TENON_RETURN_IF_ERROR(find_delegate(*at.delegate, handles, own));
        }
        ++instruction;
      }
    }
    is_asked_.assign(all_.size(), false);
    return ok();
  }

  [[nodiscard]] const std::vector<Intermediate>& all() const noexcept { return all_; }
  [[nodiscard]] std::span<const IntermediateTensor> recorded() const noexcept { return recorded_; }
  /// Whether something is asked for.
  [[nodiscard]] bool is_recording() const noexcept { return is_recording_; }

  Status ask(std::span<const std::size_t> numbers) {
    TENON_RETURN_IF_ERROR(ask_delegates({}));
    for (const std::size_t number : numbers) {
      if (number < all_.size()) continue;
      return error(Error::InvalidArgument, "intermediate ", number, ": the method has ",
                   all_.size());
    }
    if (Status asked = ask_delegates(numbers); !asked.ok()) {
      static_cast<void>(ask_delegates({}));
      return asked;
    }
    return ok();
  }

  void begin_run() noexcept {
    recorded_.clear();
    num_bytes_ = 0;
    failure_ = {};
  }
  /// Whatever ended the run, when it was this.
  [[nodiscard]] Status end_run(Status outcome) {
    return outcome.ok() || failure_.ok() ? std::move(outcome) : std::move(failure_);
  }

  /// After the kernel of `at` has run.
  tenon_status take_kernel(const Instruction& at) noexcept {
    const auto found = first_of_kernel_.find(&at);
    if (found == first_of_kernel_.end()) return TENON_STATUS_OK;
    tenon_status status = TENON_STATUS_OK;
    std::size_t number = found->second;
    each_result(at, [&](const tenon_value& result) {
      if (status == TENON_STATUS_OK && is_asked_[number] && result.kind == TENON_VALUE_TENSOR) {
        status = take(number, *result.as.tensor);
      }
      ++number;
    });
    return status;
  }

 private:
  using Kind = schema::InstructionArguments;

  /// Takes the tensors of one delegate. Its address is fixed.
  struct Sink : tenon_intermediate_sink {
    MethodRecorder* recorder = nullptr;
    const Delegate* delegate = nullptr;
    tenon_delegate* handle = nullptr;  ///< The method's own.
    tenon_intermediates_v1 table{};
    std::map<std::int64_t, std::size_t> numbers;  ///< By handle.
  };

  /// Receives the names of one delegate's.
  struct List : tenon_intermediate_list {
    std::vector<std::pair<std::int64_t, std::string>> found;
    bool has_memory = true;
  };

  /// The results of a kernel are what its last argument is.
  template <class Do>
  static void each_result(const Instruction& at, const Do& act) {
    if (at.num_args == 0) return;
    const tenon_value& last = *at.args[at.num_args - 1];
    if (last.kind == TENON_VALUE_TENSOR) return act(last);
    if (last.kind != TENON_VALUE_TENSOR_LIST) return;
    const auto* const elements = static_cast<const tenon_value* const*>(last.as.span.data);
    for (std::uint64_t i = 0; i < last.as.span.size; ++i) act(*elements[i]);
  }

  void find_kernel(const Instruction& at, std::size_t instruction, const std::string& name,
                   const DebugHandles& handles) {
    const std::size_t first = all_.size();
    each_result(at, [&](const tenon_value&) {
      Intermediate& one = all_.emplace_back();
      one.handle = static_cast<std::int64_t>(instruction);
      one.name = name;
      one.result = all_.size() - 1 - first;
      set_nodes(one, handles.of_kernel(instruction), handles);
    });
    if (all_.size() != first) first_of_kernel_.emplace(&at, first);
  }

  static void set_nodes(Intermediate& one, std::vector<std::uint32_t> found,
                        const DebugHandles& handles) {
    for (const std::uint32_t handle : found) one.nodes.push_back(handles.name_of(handle));
    one.debug_handles = std::move(found);
  }

  Status find_delegate(const Delegate& delegate, const DebugHandles& handles,
                       std::span<tenon_delegate* const> own) {
    const LoadedBackend& backend = *delegate.use->backend;
    const auto table = backend.extension<tenon_intermediates_v1>(TENON_EXTENSION_INTERMEDIATES);
    if (!table || !table->list || !table->record) return ok();
    List list;
    list.struct_size = sizeof(tenon_intermediate_list);
    list.reserved = 0;
    list.add = &add_name;
    const auto number = static_cast<std::size_t>(&delegate - delegates_.data());
    const tenon_status status = table->list(backend.raw(), own[number], &list);
    if (!list.has_memory) return error(Error::MemoryAllocationFailed, "no memory for names");
    if (status != TENON_STATUS_OK) {
      return take_last_error(backend.host(), status)
          .with_context(concat(text_of(delegate), ": list of intermediates"));
    }
    Sink& sink = sinks_.emplace_back();
    sink.struct_size = sizeof(tenon_intermediate_sink);
    sink.take = &take_entry;
    sink.recorder = this;
    sink.delegate = &delegate;
    sink.handle = own[number];
    sink.table = *table;
    for (auto& [handle, name] : list.found) {
      if (!sink.numbers.emplace(handle, all_.size()).second) {
        return error(Error::Internal, text_of(delegate), ": it lists the intermediate ", handle,
                     " twice");
      }
      Intermediate& one = all_.emplace_back();
      one.delegate = number;
      one.handle = handle;
      set_nodes(one, handles.of_event(number, handle, name), handles);
      one.name = std::move(name);
    }
    return ok();
  }

  [[nodiscard]] std::string text_of(const Delegate& delegate) const {
    return concat("delegate ", &delegate - delegates_.data(), " (", delegate.use->id, ")");
  }

  Status ask_delegates(std::span<const std::size_t> numbers) {
    is_recording_ = !numbers.empty();
    recorded_.clear();
    is_asked_.assign(all_.size(), false);
    for (const std::size_t number : numbers) is_asked_[number] = true;
    for (Sink& sink : sinks_) {
      std::vector<std::int64_t> handles;
      for (const auto& [handle, number] : sink.numbers) {
        if (is_asked_[number]) handles.push_back(handle);
      }
      const LoadedBackend& backend = *sink.delegate->use->backend;
      const tenon_status status =
          sink.table.record(backend.raw(), sink.handle, handles.empty() ? nullptr : handles.data(),
                            handles.size(), handles.empty() ? nullptr : &sink);
      if (status == TENON_STATUS_OK) continue;
      return take_last_error(backend.host(), status)
          .with_context(concat(text_of(*sink.delegate), ": intermediates"));
    }
    return ok();
  }

  static tenon_status add_name(const tenon_intermediate_list* to,
                               const tenon_intermediate* one) noexcept {
    auto& list = *const_cast<List*>(static_cast<const List*>(to));
    try {
      list.found.emplace_back(
          one->handle, std::string(one->name ? one->name : "",
                                   one->name ? static_cast<std::size_t>(one->name_size) : 0));
      return TENON_STATUS_OK;
    } catch (const std::bad_alloc&) {
      list.has_memory = false;
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
  }

  static tenon_status take_entry(const tenon_intermediate_sink* entry, std::int64_t handle,
                                 const tenon_tensor* tensor) noexcept {
    const auto& sink = *static_cast<const Sink*>(entry);
    const auto found = sink.numbers.find(handle);
    // A result that was not asked for is dropped.
    if (found == sink.numbers.end() || !sink.recorder->is_asked_[found->second]) {
      return TENON_STATUS_OK;
    }
    return sink.recorder->take(found->second, *tensor);
  }

  tenon_status take(std::size_t number, const tenon_tensor& tensor) noexcept {
    try {
      Status taken = copy(number, tensor);
      if (taken.ok()) return TENON_STATUS_OK;
      if (failure_.ok()) {
        failure_ = std::move(taken).with_context(concat("method ", plan_.name()->string_view(),
                                                        ": intermediate ", number, " (",
                                                        all_[number].name, ")"));
      }
    } catch (const std::bad_alloc&) {
      failure_ = Status(Error::MemoryAllocationFailed, {});
    }
    return static_cast<tenon_status>(failure_.error());
  }

  Status copy(std::size_t number, const tenon_tensor& tensor) {
    TENON_RETURN_IF_ERROR(check_intermediate(tensor));
    const TensorView view(tensor);
    const std::uint64_t num_bytes = add_saturating(num_bytes_, view.nbytes());
    if (num_bytes > max_bytes_) {
      return over_limit("bytes of recorded tensors", num_bytes, "intermediate_bytes", max_bytes_);
    }
    IntermediateTensor out;
    out.intermediate = number;
    out.type = view.scalar_type();
    out.shape.assign(view.sizes().begin(), view.sizes().end());
    out.data.resize(view.nbytes());
    tenon_value value{};
    value.kind = TENON_VALUE_TENSOR;
    value.as.tensor = const_cast<tenon_tensor*>(&tensor);
    TENON_RETURN_IF_ERROR(read_bytes(value, devices_, out.data));
    if (!view.is_contiguous()) {
      std::vector<std::byte> ordered(out.data.size());
      std::int64_t strides[max_rank] = {};
      fill_strides(view.sizes(), tensor.dim_order, strides);
      gather(ordered.data(), out.data.data(), view.sizes(), {strides, view.rank()},
             size_of(out.type));
      out.data = std::move(ordered);
    }
    recorded_.push_back(std::move(out));
    num_bytes_ = num_bytes;
    return ok();
  }

  const schema::ExecutionPlan& plan_;
  const std::span<const Chain> chains_;
  const std::span<Delegate> delegates_;
  const DeviceSpace* const devices_;
  const std::uint64_t max_bytes_;
  std::uint64_t num_bytes_ = 0;  ///< Of this run.
  std::vector<Intermediate> all_;
  std::vector<bool> is_asked_;
  bool is_recording_ = false;
  std::map<const Instruction*, std::size_t> first_of_kernel_;
  std::deque<Sink> sinks_;
  std::vector<IntermediateTensor> recorded_;
  Status failure_;  ///< Of this run, to take a tensor.
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
