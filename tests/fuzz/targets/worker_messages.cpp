// SPDX-License-Identifier: MIT
//
// The application's side of isolated plugins against workers that write what they like: a script
// says what the application calls, and what its workers do meanwhile.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "application/isolated_backend.hpp"
#include "fuzz/fuzz_target.hpp"
#include "fuzz/peers/application.hpp"
#include "fuzz/peers/choices.hpp"
#include "fuzz/peers/system.hpp"
#include "fuzz/peers/worker_peer.hpp"
#include "support/elf_builder.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/loader/plugin/platform.hpp"

extern char** environ;

namespace tenon::fuzz { namespace {

WorkerPeer* workers = nullptr;

}}  // namespace tenon::fuzz

namespace tenon::isolated {

/// In place of the one that starts a process.
Result<Launched> launch(const std::string&, host::Trust, const Start&) {
  const auto started = fuzz::workers->start();
  Launched out;
  out.supervisor = host::FileDescriptor(started.supervisor);
  out.service = host::FileDescriptor(started.service);
  out.process = host::FileDescriptor(started.process);
  return out;
}

}  // namespace tenon::isolated

namespace tenon::fuzz {
namespace {

using namespace isolated;

/// The plugin that is wrapped, which no worker loads. Its copy in memory is kept by a backend that
/// stays open, as copies of it take longer than a run.
class WrappedPlugin {
 public:
  static const WrappedPlugin& get() {
    static const auto* const plugin = new WrappedPlugin;
    return *plugin;
  }
  [[nodiscard]] const IsolatedObject& object() const noexcept { return object_; }

 private:
  WrappedPlugin() : host_(false) {
    auto bytes = test::elf::build({});
    test::put_number(bytes, test::elf::machine,
                     static_cast<std::uint16_t>(host::this_platform.machine));
    const test::TemporaryDirectory directory;
    const std::string path = directory.write("plugin.so", text_of(bytes)).string();
    std::strncpy(object_.wrapped_path, path.c_str(), sizeof object_.wrapped_path - 1);
    std::strcpy(object_.worker_path, "/dev/null");
    std::strcpy(object_.records[0].id, "Fuzz");
    std::ranges::copy(sha256_of(bytes).bytes, object_.sha256);
    Choices none;
    WorkerPeer peer(none);
    System system(peer);
    peer.set_system(system);
    workers = &peer;
    auto made = IsolatedBackend::open(object_, 0, &host_);
    if (!made.ok()) broken(std::string(made.text()).c_str());
    backend_ = *std::move(made);
    system.keep();
  }

  FuzzHost host_;
  IsolatedObject object_{};
  std::unique_ptr<IsolatedBackend> backend_;
};

class Application {
 public:
  explicit Application(std::span<const std::byte> bytes) : script_(bytes), peer_(choices_) {}

  void run() {
    System system(peer_);
    system_ = &system;
    workers = &peer_;
    peer_.set_system(system);
    if (!script_.next(choices_)) return;
    open();
    if (!backend_) return;
    while (script_.next(choices_)) step();
    choices_ = Choices();
    end();
  }

 private:
  /// A delegate of the application, with all that its method keeps.
  struct Delegate {
    tenon_delegate* handle = nullptr;
    std::shared_ptr<Program> program;
    std::unique_ptr<CallArguments> arguments;
    std::unique_ptr<tenon_intermediate_sink> sink;
    std::vector<std::uint64_t> parts;
    bool is_called = false;

    [[nodiscard]] IsolatedDelegate& it() const {
      return *reinterpret_cast<IsolatedDelegate*>(handle);
    }
  };
  struct Kernel {
    tenon_kernel* handle = nullptr;
    std::unique_ptr<CallArguments> arguments;
  };

  /// As the functions of isolated.cpp do.
  template <class Call>
  void guard(const Call& call) {
    try {
      static_cast<void>(call());
    } catch (const std::bad_alloc&) {
    }
  }

  void open() {
    object_ = std::make_unique<IsolatedObject>(WrappedPlugin::get().object());
    const std::uint8_t settings = choices_.byte();
    object_->settings.sharing = settings & 1;
    object_->settings.restart = settings >> 1 & 3;
    object_->settings.deadline_ms = (settings & 8) != 0 ? 20 : 0;
    object_->settings.memory = settings >> 4 & 1;
    const std::uint8_t about = choices_.byte();
    host_ = std::make_unique<FuzzHost>((about & 1) == 0);
    host_->has_flag = (about & 2) != 0;
    host_->has_pool = (about & 4) != 0;
    if ((about & 8) != 0) system_->fail_after(1 + choices_.byte());
    guard([&] {
      auto made = IsolatedBackend::open(*object_, 0, host_.get());
      if (!made.ok()) {
        read_bytes(made.text().data(), made.text().size());
        return;
      }
      description_ = (*made)->take_description();
      backend_ = made->release();
    });
    if (!description_) return;
    for (const tenon_option_spec& each : description_->specs()) {
      read_text(each.description);
      read_text(each.unit);
      for (const tenon_option* one : {each.initial, each.minimum, each.maximum}) {
        if (one) read_option(*one);
      }
      for (std::uint32_t i = 0; i < each.num_choices; ++i) read_text(each.choices[i]);
    }
    for (const char* each : {description_->scheduling().priority, description_->scheduling().goal,
                             description_->scheduling().power}) {
      read_text(each);
    }
  }

  void step() {
    static constexpr void (Application::* steps[])() = {
        &Application::execute,       &Application::init,       &Application::execute,
        &Application::run_kernel,    &Application::with_state, &Application::execute,
        &Application::about_backend, &Application::memory,     &Application::create_kernel,
        &Application::session,       &Application::record,     &Application::about_delegate,
        &Application::destroy,       &Application::copy,       &Application::option,
        &Application::destroy_kernel};
    (this->*steps[choices_.below(std::size(steps))])();
  }

  /// What other threads of the application may do while one is in a call.
  void in_between() {
    if (!choices_.rarely()) return;
    for (std::size_t i = 0; i < delegates_.size(); ++i) {
      if (!delegates_[i] || delegates_[i]->is_called) continue;
      end(i);
      return;
    }
  }

  void init() {
    if (delegates_.size() >= 6) return;
    auto made = std::make_unique<Delegate>();
    made->program = std::make_shared<Program>(*host_, choices_, [this] { in_between(); });
    made->arguments = std::make_unique<CallArguments>(choices_, addresses());
    const auto before = std::exchange(host_->init, &made->program->context);
    guard([&] { return backend_->init(&made->program->context, &made->handle); });
    host_->init = before;
    if (made->handle) delegates_.push_back(std::move(made));
  }

  Delegate* pick() {
    std::vector<Delegate*> free;
    for (const auto& each : delegates_) {
      if (each && !each->is_called) free.push_back(each.get());
    }
    return free.empty() ? nullptr : free[choices_.below(free.size())];
  }

  template <class Call>
  void with_delegate(const Call& call) {
    Delegate* const found = pick();
    if (!found) return init();
    found->is_called = true;
    guard([&] {
      call(*found);
      return 0;
    });
    found->is_called = false;
  }

  void execute() {
    with_delegate([&](Delegate& found) {
      if (choices_.rarely()) found.arguments->change(choices_);
      const auto tracer = choices_.rarely() ? make_tracer() : nullptr;
      const tenon_execution_context context{sizeof context, 0,       host_.get(),
                                            "forward",      nullptr, tracer.get()};
      host_->cancel_flag = choices_.rarely() ? 1 : 0;
      peer_.set_arguments(found.arguments->expected());
      guard([&] {
        return backend_->execute(found.handle, &context, found.arguments->data(),
                                 found.arguments->size());
      });
      found.arguments->check(false);
    });
  }

  void session() {
    with_delegate([&](Delegate& found) {
      if (delegates_.size() >= 6) return;
      auto made = std::make_unique<Delegate>();
      made->program = found.program;
      made->arguments = std::make_unique<CallArguments>(choices_, addresses());
      tenon_option option{sizeof option, TENON_OPTION_INT, "a", {}};
      tenon_scheduling hints{sizeof hints, TENON_PRIORITY_HIGH, 0, 0};
      const bool has_option = choices_.rarely();
      const tenon_session_context context{sizeof context,
                                          has_option ? 1u : 0u,
                                          has_option ? &option : nullptr,
                                          choices_.rarely() ? &hints : nullptr,
                                          nullptr,
                                          choices_.rarely() ? found.handle : nullptr};
      guard([&] { return backend_->create_session(found.it(), context, &made->handle); });
      if (made->handle) delegates_.push_back(std::move(made));
    });
  }

  void with_state() {
    struct List : tenon_state_list {
      std::vector<std::uint64_t>* parts;
    };
    with_delegate([&](Delegate& found) {
      const std::uint8_t what = choices_.byte();
      if (what % 4 == 0 || found.parts.empty()) {
        std::vector<std::uint64_t> listed;
        List list{};
        static_cast<tenon_state_list&>(list) = {
            sizeof(tenon_state_list), 0,
            [](const tenon_state_list* to, const tenon_state_part* part) -> tenon_status {
              read_bytes(part->name, part->name_size);
              static_cast<const List*>(to)->parts->push_back(part->nbytes);
              return TENON_STATUS_OK;
            }};
        list.parts = &listed;
        if (backend_->list_state(found.it(), &list) == TENON_STATUS_OK) found.parts = listed;
        return;
      }
      if (what % 4 == 3) return static_cast<void>(backend_->state_written(found.it()));
      const std::size_t part = choices_.below(found.parts.size());
      const std::uint64_t size = found.parts[part];
      if (size > 200'000) return;  // A host asks its application before.
      // Mostly all of it, else a range, which need not be inside.
      const std::uint64_t offset = choices_.rarely() ? choices_.below(9) : 0;
      const std::uint64_t nbytes = choices_.rarely() ? choices_.below(9) : size;
      const auto room = std::make_unique<std::byte[]>(static_cast<std::size_t>(nbytes));
      if (what % 4 == 1) {
        static_cast<void>(backend_->read_state(found.it(), part, offset, nbytes, room.get()));
      } else {
        static_cast<void>(backend_->write_state(found.it(), part, offset, nbytes, room.get()));
      }
    });
  }

  void record() {
    with_delegate([&](Delegate& found) {
      const std::uint8_t what = choices_.byte();
      if (what % 3 == 1) {
        const tenon_intermediate_list list{
            sizeof list, 0,
            [](const tenon_intermediate_list*, const tenon_intermediate* one) -> tenon_status {
              read_bytes(one->name, one->name_size);
              return TENON_STATUS_OK;
            }};
        return static_cast<void>(backend_->list_intermediates(found.it(), &list));
      }
      std::unique_ptr<tenon_intermediate_sink> sink;
      if (what % 3 == 0) {
        sink = std::make_unique<tenon_intermediate_sink>(
            tenon_intermediate_sink{sizeof(tenon_intermediate_sink), 0,
                                    [](const tenon_intermediate_sink* self, std::int64_t handle,
                                       const tenon_tensor* tensor) -> tenon_status {
                                      read_bytes(self, sizeof *self);
                                      if (handle != 5)
                                        broken("an intermediate that was not asked for");
                                      std::uint64_t nbytes = tensor->dl.dtype.bits / 8u;
                                      for (std::int32_t i = 0; i < tensor->dl.ndim; ++i) {
                                        nbytes *= static_cast<std::uint64_t>(tensor->dl.shape[i]);
                                      }
                                      if (nbytes != tensor->nbytes)
                                        broken("an intermediate has other bytes");
                                      read_bytes(tensor->dl.data, tensor->nbytes);
                                      return TENON_STATUS_OK;
                                    }});
      }
      const std::int64_t handle = 5;
      const tenon_status status =
          backend_->record(found.it(), sink ? &handle : nullptr, sink ? 1 : 0, sink.get());
      // With no handle nothing is given any more, whatever the answer.
      if (!sink || status == TENON_STATUS_OK) found.sink = std::move(sink);
    });
  }

  void about_delegate() {
    const std::uint8_t what = choices_.byte();
    with_delegate([&](Delegate& found) {
      const auto use = [](void*, const tenon_memory_use* one) { read_text(one->kind); };
      const tenon_scheduling hints{sizeof hints, 1, 1, 1};
      const int event = system_->open(std::make_shared<Object>());
      constexpr const char* kinds[] = {TENON_KIND_SYNC_FILE, TENON_KIND_EVENTFD,
                                       TENON_KIND_VULKAN_SEMAPHORE_FD};
      const tenon_external_fence fence{sizeof fence, 0, kinds[what % 3u], nullptr, event, 0};
      guard([&]() -> tenon_status {
        switch (what % 5) {
          case 0:
            return backend_->memory_info(&found.it(), use, nullptr);
          case 1:
            return backend_->set_scheduling(found.it(), &hints);
          case 2:
            backend_->cancel(found.it());
            return TENON_STATUS_OK;
          case 3:
            return backend_->pass_fence(found.it(), Call::wait_fence, &fence);
          default:
            return backend_->pass_fence(found.it(), Call::signal_fence, &fence);
        }
      });
      static_cast<void>(host::FileDescriptor(event));
    });
  }

  void about_backend() {
    const std::uint8_t what = choices_.byte();
    const auto use = [](void*, const tenon_memory_use* one) { read_text(one->kind); };
    const auto device = [](void*, const tenon_device_info* one) {
      read_text(one->name);
      read_text(one->description);
    };
    const auto op = [](void*, const char* name) { read_text(name); };
    std::uint64_t nbytes = 0;
    std::uint32_t verdict = 0;
    guard([&]() -> tenon_status {
      switch (what % 7) {
        case 0:
          return backend_->list_devices(device, nullptr);
        case 1:
          return backend_->list_operators(op, nullptr);
        case 2:
          return backend_->memory_info(nullptr, use, nullptr);
        case 3:
          return backend_->free_memory({TENON_DL_CPU, 0}, &nbytes);
        case 4:
          return backend_->is_available();
        default: {
          const auto program =
              std::make_shared<Program>(*host_, choices_, [this] { in_between(); });
          const auto before = std::exchange(host_->init, &program->context);
          const tenon_status status = what % 7 == 5
                                          ? backend_->check_blob(&program->context, &verdict)
                                          : backend_->estimate(&program->context, use, nullptr);
          host_->init = before;
          return status;
        }
      }
    });
  }

  void option() {
    static constexpr const char* keys[] = {"a", "isolated.deadline_ms", "isolated.restart"};
    const char* const key = keys[choices_.below(std::size(keys))];
    const std::uint8_t what = choices_.byte();
    guard([&] {
      if (what % 2 == 0) {
        return backend_->get_option(
            key, [](void*, const tenon_option* one) { read_option(*one); }, nullptr);
      }
      tenon_option one{sizeof one, TENON_OPTION_INT, key, {}};
      one.as.integer = what / 2 % 4;
      return backend_->set_option(&one);
    });
  }

  std::vector<void*> addresses() const {
    std::vector<void*> out = blocks_;
    out.insert(out.end(), imported_.begin(), imported_.end());
    return out;
  }

  void memory() {
    const std::uint8_t what = choices_.byte();
    guard([&] {
      if (what % 2 == 0 && blocks_.size() + imported_.size() < 4) {
        void* made = nullptr;
        if (what % 4 == 0) {
          const std::uint64_t size = choices_.number_or(256);
          if (backend_->allocate({4, 0}, size, 64, &made) == TENON_STATUS_OK) {
            if (size < 256) {
              backend_->free_block(made);
            } else {
              blocks_.push_back(made);
            }
          }
          return;
        }
        const ObjectPointer file = System::make_file("of the application", 4096);
        file->seals = what % 8 == 2 ? 0x6 : 0;
        const host::FileDescriptor descriptor(system_->open(file));
        tenon_external_memory memory{};
        memory.struct_size = sizeof memory;
        constexpr const char* kinds[] = {TENON_KIND_MEMFD, TENON_KIND_DMA_BUF,
                                         TENON_KIND_OPAQUE_FD};
        memory.kind = kinds[choices_.below(3) % 3u];
        memory.descriptor = descriptor.get();
        memory.nbytes = 256;
        memory.access = TENON_EXTERNAL_READ | TENON_EXTERNAL_WRITE;
        memory.device = {choices_.often() ? TENON_DL_CPU : 4, 0};
        tenon_imported_memory* imported = nullptr;
        if (backend_->import_memory(&memory, &imported, &made) == TENON_STATUS_OK) {
          imported_.push_back(imported);
        }
        return;
      }
      // Tensors may have it no more.
      if (std::any_of(delegates_.begin(), delegates_.end(),
                      [](const auto& each) { return each != nullptr; }) ||
          !kernels_.empty()) {
        return;
      }
      end_memory();
    });
  }
  void end_memory() {
    for (void* each : std::exchange(blocks_, {})) backend_->free_block(each);
    for (void* each : std::exchange(imported_, {})) {
      backend_->release_memory(static_cast<tenon_imported_memory*>(each));
    }
  }

  void copy() {
    if (blocks_.empty()) return memory();
    void* const block = blocks_[choices_.below(blocks_.size())];
    const std::size_t size = choices_.byte();
    const auto bytes = std::make_unique<std::byte[]>(size);
    guard([&] {
      switch (choices_.below(3)) {
        case 0:
          return backend_->copy_to_host(bytes.get(), block, size);
        case 1:
          return backend_->copy_to_device(block, bytes.get(), size);
        default:
          return backend_->copy_on(nullptr, block, blocks_.front(), size);
      }
    });
  }

  void create_kernel() {
    if (kernels_.size() >= 3) return;
    auto made = std::make_unique<Kernel>();
    made->arguments = std::make_unique<CallArguments>(choices_, addresses());
    peer_.set_arguments(made->arguments->expected());
    guard([&] {
      return backend_->create_kernel("aten::add.out", made->arguments->data(),
                                     made->arguments->size(), &made->handle);
    });
    if (made->handle) kernels_.push_back(std::move(made));
  }
  void run_kernel() {
    if (kernels_.empty()) return create_kernel();
    Kernel& kernel = *kernels_[choices_.below(kernels_.size())];
    if (choices_.rarely()) kernel.arguments->change(choices_);
    const tenon_execution_context context{sizeof context, 0,       host_.get(),
                                          nullptr,        nullptr, nullptr};
    peer_.set_arguments(kernel.arguments->expected());
    guard([&] {
      return backend_->run_kernel(*reinterpret_cast<IsolatedKernel*>(kernel.handle), &context);
    });
    kernel.arguments->check(true);
  }
  void destroy_kernel() {
    if (kernels_.empty()) return;
    const auto last = std::move(kernels_.back());
    kernels_.pop_back();
    guard([&] {
      backend_->destroy_kernel(reinterpret_cast<IsolatedKernel*>(last->handle));
      return 0;
    });
  }

  void destroy() {
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < delegates_.size(); ++i) {
      if (delegates_[i] && !delegates_[i]->is_called) free.push_back(i);
    }
    if (!free.empty()) end(free[choices_.below(free.size())]);
  }
  void end(std::size_t index) {
    const std::unique_ptr<Delegate> owner = std::move(delegates_[index]);
    guard([&] {
      backend_->destroy(owner->handle);
      return 0;
    });
  }
  void end() {
    while (!kernels_.empty()) destroy_kernel();
    for (std::size_t i = 0; i < delegates_.size(); ++i) {
      if (delegates_[i]) end(i);
    }
    guard([&] {
      end_memory();
      return 0;
    });
    guard([&] {
      std::exchange(backend_, nullptr)->close();
      return 0;
    });
  }

  Script script_;
  Choices choices_;
  WorkerPeer peer_;
  System* system_ = nullptr;
  std::unique_ptr<IsolatedObject> object_;
  std::unique_ptr<FuzzHost> host_;
  std::unique_ptr<Description> description_;
  IsolatedBackend* backend_ = nullptr;
  std::vector<std::unique_ptr<Delegate>> delegates_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<void*> blocks_;
  std::vector<void*> imported_;
};

}  // namespace

void worker_messages(std::span<std::byte> bytes) {
  static_cast<void>(WrappedPlugin::get());
  // A worker gets the variables; a run need not copy this process's.
  static char* few[] = {nullptr};
  char** const before = std::exchange(environ, few);
  Application(bytes).run();
  environ = before;
}

}  // namespace tenon::fuzz
