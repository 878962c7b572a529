// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/tenon.h"

namespace tenon::test {

/// A host in terms of the C boundary alone, which keeps all that a plugin says to it.
struct FakeHost : tenon_host {
  struct Line {
    std::int32_t level;
    std::string text;
  };

  mutable std::mutex mutex;
  mutable tenon_status last_status = TENON_STATUS_OK;
  mutable std::string last_text;
  mutable int num_errors = 0;
  mutable std::vector<Line> lines;
  std::map<std::string, const void*> extensions;

  FakeHost() : tenon_host{} {
    struct_size = sizeof(tenon_host);
    abi_major = TENON_ABI_MAJOR;
    abi_minor = TENON_ABI_MINOR;
    name = "fake host 9.8";
    plugin_path = "/somewhere/plugin.so";
    set_last_error = [](const tenon_host* host, tenon_status status, const char* text,
                        std::uint64_t size) {
      const auto& self = static_cast<const FakeHost&>(*host);
      const std::lock_guard lock(self.mutex);
      ++self.num_errors;
      self.last_status = status;
      self.last_text.assign(text, static_cast<std::size_t>(size));
    };
    tenon_host::log = [](const tenon_host* host, std::int32_t level, const char* text,
                         std::uint64_t size) {
      const auto& self = static_cast<const FakeHost&>(*host);
      const std::lock_guard lock(self.mutex);
      self.lines.push_back({level, std::string(text, static_cast<std::size_t>(size))});
    };
    get_extension = [](const tenon_host* host, const char* id) -> const void* {
      const auto& all = static_cast<const FakeHost&>(*host).extensions;
      const auto found = all.find(id);
      return found == all.end() ? nullptr : found->second;
    };
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;
};

/// Memory that is freed on destruction; records the last request.
struct FakeAllocator : tenon_allocator {
  std::uint64_t last_size = 0;
  std::uint64_t last_alignment = 0;
  int calls = 0;
  bool empty = false;
  std::vector<std::unique_ptr<std::max_align_t[]>> blocks;

  FakeAllocator() : tenon_allocator{} {
    struct_size = sizeof(tenon_allocator);
    tenon_allocator::allocate = [](tenon_allocator* base, std::uint64_t nbytes,
                                   std::uint64_t alignment) -> void* {
      auto& self = static_cast<FakeAllocator&>(*base);
      ++self.calls;
      self.last_size = nbytes;
      self.last_alignment = alignment;
      if (self.empty || alignment > alignof(std::max_align_t)) return nullptr;
      const auto size = static_cast<std::size_t>(nbytes) / sizeof(std::max_align_t) + 1;
      return self.blocks.emplace_back(new std::max_align_t[size]).get();
    };
  }
};

/// Bytes that count how often they were given back.
struct FakeBuffer : tenon_buffer {
  int releases = 0;

  explicit FakeBuffer(std::string_view bytes) : tenon_buffer{} {
    struct_size = sizeof(tenon_buffer);
    data = bytes.data();
    nbytes = bytes.size();
    owner = this;
    release = [](tenon_buffer* buffer) {
      ++static_cast<FakeBuffer*>(buffer->owner)->releases;
      buffer->data = nullptr;
      buffer->nbytes = 0;
    };
  }
};

/// A tracer whose clock advances by one at each reading.
struct FakeTracer : tenon_tracer {
  struct Event {
    std::string name;
    std::int64_t debug_handle;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::string metadata;
  };
  mutable std::uint64_t time = 100;
  mutable std::vector<Event> events;

  FakeTracer() : tenon_tracer{} {
    struct_size = sizeof(tenon_tracer);
    tenon_tracer::now = [](const tenon_tracer* tracer) {
      return static_cast<const FakeTracer&>(*tracer).time++;
    };
    tenon_tracer::log_event = [](const tenon_tracer* tracer, const char* name,
                                 std::uint64_t name_size, std::int64_t debug_handle,
                                 std::uint64_t start_ns, std::uint64_t end_ns, const void* metadata,
                                 std::uint64_t metadata_size) {
      static_cast<const FakeTracer&>(*tracer).events.push_back(
          {std::string(name, static_cast<std::size_t>(name_size)), debug_handle, start_ns, end_ns,
           std::string(static_cast<const char*>(metadata),
                       static_cast<std::size_t>(metadata_size))});
    };
  }
};

/// A plugin that is linked in, seen through its object.
class LinkedPlugin {
 public:
  explicit LinkedPlugin(const tenon_plugin_head* head) : head_(head) {}

  [[nodiscard]] const tenon_plugin_head& head() const { return *head_; }
  [[nodiscard]] const tenon_backend_record& record(std::size_t index) const {
    return *at<tenon_backend_record>(head_->records_offset + index * head_->record_size);
  }
  [[nodiscard]] const tenon_plugin_body& body() const {
    return *at<tenon_plugin_body>(head_->body_offset);
  }
  [[nodiscard]] const tenon_backend_api& api(std::size_t index = 0) const {
    return *body().backends[index];
  }

 private:
  template <class T>
  [[nodiscard]] const T* at(std::size_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(head_) + offset);
  }
  const tenon_plugin_head* head_;
};

/// One backend, opened by a `FakeHost` and closed on destruction.
class OpenedBackend {
 public:
  OpenedBackend(const tenon_backend_api& table, const FakeHost& host)
      : api(table), opened_by(host) {
    status = api.open(&host, &backend);
  }
  OpenedBackend(const OpenedBackend&) = delete;
  OpenedBackend& operator=(const OpenedBackend&) = delete;
  ~OpenedBackend() {
    if (status == TENON_STATUS_OK) api.close(backend);
  }

  /// Loads a blob; `options` and `specs` are the ones of this load.
  tenon_status init(FakeBuffer& processed, std::span<const tenon_option> options = {},
                    std::span<const tenon_compile_spec> specs = {}) {
    tenon_init_context context{};
    context.struct_size = sizeof context;
    context.host = &opened_by;
    context.method_name = "forward";
    context.processed = &processed;
    context.compile_specs = specs.data();
    context.num_compile_specs = static_cast<std::uint32_t>(specs.size());
    context.runtime_allocator = &runtime_allocator;
    context.named_data_map = named_data_map;
    context.tracer = tracer;
    context.runtime_specs = options.data();
    context.num_runtime_specs = static_cast<std::uint32_t>(options.size());
    return api.init(backend, &context, &delegate);
  }
  tenon_status init(std::string_view blob) {
    FakeBuffer processed(blob);
    return init(processed);
  }

  tenon_status execute(tenon_value* const* args, std::uint32_t num_args) {
    const tenon_execution_context context = {sizeof context,  0,     &opened_by, "forward",
                                             &temp_allocator, tracer};
    return api.execute(backend, delegate, &context, args, num_args);
  }

  void destroy() { api.destroy(backend, std::exchange(delegate, nullptr)); }

  /// The table of an extension, or null.
  template <class Table>
  [[nodiscard]] const Table* extension(const char* id) const {
    return static_cast<const Table*>(api.get_extension(backend, id));
  }

  const tenon_backend_api& api;
  const FakeHost& opened_by;
  tenon_backend* backend = nullptr;
  tenon_delegate* delegate = nullptr;
  tenon_status status;
  FakeAllocator runtime_allocator;
  FakeAllocator temp_allocator;
  const tenon_tracer* tracer = nullptr;
  const tenon_named_data_map* named_data_map = nullptr;
};

}  // namespace tenon::test
