// SPDX-License-Identifier: MIT
// A backend written for ExecuTorch, and the two lines that make it a plugin. Its blobs are whole
// programs (exir's ExecutorBackend): it runs their method "forward".
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <tenon/executorch/plugin.hpp>
#include <utility>
#include <vector>

namespace {

namespace et = ::executorch::runtime;

/// One loaded program inside a program.
class NestedProgram {
 public:
  NestedProgram(const void* data, std::size_t size) : loader_(data, size) {}

  et::Error load(et::MemoryAllocator& allocator, const et::NamedDataMap* named_data) {
    auto program = et::Program::load(&loader_, et::Program::Verification::InternalConsistency);
    if (!program.ok()) return program.error();
    program_.emplace(std::move(*program));
    const auto meta = program_->method_meta("forward");
    if (!meta.ok()) return meta.error();
    for (std::size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
      const auto size = meta->memory_planned_buffer_size(i);
      if (!size.ok()) return size.error();
      auto* const buffer =
          static_cast<std::uint8_t*>(allocator.allocate(static_cast<std::size_t>(*size), 16));
      if (!buffer && *size != 0) return et::Error::MemoryAllocationFailed;
      buffers_.emplace_back(buffer, static_cast<std::size_t>(*size));
    }
    planned_.emplace(et::Span<et::Span<std::uint8_t>>(buffers_.data(), buffers_.size()));
    memory_.emplace(&allocator, &*planned_);
    auto method = program_->load_method("forward", &*memory_, nullptr, named_data);
    if (!method.ok()) return method.error();
    method_.emplace(std::move(*method));
    return et::Error::Ok;
  }

  et::Error execute(et::Span<et::EValue*> args) {
    const std::size_t inputs = method_->inputs_size();
    if (args.size() != inputs + method_->outputs_size()) {
      ET_LOG(Error, "expected %zu inputs and %zu outputs, found %zu arguments", inputs,
             method_->outputs_size(), args.size());
      return et::Error::InvalidArgument;
    }
    for (std::size_t i = 0; i < inputs; ++i) {
      const et::Error set = method_->set_input(*args[i], i);
      if (set != et::Error::Ok) return set;
    }
    const et::Error executed = method_->execute();
    if (executed != et::Error::Ok) return executed;
    for (std::size_t i = inputs; i < args.size(); ++i) {
      const et::Error copied = copy(method_->get_output(i - inputs), *args[i]);
      if (copied != et::Error::Ok) return copied;
    }
    return et::Error::Ok;
  }

 private:
  static et::Error copy(const et::EValue& from, et::EValue& to) {
    if (!from.isTensor() || !to.isTensor()) return et::Error::InvalidType;
    const auto& source = from.toTensor();
    auto& target = to.toTensor();
    if (source.scalar_type() != target.scalar_type()) return et::Error::InvalidType;
    const et::Error resized = et::resize_tensor(target, source.sizes());
    if (resized != et::Error::Ok) return resized;
    if (source.nbytes() == 0) return et::Error::Ok;
    if (!target.mutable_data_ptr()) return et::Error::InvalidArgument;
    std::memcpy(target.mutable_data_ptr(), source.const_data_ptr(), source.nbytes());
    return et::Error::Ok;
  }

  ::executorch::extension::BufferDataLoader loader_;
  std::optional<et::Program> program_;
  std::vector<et::Span<std::uint8_t>> buffers_;
  std::optional<et::HierarchicalAllocator> planned_;
  std::optional<et::MemoryManager> memory_;
  std::optional<et::Method> method_;
};

class ExecutorBackend final : public et::BackendInterface {
 public:
  bool is_available() const override { return true; }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext& context,
                                       et::FreeableBuffer* processed,
                                       et::ArrayRef<et::CompileSpec>) const override {
    auto nested = std::make_unique<NestedProgram>(processed->data(), processed->size());
    const et::Error loaded =
        nested->load(*context.get_runtime_allocator(), context.get_named_data_map());
    if (loaded != et::Error::Ok) return loaded;
    return nested.release();
  }

  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* handle,
                    et::Span<et::EValue*> args) const override {
    return static_cast<NestedProgram*>(handle)->execute(args);
  }

  void destroy(et::DelegateHandle* handle) const override {
    delete static_cast<NestedProgram*>(handle);
  }
};

// [plugin]
struct Executor {
  static constexpr std::string_view id = "ExecutorBackend";
  static constexpr std::string_view description = "runs programs inside of programs by ExecuTorch";
  using Interface = ExecutorBackend;
  // The operators of the programs inside.
  static constexpr std::array libraries{
      tenon::bridge::RegisteringLibrary{"libexecutorch_kernels_optimized.so", "aten::add.out"}};
};
// [plugin]

}  // namespace

TENON_EXECUTORCH_BACKEND(Executor);
