// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/loader/program/tensor_layout.hpp"
#include "tenon/host/schema/forward.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class Program;

/// Facts of one tensor of a program (ExecuTorch: TensorInfo).
struct TensorMeta {
  StoredTensorLayout layout;  ///< Upper bounds when the shape is dynamic.

  /// Whether the program has memory for the data. Constants count, as in ExecuTorch.
  bool is_memory_planned = false;
  std::uint32_t shape_dynamism = TENON_SHAPE_STATIC;  ///< TENON_SHAPE_...
  std::string_view name;  ///< Fully qualified name ("module.linear.weight"); may be empty.
  tenon_dl_device device{TENON_DL_CPU, 0};
};

/// Facts of one delegate of a program.
struct DelegateMeta {
  std::string_view id;  ///< Of the backend.
  std::span<const std::byte> blob;
  std::vector<CompileSpec> compile_specs;  ///< In the order of the file.
};

/// Facts of one method of a program, without loading it (ExecuTorch: runtime/executor/
/// method_meta.h, whose names these are).
///
/// A view: the program must outlive it and all that it returns. Immutable; any thread may use it.
/// A function with an index fails with InvalidArgument when the index is above the end.
///
/// Making one reads all values of the method once; get the facts of one method from one object.
class MethodMeta {
 public:
  /// Facts of the method `name`, or of the plan of a variant by its name. InvalidArgument when
  /// `program` has none of that name.
  [[nodiscard]] static Result<MethodMeta> of(const Program& program, std::string_view name);

  /// `plan` is one of the plans of the verified program that `view` shows.
  MethodMeta(const ProgramView& view, const schema::ExecutionPlan& plan);

  [[nodiscard]] std::string_view name() const noexcept;

  [[nodiscard]] std::size_t num_inputs() const noexcept;
  [[nodiscard]] std::size_t num_outputs() const noexcept;

  /// Kind of an input or output (TENON_VALUE_...).
  [[nodiscard]] Result<std::uint32_t> input_tag(std::size_t index) const;
  [[nodiscard]] Result<std::uint32_t> output_tag(std::size_t index) const;

  /// Facts of a tensor among the inputs or outputs; InvalidArgument when it is of another kind.
  [[nodiscard]] Result<TensorMeta> input_tensor_meta(std::size_t index) const;
  [[nodiscard]] Result<TensorMeta> output_tensor_meta(std::size_t index) const;

  /// Tensors that have a name, in the order of the file.
  [[nodiscard]] std::size_t num_attributes() const noexcept;
  [[nodiscard]] Result<TensorMeta> attribute_tensor_meta(std::size_t index) const;

  /// Buffers that the method needs, in the order of `memory_id` from 1 on: buffer `index` here is
  /// `memory_id` `index` + 1 of the file, whose entry 0 is reserved.
  [[nodiscard]] std::size_t num_memory_planned_buffers() const noexcept;
  /// Bytes of a buffer.
  [[nodiscard]] Result<std::uint64_t> memory_planned_buffer_size(std::size_t index) const;
  [[nodiscard]] Result<tenon_dl_device> memory_planned_buffer_device(std::size_t index) const;

  /// Instructions of all chains.
  [[nodiscard]] std::size_t num_instructions() const noexcept;

  [[nodiscard]] std::size_t num_delegates() const noexcept;
  [[nodiscard]] Result<DelegateMeta> delegate(std::size_t index) const;

  [[nodiscard]] bool uses_backend(std::string_view id) const noexcept;

  /// Ids of the backends that the delegates need: sorted, each once.
  [[nodiscard]] std::vector<std::string_view> backends() const;

  /// Operators that kernel calls refer to.
  [[nodiscard]] std::size_t num_operators() const noexcept;
  /// See `operator_name` above.
  [[nodiscard]] Result<std::string> operator_name(std::size_t index) const;

 private:
  [[nodiscard]] Status above_end(std::string_view what, std::size_t index, std::size_t count) const;
  [[nodiscard]] Result<const schema::EValue*> input_at(std::size_t index) const;
  [[nodiscard]] Result<const schema::EValue*> output_at(std::size_t index) const;
  [[nodiscard]] Result<TensorMeta> tensor_meta(const schema::EValue& value, std::size_t index,
                                               std::string_view what) const;

  ProgramView view_;
  const schema::ExecutionPlan* plan_;
  // The plan lists neither by its index.
  std::vector<std::uint32_t> attributes_;        // Indices of values.
  std::vector<tenon_dl_device> buffer_devices_;  // Of the first buffers; the CPU for the others.
};

}}}  // namespace tenon::TENON_RELEASE::host
