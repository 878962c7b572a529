// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hostile_host.hpp"
#include "isolated.hpp"
#include "plain_plugin.hpp"
#include "support/catch.hpp"
#include "support/rounds.hpp"
#include "workers/hostile.hpp"

using namespace tenon;
using namespace tenon::test;

/// A worker that breaks the protocol, at each message: the application sees failures, and is never
/// corrupted. To be run with the address sanitizer.
namespace isolated_hostile_test { namespace {

/// One application, which calls each function of an isolated plugin that has all extensions.
class Tour {
 public:
  Tour(const char* file, std::string path)
      : plugin_(file), host_(std::move(path)), api_(&plugin_.api()) {}

  void run() {
    note("open", api_->open(&host_, &backend_));
    if (!backend_) return;
    note("is_available", api_->is_available(backend_));
    with_context();
    with_backend();
    for (int i = 0; i < 3; ++i) with_delegate();
    with_kernels();
    with_memory();
    api_->close(backend_);
    CHECK(is_whole_);
  }

  [[nodiscard]] const std::map<std::string, int>& failures() const noexcept { return failures_; }

 private:
  /// The table of an extension; without functions where the worker says that it has none.
  template <class Table>
  [[nodiscard]] const Table& table(const char* id) {
    static constexpr Table none{};
    const auto* const found = static_cast<const Table*>(api_->get_extension(backend_, id));
    return found ? *found : none;
  }
  /// Calls a function of a table that may be missing.
  template <class... Args>
  void call(const char* name, tenon_status (*function)(tenon_backend*, Args...),
            std::type_identity_t<Args>... args) {
    if (function) note(name, function(backend_, args...));
  }
  /// Counts failures; each has a status that is one, and a text when its worker has died.
  void note(const char* function, tenon_status status) {
    if (status == TENON_STATUS_OK) return;
    ++failures_[function];
    host_.read(host_.error.data(), host_.error.size());
  }

  static tenon_status permit(const tenon_init_context* context, const void* code,
                             std::uint64_t size) {
    static_cast<HostileHost*>(const_cast<tenon_host*>(context->host))->read(code, size);
    return TENON_STATUS_OK;
  }
  static tenon_status get_data(const tenon_named_data_map*, const char* key, std::uint64_t size,
                               tenon_buffer* out) {
    if (std::string_view(key, size) != "weight") return TENON_STATUS_NOT_FOUND;
    out->data = "the weight";
    out->nbytes = 10;
    return TENON_STATUS_OK;
  }
  static tenon_status get_layout(const tenon_named_data_map*, const char* key, std::uint64_t size,
                                 tenon_tensor_layout* out) {
    static constexpr std::int64_t sizes[] = {5, 2};
    static constexpr std::uint8_t order[] = {0, 1};
    if (std::string_view(key, size) != "weight") return TENON_STATUS_NOT_FOUND;
    *out = {out->struct_size, 0, 2, 0, sizes, order};
    return TENON_STATUS_OK;
  }
  static tenon_status get_key(const tenon_named_data_map*, std::uint32_t index, const char** key,
                              std::uint64_t* size) {
    if (index != 0) return TENON_STATUS_INVALID_ARGUMENT;
    *key = "weight";
    *size = 6;
    return TENON_STATUS_OK;
  }

  /// A tracer of this tour.
  struct Tracer : tenon_tracer {
    explicit Tracer(HostileHost& its_host) noexcept
        : tenon_tracer{sizeof(tenon_tracer), 0, &now_of, &event, &counter}, host(&its_host) {}
    HostileHost* host;

    static HostileHost& host_of(const tenon_tracer* self) {
      return *static_cast<const Tracer*>(self)->host;
    }
    static std::uint64_t now_of(const tenon_tracer*) { return 1; }
    static void event(const tenon_tracer* self, const char* name, std::uint64_t name_size,
                      std::int64_t, std::uint64_t, std::uint64_t, const void* metadata,
                      std::uint64_t metadata_size) {
      host_of(self).read(name, name_size);
      host_of(self).read(metadata, metadata_size);
    }
    static void counter(const tenon_tracer* self, const char* name, std::uint64_t name_size,
                        const char* unit, std::uint64_t unit_size, std::uint64_t, double) {
      host_of(self).read(name, name_size);
      host_of(self).read(unit, unit_size);
    }
  };

  /// All that `init` gets.
  struct Init {
    explicit Init(HostileHost& host, const tenon_tracer& tracer) {
      blob.struct_size = sizeof blob;
      blob.data = "the blob";
      blob.nbytes = 8;
      blob.owner = this;
      blob.release = [](tenon_buffer* buffer) { buffer->data = nullptr; };
      map = {sizeof map, 1, &get_data, &get_layout, &get_key};
      context = {sizeof context, 0,       &host,   "forward", &blob, nullptr, nullptr,
                 &map,           &tracer, nullptr, 0,         0,     &permit, nullptr};
    }
    tenon_buffer blob{};
    tenon_named_data_map map{};
    tenon_init_context context{};
  };

  static void read_use(void* host, const tenon_memory_use* use) {
    static_cast<HostileHost*>(host)->read(use->kind, std::strlen(use->kind));
  }

  void with_context() {
    Init init(host_, tracer_);
    std::uint32_t verdict = 0;
    call("check_blob", table<tenon_check_blob_v1>(TENON_EXTENSION_CHECK_BLOB).check_blob,
         &init.context, &verdict);
    call("estimate", table<tenon_estimate_v1>(TENON_EXTENSION_ESTIMATE).estimate, &init.context,
         &read_use, &host_);
  }

  void with_backend() {
    const auto& estimate = table<tenon_estimate_v1>(TENON_EXTENSION_ESTIMATE);
    std::uint64_t nbytes = 0;
    call("free_memory", estimate.free_memory, {TENON_DL_CPU, 0}, &nbytes);
    const auto devices = [](void* host, const tenon_device_info* info) {
      auto& self = *static_cast<HostileHost*>(host);
      if (info->name) self.read(info->name, std::strlen(info->name));
      if (info->description) self.read(info->description, std::strlen(info->description));
    };
    call("list_devices", table<tenon_devices_v1>(TENON_EXTENSION_DEVICES).list_devices, devices,
         &host_);
    call("memory_info", table<tenon_memory_info_v1>(TENON_EXTENSION_MEMORY_INFO).memory_info,
         nullptr, &read_use, &host_);
    const auto& options = table<tenon_options_v1>(TENON_EXTENSION_OPTIONS);
    for (std::uint32_t i = 0; i < options.num_specs; ++i) {
      const tenon_option_spec& spec = options.specs[i];
      for (const tenon_option* each : {spec.initial, spec.minimum, spec.maximum}) {
        if (each) read_option(*each);
      }
      for (std::uint32_t c = 0; c < spec.num_choices; ++c) {
        host_.read(spec.choices[c], std::strlen(spec.choices[c]));
      }
    }
    tenon_option option{};
    option.struct_size = sizeof option;
    option.key = "a";
    option.type = TENON_OPTION_INT;
    call("set_option", options.set_option, &option);
    const auto one = [](void* tour, const tenon_option* given) {
      static_cast<Tour*>(tour)->read_option(*given);
    };
    call("get_option", options.get_option, "a", one, this);
  }
  void read_option(const tenon_option& option) {
    host_.read(option.key, std::strlen(option.key));
    if (option.type == TENON_OPTION_STRING || option.type == TENON_OPTION_BYTES) {
      host_.read(option.as.span.data, option.as.span.size);
    }
  }

  void execute(tenon_delegate* delegate) {
    GuardedTensor a(TENON_SHAPE_STATIC);
    GuardedTensor b(TENON_SHAPE_DYNAMIC_BOUND);
    GuardedTensor out(TENON_SHAPE_DYNAMIC_BOUND);
    tenon_value* args[] = {&a.value, &b.value, &out.value};
    tenon_execution_context context{};
    context.struct_size = sizeof context;
    context.host = &host_;
    context.method_name = "forward";
    context.tracer = &tracer_;
    for (int i = 0; i < 3; ++i) {
      note("execute", api_->execute(backend_, delegate, &context, args, 3));
      for (GuardedTensor* each : {&a, &b, &out}) check(*each);
    }
  }
  void check(GuardedTensor& each) {
    is_whole_ = is_whole_ && each.memory.is_whole() && each.tensor.nbytes <= 24 &&
                each.tensor.dl.data == each.memory.data();
    host_.read(each.tensor.dl.data, each.tensor.nbytes);
  }

  void with_state(tenon_delegate* delegate) {
    struct List : tenon_state_list {
      HostileHost* host = nullptr;
      std::vector<std::uint64_t> sizes;
    } list;
    static_cast<tenon_state_list&>(list) = {
        sizeof(tenon_state_list), 0,
        [](const tenon_state_list* to, const tenon_state_part* part) -> tenon_status {
          auto& self = *const_cast<List*>(static_cast<const List*>(to));
          self.host->read(part->name, part->name_size);
          self.sizes.push_back(part->nbytes);
          return TENON_STATUS_OK;
        }};
    list.host = &host_;
    const auto& sequence = table<tenon_sequence_v1>(TENON_EXTENSION_SEQUENCE);
    call("list", sequence.list, delegate, &list);
    for (std::size_t i = 0; i < list.sizes.size() && i < 4; ++i) {
      if (list.sizes[i] > 4096) continue;
      Guarded part(static_cast<std::size_t>(list.sizes[i]));
      call("read", sequence.read, delegate, i, 0, list.sizes[i], part.data());
      call("write", sequence.write, delegate, i, 0, list.sizes[i], part.data());
      is_whole_ = is_whole_ && part.is_whole();
    }
    call("written", sequence.written, delegate);
  }

  void with_intermediates(tenon_delegate* delegate) {
    struct List : tenon_intermediate_list {
      HostileHost* host = nullptr;
    } list;
    static_cast<tenon_intermediate_list&>(list) = {
        sizeof(tenon_intermediate_list), 0,
        [](const tenon_intermediate_list* to, const tenon_intermediate* one) -> tenon_status {
          static_cast<const List*>(to)->host->read(one->name, one->name_size);
          return TENON_STATUS_OK;
        }};
    list.host = &host_;
    struct Sink : tenon_intermediate_sink {
      HostileHost* host = nullptr;
      mutable std::uint64_t num_taken = 0;
    } sink;
    static_cast<tenon_intermediate_sink&>(sink) = {
        sizeof(tenon_intermediate_sink), 0,
        [](const tenon_intermediate_sink* to, std::int64_t handle,
           const tenon_tensor* tensor) -> tenon_status {
          CHECK(handle == 5);
          // As a host does: as many elements as the sizes say.
          std::uint64_t count = 1;
          for (std::int32_t i = 0; i < tensor->dl.ndim; ++i) {
            count *= static_cast<std::uint64_t>(tensor->dl.shape[i]);
          }
          CHECK(count * (tensor->dl.dtype.bits / 8) == tensor->nbytes);
          const auto& self = *static_cast<const Sink*>(to);
          ++self.num_taken;
          self.host->read(tensor->dl.data, tensor->nbytes);
          return TENON_STATUS_OK;
        }};
    sink.host = &host_;
    const auto& intermediates = table<tenon_intermediates_v1>(TENON_EXTENSION_INTERMEDIATES);
    call("list", intermediates.list, delegate, &list);
    const std::int64_t handle = 5;
    call("record", intermediates.record, delegate, &handle, 1, &sink);
    execute(delegate);
    call("record", intermediates.record, delegate, nullptr, 0, nullptr);
    // Whatever failed, nothing is given to it any more.
    const std::uint64_t taken = sink.num_taken;
    execute(delegate);
    CHECK(sink.num_taken == taken);
  }

  void with_delegate() {
    Init init(host_, tracer_);
    tenon_delegate* delegate = nullptr;
    note("init", api_->init(backend_, &init.context, &delegate));
    if (!delegate) return;
    execute(delegate);
    call("memory_info", table<tenon_memory_info_v1>(TENON_EXTENSION_MEMORY_INFO).memory_info,
         delegate, &read_use, &host_);
    const auto cancel = table<tenon_cancel_v1>(TENON_EXTENSION_CANCEL).cancel;
    if (cancel) cancel(backend_, delegate);
    tenon_scheduling hints{};
    hints.struct_size = sizeof hints;
    call("set_scheduling", table<tenon_scheduling_v1>(TENON_EXTENSION_SCHEDULING).set_scheduling,
         delegate, &hints);
    with_state(delegate);
    with_intermediates(delegate);
    tenon_delegate* session = nullptr;
    const tenon_session_context of_session{sizeof of_session, 0,       nullptr,
                                           nullptr,           nullptr, nullptr};
    call("create_session", table<tenon_sessions_v1>(TENON_EXTENSION_SESSIONS).create_session,
         delegate, &of_session, &session);
    if (session) {
      execute(session);
      api_->destroy(backend_, session);
    }
    const auto& external = table<tenon_external_memory_v1>(TENON_EXTENSION_EXTERNAL_MEMORY);
    const int event = ::eventfd(0, EFD_CLOEXEC);
    tenon_external_fence fence{sizeof fence, 0, TENON_KIND_EVENTFD, nullptr, event, 0};
    call("wait_fence", external.wait_fence, delegate, &fence);
    call("signal_fence", external.signal_fence, delegate, &fence);
    ::close(event);
    api_->destroy(backend_, delegate);
  }

  void with_kernels() {
    const auto& kernels = table<tenon_kernels_v1>(TENON_EXTENSION_KERNELS);
    const auto names = [](void* host, const char* op) {
      static_cast<HostileHost*>(host)->read(op, std::strlen(op));
    };
    call("list_operators", kernels.list_operators, names, &host_);
    GuardedTensor a(TENON_SHAPE_STATIC);
    GuardedTensor b(TENON_SHAPE_DYNAMIC_BOUND);
    GuardedTensor out(TENON_SHAPE_DYNAMIC_BOUND);
    tenon_value* args[] = {&a.value, &b.value, &out.value};
    tenon_kernel* kernel = nullptr;
    const tenon_kernel_context of_kernel{sizeof of_kernel, 3, "aten::add.out", args};
    call("create_kernel", kernels.create_kernel, &of_kernel, &kernel);
    if (!kernel) return;
    tenon_execution_context context{};
    context.struct_size = sizeof context;
    context.host = &host_;
    for (int i = 0; i < 6; ++i) {
      note("run_kernel", kernels.run_kernel(kernel, &context));
      for (GuardedTensor* each : {&a, &b, &out}) {
        // A view of another one.
        bool is_inside = each->tensor.nbytes <= 24;
        is_inside = is_inside && has_bytes({&a, &b, &out}, each->tensor);
        is_whole_ = is_whole_ && is_inside && each->memory.is_whole();
        if (is_inside) host_.read(each->tensor.dl.data, each->tensor.nbytes);
      }
    }
    kernels.destroy_kernel(backend_, kernel);
  }
  static bool has_bytes(std::initializer_list<GuardedTensor*> all, const tenon_tensor& of) {
    for (GuardedTensor* each : all) {
      const auto* const begin = each->memory.data();
      const auto* const data = static_cast<const std::byte*>(of.dl.data);
      // All that it may ever have.
      if (data >= begin && data + of.capacity <= begin + 24) return true;
    }
    return false;
  }

  void with_memory() {
    const auto& devices = table<tenon_device_memory_v1>(TENON_EXTENSION_DEVICE_MEMORY);
    constexpr tenon_dl_device device{4, 0};
    void* block = nullptr;
    call("allocate", devices.allocate, device, 64, 64, &block);
    if (block) {
      Guarded bytes(16);
      call("copy_to_device", devices.copy_to_device, device, block, bytes.data(), 16);
      call("copy_to_host", devices.copy_to_host, device, bytes.data(), block, 16);
      is_whole_ = is_whole_ && bytes.is_whole();
      call("copy_on", devices.copy_on, nullptr, device, block, device,
           static_cast<std::byte*>(block) + 32, 16);
      devices.free(backend_, device, block);
    }
    const auto& external = table<tenon_external_memory_v1>(TENON_EXTENSION_EXTERNAL_MEMORY);
    const int file = ::memfd_create("frame", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    REQUIRE(::ftruncate(file, 4096) == 0);
    REQUIRE(::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    tenon_external_memory memory{};
    memory.struct_size = sizeof memory;
    memory.kind = TENON_KIND_MEMFD;
    memory.descriptor = file;
    memory.nbytes = 64;
    memory.access = TENON_EXTERNAL_READ | TENON_EXTERNAL_WRITE;
    memory.device = {TENON_DL_CPU, 0};
    tenon_imported_memory* imported = nullptr;
    void* address = nullptr;
    call("import_memory", external.import_memory, &memory, &imported, &address);
    if (imported) {
      host_.read(address, 64);
      external.release_memory(backend_, imported);
    }
    ::close(file);
  }

  PlainPlugin plugin_;
  HostileHost host_;
  Tracer tracer_{host_};
  const tenon_backend_api* api_;
  tenon_backend* backend_ = nullptr;
  bool is_whole_ = true;
  std::map<std::string, int> failures_;
};

TEST_CASE(
    "a worker that breaks the protocol is a failure, and nothing of the application changes") {
  const auto tours =
      std::max(1, static_cast<int>(rounds(number_from_environment("TENON_TEST_TOURS", 4))));
  static_cast<void>(marked_process());
  const TemporaryDirectory directory;
  const std::string path = directory.file("hostile-isolated.so");
  const auto made = isolate::make_isolated({.template_file = TENON_TEST_ISOLATED_TEMPLATE,
                                            .worker = TENON_TEST_HOSTILE_WORKER,
                                            .plugin = TENON_TEST_HELLO,
                                            .out = path,
                                            .settings = {.deadline_ms = 100, .restart = 3}});
  REQUIRE(std::string(made.text()) == "");
  const auto before = open_descriptors();
  std::map<std::string, int> failures;
  // One of them, to find out why it failed.
  const auto only = number_from_environment("TENON_TEST_ATTACK", num_attacks);
  for (std::uint32_t attack = 0; attack < num_attacks; ++attack) {
    if (only != num_attacks && attack != only) continue;
    for (int i = 0; i < tours; ++i) {
      const std::string how = std::to_string(attack) + " " + std::to_string(i + 1);
      INFO("TENON_TEST_HOSTILE=" << how);
      ::setenv("TENON_TEST_HOSTILE", how.c_str(), 1);
      Tour tour(path.c_str(), path);
      tour.run();
      for (const auto& [function, count] : tour.failures()) failures[function] += count;
    }
  }
  ::unsetenv("TENON_TEST_HOSTILE");
  CHECK(failures.size() > 5);
  if (only != num_attacks || tours < 12) return;
  // Each function has met one.
  for (const char* each :
       {"open",           "is_available",   "check_blob",    "estimate",       "free_memory",
        "list_devices",   "memory_info",    "set_option",    "get_option",     "init",
        "execute",        "list",           "read",          "write",          "record",
        "create_session", "list_operators", "create_kernel", "run_kernel",     "allocate",
        "copy_to_device", "copy_to_host",   "import_memory", "set_scheduling", "wait_fence"}) {
    INFO(each);
    CHECK(failures[each] > 0);
  }
  CHECK(open_descriptors() == before);
}

}}  // namespace isolated_hostile_test
