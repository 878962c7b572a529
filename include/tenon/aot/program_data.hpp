// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/compile_spec_data.hpp"
#include "tenon/aot/dense_layout.hpp"
#include "tenon/aot/named_data.hpp"
#include "tenon/aot/shared_bytes.hpp"

/// A program as it is before it becomes a `.pte` file: methods with values, operators, delegates
/// and instructions, and the bytes that they refer to. What ExecuTorch's emitter produces
/// (exir/emit), without what only a file has: offsets, segments, padding.
///
/// The description owns everything, or keeps it alive. It is a value: fill it in, change it, copy
/// it. Nothing is checked while it is filled; `check_program` (compiler/program_check.hpp) checks
/// all of it, and `make_pte` (compiler/pte_writer.hpp) does that first. Filling one in needs the
/// standard library alone.
///
/// Indices: a ValueIndex counts MethodData::values of the same method from 0; -1 means "none" where
/// documented. Other indices count the list that is named next to them, from 0.
namespace tenon { inline namespace TENON_RELEASE { namespace aot {

using ValueIndex = std::int32_t;

/// Which devices a program can name (program.fbs). Other devices are internal to a delegate.
enum class ProgramDeviceType : std::int8_t { CPU = 0, CUDA = 1 };

struct ProgramDevice {
  ProgramDeviceType type = ProgramDeviceType::CPU;
  std::int8_t index = 0;

  friend bool operator==(const ProgramDevice&, const ProgramDevice&) = default;
};

/// A place in planned memory.
struct Place {
  /// Into MethodData::planned_memory. 0 means that the place is not chosen yet;
  /// `plan_method_memory` (compiler/method_memory.hpp) chooses it, and no program is written
  /// without it.
  std::uint32_t memory_id = 0;
  std::uint64_t offset = 0;  ///< Bytes from the start of that memory.

  friend bool operator==(const Place&, const Place&) = default;
};

/// One piece of memory that a runtime allocates when it loads a method.
struct PlannedBuffer {
  std::uint64_t nbytes = 0;
  ProgramDevice device;

  friend bool operator==(const PlannedBuffer&, const PlannedBuffer&) = default;
};

/// The source of a tensor's data.
namespace storage {

/// No memory in the program: the caller or an instruction sets the address.
struct FromCaller {};
/// Memory without a first content: inputs, outputs, what kernels write.
struct Planned {
  Place place;
};
/// Constant `index` of ProgramData::constants. Never written to.
struct Constant {
  std::uint32_t index = 0;
};
/// A mutable buffer: memory that keeps its content between calls and begins with the bytes of
/// initial state `index` of ProgramData::initial_states.
struct InitialState {
  std::uint32_t index = 0;
  Place place;
};
/// The data of the key TensorValue::fully_qualified_name, in a `.ptd` file that the application
/// gives. With a place it is a mutable buffer that begins with that data, else a constant.
struct External {
  std::optional<Place> place;
};

}  // namespace storage

using Storage = std::variant<storage::FromCaller, storage::Planned, storage::Constant,
                             storage::InitialState, storage::External>;

/// A tensor: its layout, and where its data comes from.
struct TensorValue {
  DenseLayout layout;
  Storage data;
  /// True: the sizes are upper bounds, and each call may have smaller ones. ExecuTorch's third
  /// kind, without bounds, is supported by no runtime and cannot be said here.
  bool is_dynamic = false;
  bool requires_grad = false;
  std::string fully_qualified_name;  ///< "module.linear.weight"; may be empty unless External.
  ProgramDevice device;

  /// The place, when the storage has one.
  [[nodiscard]] Place* place() noexcept {
    if (auto* planned = std::get_if<storage::Planned>(&data)) return &planned->place;
    if (auto* state = std::get_if<storage::InitialState>(&data)) return &state->place;
    auto* external = std::get_if<storage::External>(&data);
    return external != nullptr && external->place ? &*external->place : nullptr;
  }
  [[nodiscard]] const Place* place() const noexcept {
    return const_cast<TensorValue*>(this)->place();
  }
  /// Whether the content lives from one call to the next.
  [[nodiscard]] bool is_mutable_buffer() const noexcept {
    return place() != nullptr && !std::holds_alternative<storage::Planned>(data);
  }
};

/// Indices of values that are integers (std::int64_t).
struct IntList {
  std::vector<ValueIndex> items;
};
/// Indices of values that are tensors.
struct TensorList {
  std::vector<ValueIndex> items;
};
/// Indices of values that are tensors or None; -1 means None, too.
struct OptionalTensorList {
  std::vector<ValueIndex> items;
};

/// std::monostate is None.
using Value =
    std::variant<std::monostate, std::int64_t, double, bool, std::string, TensorValue, IntList,
                 std::vector<double>, std::vector<bool>, TensorList, OptionalTensorList>;

/// A kernel, by the names under which runtimes register it: "aten::add" and "out". The overload may
/// be empty.
struct Operator {
  std::string name;
  std::string overload;

  friend bool operator==(const Operator&, const Operator&) = default;
};

/// Runs a kernel. `args` are the arguments in the order of the operator's schema, and then what the
/// operator returns, which the kernel's wrapper writes: of an out-variant its output once more, or,
/// when it has several, one TensorList of them (ExecuTorch: exir/emit/_emitter.py). "aten::add.out"
/// has args {self, other, alpha, out, out}.
struct KernelCall {
  std::uint32_t op_index = 0;  ///< Into MethodData::operators.
  std::vector<ValueIndex> args;
};
/// Runs a delegate. Arguments are its inputs, then its outputs.
struct DelegateCall {
  std::uint32_t delegate_index = 0;  ///< Into MethodData::delegates.
  std::vector<ValueIndex> args;
};
/// Copies the value `from` to `to`. The copy of a tensor is another name of the same memory.
struct MoveCall {
  ValueIndex from = 0;
  ValueIndex to = 0;
};
/// Jumps to another instruction when a boolean is false.
struct JumpFalseCall {
  ValueIndex condition = 0;
  std::uint32_t destination = 0;  ///< Number of instructions: the end.
};
/// Gives back the memory of a tensor whose size is not bounded. Part of the format; no program
/// described here needs it.
struct FreeCall {
  ValueIndex value = 0;
};
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall>;

/// The place of a delegate's blob in the file.
enum class BlobPlacement {
  Default,  ///< As PteOptions says.
  Inline,   ///< In the flatbuffer. For small blobs.
  Segment,  ///< Behind the flatbuffer, where it is mapped and given back to the system by itself.
};

struct DelegateData {
  std::string id;         ///< Of the backend.
  SharedBytes processed;  ///< What the backend's preprocess returned. May be empty.
  std::vector<CompileSpecData> compile_specs;
  BlobPlacement placement = BlobPlacement::Default;
};

/// One method: what ExecuTorch calls an execution plan with one chain.
struct MethodData {
  std::string name = "forward";
  /// How the flat lists of inputs and outputs fold back into Python containers
  /// (torch.utils._pytree.treespec_dumps). No runtime reads them; empty is fine.
  std::string encoded_inputs;
  std::string encoded_outputs;
  std::vector<Value> values;
  std::vector<ValueIndex> inputs;
  std::vector<ValueIndex> outputs;
  std::vector<Operator> operators;
  std::vector<DelegateData> delegates;
  std::vector<Instruction> instructions;
  /// By memory id. Entry 0 is reserved and has no bytes.
  std::vector<PlannedBuffer> planned_memory = std::vector<PlannedBuffer>(1);

  /// Adds a value and returns its index.
  ValueIndex add(Value value) {
    values.push_back(std::move(value));
    return static_cast<ValueIndex>(values.size()) - 1;
  }
  /// Adds a list of integers, with a value for each of them.
  ValueIndex add_ints(std::span<const std::int64_t> numbers) {
    IntList list;
    for (const std::int64_t number : numbers) list.items.push_back(add(Value(number)));
    return add(Value(std::move(list)));
  }
  /// The index of the operator, which is added when it is new.
  std::uint32_t op(std::string_view operator_name, std::string_view overload) {
    std::uint32_t index = 0;
    while (index < operators.size() &&
           (operators[index].name != operator_name || operators[index].overload != overload)) {
      ++index;
    }
    if (index == operators.size()) {
      operators.push_back({std::string(operator_name), std::string(overload)});
    }
    return index;
  }
  /// Adds a delegate and returns its index.
  std::uint32_t add_delegate(DelegateData delegate) {
    delegates.push_back(std::move(delegate));
    return static_cast<std::uint32_t>(delegates.size()) - 1;
  }
};

/// A program. Methods share constants, initial states and named data.
///
/// Equal contents may appear more than once: the writer stores each once.
struct ProgramData {
  std::vector<MethodData> methods;
  std::vector<SharedBytes> constants;
  std::vector<SharedBytes> initial_states;
  /// Its `pte_data` is stored in the program. Its `external_data` is stored in files of its own
  /// (compiler/ptd_writer.hpp); here it only serves to check external tensors.
  NamedDataStoreOutput named_data;

  /// Adds a constant and returns its index (storage::Constant::index).
  std::uint32_t add_constant(SharedBytes bytes) {
    constants.push_back(std::move(bytes));
    return static_cast<std::uint32_t>(constants.size()) - 1;
  }
  /// Adds an initial state and returns its index (storage::InitialState::index).
  std::uint32_t add_initial_state(SharedBytes bytes) {
    initial_states.push_back(std::move(bytes));
    return static_cast<std::uint32_t>(initial_states.size()) - 1;
  }
};

}}}  // namespace tenon::TENON_RELEASE::aot
