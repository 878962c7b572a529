// SPDX-License-Identifier: MIT
#include "stock.hpp"

#include <dlfcn.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace tenon::bench::stock {
namespace {

namespace et = executorch::runtime;
using executorch::aten::TensorImpl;
using executorch::extension::BufferDataLoader;
using executorch::extension::FileDataLoader;
using executorch::extension::MmapDataLoader;

constexpr const char* method_name = "forward";
constexpr const char* noop_id = "NoopBackend";
constexpr const char* missing_id = "BenchmarkBackendXX";

[[noreturn]] void fail(const std::string& what, et::Error error) {
  throw Failure("stock ExecuTorch: " + what + ": error " +
                std::to_string(static_cast<unsigned>(error)));
}

class NoopBackend final : public et::BackendInterface {
 public:
  bool is_available() const override { return true; }
  et::Result<et::DelegateHandle*> init(et::BackendInitContext&, et::FreeableBuffer* processed,
                                       et::ArrayRef<et::CompileSpec>) const override {
    return static_cast<et::DelegateHandle*>(processed);
  }
  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle*,
                    et::Span<et::EValue*>) const override {
    return et::Error::Ok;
  }
};

/// Room in the table (runtime/backend/interface.cpp).
constexpr std::size_t table_size = 16;

/// A library of the wheel, whose backends and kernels register themselves. It stays.
void open_library(const char* name) {
  const auto path = std::string(TENON_BENCH_WHEEL "/lib/") + name;
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) throw Failure(::dlerror());
}

/// Fills the registry once: it has no way to take a backend out again.
void set_up() {
  static NoopBackend backend;
  static std::array<std::string, table_size> names;
  static const bool done = [] {
    et::runtime_init();
    const auto add = [](const char* name) {
      const auto error = et::register_backend({name, &backend});
      if (error != et::Error::Ok) fail(std::string("register_backend of ") + name, error);
    };
    add(noop_id);
    open_library("libexecutorch_backend_xnnpack.so");
    open_library("libexecutorch_kernels_optimized.so");
    open_library("libexecutorch_kernels_quantized.so");
    register_adapted(TENON_BENCH_ADAPTED_PLUGIN);
    for (std::size_t i = et::get_num_registered_backends(); i < table_size; ++i) {
      names[i] = "BenchmarkBackend" + std::to_string(10 + i);
      add(names[i].c_str());
    }
    return true;
  }();
  static_cast<void>(done);
}

template <class Made>
std::unique_ptr<et::DataLoader> boxed(et::Result<Made> made, const std::string& path) {
  if (!made.ok()) fail("opening " + path, made.error());
  return std::make_unique<Made>(std::move(*made));
}

/// An open program, with the bytes that it points into.
class OpenProgram {
 public:
  OpenProgram(const std::string& path, Loader kind)
      : loader_(make_loader(path, kind)), program_(et::Program::load(loader_.get())) {
    if (!program_.ok()) fail("Program::load of " + path, program_.error());
  }

  [[nodiscard]] const et::Program& get() const { return *program_; }

 private:
  std::unique_ptr<et::DataLoader> make_loader(const std::string& path, Loader kind) {
    switch (kind) {
      case Loader::File:
        return boxed(FileDataLoader::from(path.c_str()), path);
      case Loader::Map:
        return boxed(MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock),
                     path);
      case Loader::Memory:
        break;
    }
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.empty()) throw Failure("cannot read " + path);
    // vector<max_align_t> gives the 16-byte alignment that a program needs.
    memory_.resize(bytes.size() / sizeof(std::max_align_t) + 1);
    bytes.copy(reinterpret_cast<char*>(memory_.data()), bytes.size());
    return std::make_unique<BufferDataLoader>(memory_.data(), bytes.size());
  }

  std::vector<std::max_align_t> memory_;
  std::unique_ptr<et::DataLoader> loader_;
  et::Result<et::Program> program_;
};

/// A line of the processor's cache. Kernels are slower on memory that begins within one, which is
/// no difference between runtimes.
struct alignas(64) CacheLine {
  std::uint8_t bytes[64];
};

/// Memory for one method, all of it made before anything is timed.
class MethodMemory {
 public:
  explicit MethodMemory(const et::Program& program)
      : method_bytes_(std::size_t{8} << 20), temp_bytes_(std::size_t{1} << 24) {
    const auto meta = program.method_meta(method_name);
    if (!meta.ok()) fail("method_meta", meta.error());
    for (std::size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
      const auto size = meta->memory_planned_buffer_size(i);
      if (!size.ok()) fail("memory_planned_buffer_size", size.error());
      const auto nbytes = static_cast<std::size_t>(*size);
      auto& lines = planned_lines_.emplace_back(nbytes / sizeof(CacheLine) + 1);
      planned_spans_.emplace_back(lines.front().bytes, nbytes);
    }
    method_allocator_ = std::make_unique<et::MemoryAllocator>(
        static_cast<std::uint32_t>(method_bytes_.size()), method_bytes_.data());
    temp_allocator_ = std::make_unique<et::MemoryAllocator>(
        static_cast<std::uint32_t>(temp_bytes_.size()), temp_bytes_.data());
    planned_ = std::make_unique<et::HierarchicalAllocator>(
        et::Span<et::Span<std::uint8_t>>(planned_spans_.data(), planned_spans_.size()));
    manager_ = std::make_unique<et::MemoryManager>(method_allocator_.get(), planned_.get(),
                                                   temp_allocator_.get());
  }

  /// Prepares for one more method; only after the previous one was destroyed.
  [[nodiscard]] et::MemoryManager* fresh() {
    method_allocator_->reset();
    return manager_.get();
  }

 private:
  std::vector<std::uint8_t> method_bytes_;
  std::vector<std::uint8_t> temp_bytes_;
  std::vector<std::vector<CacheLine>> planned_lines_;
  std::vector<et::Span<std::uint8_t>> planned_spans_;
  std::unique_ptr<et::MemoryAllocator> method_allocator_;
  std::unique_ptr<et::MemoryAllocator> temp_allocator_;
  std::unique_ptr<et::HierarchicalAllocator> planned_;
  std::unique_ptr<et::MemoryManager> manager_;
};

/// Gives every input zeroes of its own shape.
void set_inputs(et::Method& method) {
  const auto meta = method.method_meta();
  for (std::size_t i = 0; i < method.inputs_size(); ++i) {
    const auto info = meta.input_tensor_meta(i);
    if (!info.ok()) fail("input_tensor_meta", info.error());
    std::vector<TensorImpl::SizesType> sizes(info->sizes().begin(), info->sizes().end());
    std::vector<TensorImpl::DimOrderType> order(info->dim_order().begin(), info->dim_order().end());
    std::vector<TensorImpl::StridesType> strides(sizes.size());
    TensorImpl::StridesType stride = 1;
    for (std::size_t k = order.size(); k-- > 0;) {
      strides[order[k]] = stride;
      stride *= sizes[order[k]];
    }
    std::vector<std::max_align_t> data(info->nbytes() / sizeof(std::max_align_t) + 1);
    TensorImpl impl(info->scalar_type(), static_cast<ssize_t>(sizes.size()), sizes.data(),
                    data.data(), order.data(), strides.data());
    // The inputs of the benchmark programs are memory-planned: the bytes are copied.
    const auto error = method.set_input(et::EValue(executorch::aten::Tensor(&impl)), i);
    if (error != et::Error::Ok) fail("set_input " + std::to_string(i), error);
  }
}

class LoadedMethod {
 public:
  explicit LoadedMethod(const std::string& path)
      : program_(path, Loader::Map),
        memory_(program_.get()),
        method_(program_.get().load_method(method_name, memory_.fresh())) {
    if (!method_.ok()) fail("load_method of " + path, method_.error());
    set_inputs(*method_);
  }

  void run(std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const auto error = method_->execute();
      if (error != et::Error::Ok) fail("execute", error);
    }
  }

 private:
  OpenProgram program_;
  MethodMemory memory_;
  et::Result<et::Method> method_;
};

}  // namespace

bool present() { return true; }

OneThread::OneThread()
    : before_(executorch::extension::threadpool::NoThreadPoolGuard::is_enabled()) {
  executorch::extension::threadpool::NoThreadPoolGuard::set_enabled(true);
}

OneThread::~OneThread() {
  executorch::extension::threadpool::NoThreadPoolGuard::set_enabled(before_);
}

Work execute(const std::string& program) {
  set_up();
  auto method = std::make_shared<LoadedMethod>(program);
  return [method](std::uint64_t repeats) { method->run(repeats); };
}

Work load(const std::string& program, Loader loader) {
  set_up();
  auto open_program = std::make_shared<OpenProgram>(program, loader);
  auto memory = std::make_shared<MethodMemory>(open_program->get());
  return [open_program, memory](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const auto method = open_program->get().load_method(method_name, memory->fresh());
      if (!method.ok()) fail("load_method", method.error());
    }
  };
}

Work open(const std::string& program, Verification verification) {
  set_up();
  const auto how = verification == Verification::Minimal
                       ? et::Program::Verification::Minimal
                       : et::Program::Verification::InternalConsistency;
  return [program, how](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      auto loader = MmapDataLoader::from(program.c_str(), MmapDataLoader::MlockConfig::NoMlock);
      if (!loader.ok()) fail("opening " + program, loader.error());
      const auto loaded = et::Program::load(&*loader, how);
      if (!loaded.ok()) fail("Program::load of " + program, loaded.error());
      keep(loaded);
    }
  };
}

Work look_up(Name name) {
  set_up();
  std::string id = missing_id;
  if (name == Name::First) id = noop_id;
  if (name == Name::Last) {
    const auto last = et::get_backend_name(et::get_num_registered_backends() - 1);
    if (!last.ok()) fail("get_backend_name", last.error());
    id = *last;
  }
  const bool expected = name != Name::Missing;
  return [id, expected](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const auto* backend = et::get_backend_class(id.c_str());
      if ((backend != nullptr) != expected) fail("get_backend_class of " + id, et::Error::NotFound);
    }
  };
}

std::size_t registry_size() {
  set_up();
  return et::get_num_registered_backends();
}

}  // namespace tenon::bench::stock
