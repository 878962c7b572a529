// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "boundary/protocol.hpp"
#include "guest_host.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/files/sha256.hpp"
#include "tenon/host/impl/plugin/library.hpp"
#include "tenon/host/platform/trusted_path.hpp"
#include "tenon/host/plugin/backend_api.hpp"

namespace tenon::isolated {

/// The answer of a call: a status with a text, events, and what follows.
struct Reply {
  Writer body;
  GuestTracer* tracer = nullptr;                 ///< Of the call, when events are recorded.
  std::shared_ptr<GuestDelegate> kept_delegate;  ///< Which has it.
};

/// The plugin that this process is for: loaded once, with one backend, which is opened once.
class GuestPlugin {
 public:
  explicit GuestPlugin(Lanes& lanes) noexcept : lanes_(&lanes) {}

  /// Does one call, whose members after the kind are in `from`.
  [[nodiscard]] tenon_status call(Call kind, WorkerLane& lane, WorkerLane::Message& message,
                                  Reply& reply) {
    Reader from = message.reader();
    switch (kind) {
      case Call::load:
        return load(from, reply);
      case Call::close:
        api_.close(backend_);
        backend_ = nullptr;
        library_.reset();
        return TENON_STATUS_OK;
      case Call::is_available:
        return api_.is_available(backend_);
      case Call::init:
        return init(from, lane, message, reply);
      case Call::execute:
        return execute(from, lane, message, reply);
      case Call::destroy:
        return destroy(from);
      case Call::create_session:
        return create_session(from);
      case Call::check_blob:
        return check_blob(from, lane, message, reply);
      case Call::memory_info:
        return memory_info(from, reply);
      case Call::list_devices:
        return list_devices(reply);
      case Call::set_option:
        return set_option(from);
      case Call::get_option:
        return get_option(from, reply);
      case Call::estimate:
        return estimate(from, lane, message, reply);
      case Call::free_memory:
        return free_memory(from, reply);
      case Call::cancel:
        if (const auto delegate = find(from)) cancel_.cancel(backend_, delegate->handle);
        return TENON_STATUS_OK;
      case Call::set_scheduling:
        return set_scheduling(from);
      case Call::list_state:
        return list_state(from, reply);
      case Call::read_state:
        return read_state(from, reply);
      case Call::write_state:
        return write_state(from);
      case Call::state_written:
        if (const auto delegate = find(from)) return sequence_.written(backend_, delegate->handle);
        return unknown_delegate();
    }
    return fail(Error::Internal, "an unknown call");
  }

 private:
  /// The context of an `init`, which knows the lane that it asks in.
  struct InitContext : tenon_init_context {
    WorkerLane* lane = nullptr;
    std::uint64_t delegate = 0;
  };
  /// All that an `init` context points to.
  struct Init {
    InitContext context{};
    std::shared_ptr<GuestDelegate> delegate = std::make_shared<GuestDelegate>();
    std::vector<tenon_compile_spec> compile_specs;
    std::vector<tenon_option> runtime_specs;
    std::vector<std::unique_ptr<std::string>> texts;
    tenon_scheduling scheduling{};

    const std::string& keep(std::string_view text) {
      return *texts.emplace_back(std::make_unique<std::string>(text));
    }
  };

  tenon_status fail(Error failure, std::string_view text) const {
    if (host_) host_->set_last_error(host_.get(), to_status(failure), text.data(), text.size());
    return to_status(failure);
  }
  tenon_status fail(const Status& status) const { return fail(status.error(), status.text()); }
  tenon_status unknown_delegate() const {
    return fail(Error::DelegateInvalidHandle, "the worker does not have this delegate");
  }

  [[nodiscard]] std::shared_ptr<GuestDelegate> find(Reader& from) {
    const auto number = from.get<std::uint64_t>();
    const std::lock_guard lock(mutex_);
    const auto found = delegates_.find(number);
    return found == delegates_.end() ? nullptr : found->second;
  }

  tenon_status load(Reader& from, Reply& reply) {
    const std::string application(from.get_text());
    const auto abi_minor = from.get<std::uint16_t>();
    const bool has_cancel_flag = from.get<std::uint8_t>() != 0;
    const std::string path(from.get_text());
    const auto sha256 = from.get<Sha256>();
    const bool is_checked = from.get<std::uint8_t>() != 0;
    const auto index = from.get<std::uint32_t>();
    host_ = std::make_unique<GuestHost>(*lanes_, application, path, abi_minor, has_cancel_flag);
    if (!from.is_at_end()) return fail(Error::Internal, "the call to load cannot be read");
    const Status loaded =
        load_file(path, sha256, is_checked ? host::Trust::checked : host::Trust::caller, index);
    if (!loaded.ok()) return fail(loaded);
    if (const tenon_status status = api_.open(host_.get(), &backend_); status != TENON_STATUS_OK) {
      return status;
    }
    describe(reply.body);
    return TENON_STATUS_OK;
  }

  /// The checks of a host, on the file that is open and no other.
  Status load_file(const std::string& path, const Sha256& expected, host::Trust trust,
                   std::uint32_t index) {
    TENON_TRY(host::OpenedFile file, host::open_file(path, trust));
    TENON_TRY(const Sha256 found, host::sha256_of_file(file.descriptor.get()));
    if (found != expected) {
      return error(Error::InvalidState, path, ": has SHA-256 ", found.to_hex(), ", expected ",
                   expected.to_hex(),
                   ": it is another file than when the isolated plugin was made; make it again "
                   "with tenon-isolate");
    }
    TENON_TRY(const host::PluginRecord record, host::peek(file));
    TENON_RETURN_IF_ERROR(host::check_abi(record).with_context(path));
    if (index >= record.backends.size()) {
      return error(Error::InvalidState, path, ": has no backend number ", index);
    }
    TENON_TRY(host::Library library, host::Library::load(std::move(file)));
    const void* symbol = library.symbol(TENON_PLUGIN_SYMBOL);
    if (!symbol) return error(Error::InvalidArgument, path, ": has no " TENON_PLUGIN_SYMBOL);
    const auto* head = static_cast<const tenon_plugin_head*>(symbol);
    const auto* body = reinterpret_cast<const tenon_plugin_body*>(
        static_cast<const std::byte*>(symbol) + head->body_offset);
    if (index >= body->num_backends || !body->backends || !body->backends[index]) {
      return error(Error::InvalidArgument, path, ": has no table number ", index);
    }
    TENON_TRY(api_, host::complete_api(*body->backends[index], record.backends[index].id));
    library_ = std::move(library);
    return ok();
  }

  template <class Table>
  bool has(const char* id, Table& out) {
    const void* theirs = api_.get_extension(backend_, id);
    if (!theirs) return false;
    out = host::complete_table<Table>(theirs);
    return true;
  }

  /// Writes all that the application's side must know to answer `get_extension` alone.
  void describe(Writer& to) {
    std::uint32_t extensions = 0;
    const auto add = [&](bool is_there, std::uint32_t bit) {
      if (is_there) extensions |= bit;
    };
    add(has(TENON_EXTENSION_CANCEL, cancel_) && cancel_.cancel, has_cancel);
    add(has(TENON_EXTENSION_CHECK_BLOB, check_blob_) && check_blob_.check_blob, has_check_blob);
    add(has(TENON_EXTENSION_DEVICES, devices_) && devices_.list_devices, has_devices);
    add(has(TENON_EXTENSION_ESTIMATE, estimate_) && estimate_.estimate, has_estimate);
    add(estimate_.free_memory != nullptr, has_free_memory);
    add(has(TENON_EXTENSION_MEMORY_INFO, memory_info_) && memory_info_.memory_info,
        has_memory_info);
    add(has(TENON_EXTENSION_OPTIONS, options_), has_options);
    add(has(TENON_EXTENSION_SCHEDULING, scheduling_), has_scheduling);
    add(scheduling_.set_scheduling != nullptr, has_set_scheduling);
    add(has(TENON_EXTENSION_SEQUENCE, sequence_) && sequence_.list, has_sequence);
    add(sequence_.written != nullptr, has_sequence_written);
    add(has(TENON_EXTENSION_SESSIONS, sessions_) && sessions_.create_session, has_sessions);
    to.put(extensions);
    to.put_name(scheduling_.priority);
    to.put_name(scheduling_.goal);
    to.put_name(scheduling_.power);
    const tenon::detail::StridedArray<tenon_option_spec> specs(options_.specs, options_.num_specs);
    to.put<std::uint64_t>(specs.size());
    for (std::uint32_t i = 0; i < specs.size(); ++i) {
      to.put(specs[i].flags);
      to.put_name(specs[i].description);
      put_option(to, specs[i].initial);
    }
  }

  static void put_option(Writer& to, const tenon_option& option) {
    to.put_text(option.key);
    to.put(option.type);
    if (option.type == TENON_OPTION_STRING || option.type == TENON_OPTION_BYTES) {
      to.put_bytes(option.as.span.data, option.as.span.size);
    } else if (option.type == TENON_OPTION_BOOL) {
      to.put<std::int64_t>(option.as.boolean);
    } else {
      to.put(option.as.integer);
    }
  }
  static tenon_option get_option_of(Reader& from, Init& keeper) {
    tenon_option out{};
    out.struct_size = sizeof out;
    out.key = keeper.keep(from.get_text()).c_str();
    out.type = from.get<std::uint32_t>();
    if (out.type == TENON_OPTION_STRING || out.type == TENON_OPTION_BYTES) {
      const std::string& bytes = keeper.keep(from.get_text());
      out.as.span = {bytes.data(), bytes.size()};
    } else if (out.type == TENON_OPTION_BOOL) {
      out.as.boolean = static_cast<std::uint8_t>(from.get<std::int64_t>());
    } else {
      out.as.integer = from.get<std::int64_t>();
    }
    return out;
  }

  static tenon_status permit_code(const tenon_init_context* context, const void* code,
                                  std::uint64_t size) noexcept {
    try {
      const auto& call = *static_cast<const InitContext*>(context);
      auto copy = sealed_copy(
          "tenon-code", {static_cast<const std::byte*>(code), static_cast<std::size_t>(size)});
      if (!copy.ok()) return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
      Writer what;
      what.put(call.delegate);
      what.put(size);
      const int descriptor = copy->get();
      WorkerLane::Message answer;
      if (!call.lane->ask(Answer::permit_code, what, {&descriptor, 1}, answer)) {
        return TENON_STATUS_INVALID_STATE;
      }
      return answer.reader().get<tenon_status>();
    } catch (const std::exception&) {
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
  }

  /// Reads the context of `init`, `check_blob` or `estimate`.
  Status read_init(Reader& from, WorkerLane& lane, WorkerLane::Message& message, Reply& reply,
                   Init& out) {
    GuestDelegate& delegate = *out.delegate;
    delegate.number = from.get<std::uint64_t>();
    out.context.delegate = delegate.number;
    out.context.lane = &lane;
    const bool has_method = from.get_name(delegate.method);
    const auto blob_size = from.get<std::uint64_t>();
    const std::size_t num_compile_specs = from.get_count(sizeof(std::uint64_t));
    for (std::size_t i = 0; i < num_compile_specs; ++i) {
      const std::string& key = out.keep(from.get_text());
      const bool has_value = from.get<std::uint8_t>() != 0;
      const std::string& value = out.keep(from.get_text());
      out.compile_specs.push_back({sizeof(tenon_compile_spec), 0, key.c_str(),
                                   has_value ? value.data() : nullptr, value.size()});
    }
    const std::size_t num_runtime_specs = from.get_count(sizeof(std::uint64_t));
    for (std::size_t i = 0; i < num_runtime_specs; ++i) {
      out.runtime_specs.push_back(get_option_of(from, out));
    }
    const bool has_data = from.get<std::uint8_t>() != 0;
    const auto num_keys = from.get<std::uint32_t>();
    const bool has_tracer = from.get<std::uint8_t>() != 0;
    const bool has_counters = from.get<std::uint8_t>() != 0;
    const auto ahead = from.get<std::uint64_t>();
    const bool has_permit = from.get<std::uint8_t>() != 0;
    const bool has_hints = from.get<std::uint8_t>() != 0;
    out.scheduling = from.get<tenon_scheduling>();
    out.scheduling.struct_size = sizeof(tenon_scheduling);
    if (!from.is_at_end()) return error(Error::Internal, "the call to init cannot be read");
    if (blob_size != 0) {
      if (message.descriptors.empty()) return error(Error::Internal, "a blob was not sent");
      TENON_TRY(Mapping blob, Mapping::of(message.descriptors.front().get(),
                                          static_cast<std::size_t>(blob_size), false));
      delegate.processed.set(std::move(blob));
    }
    if (has_data)
      delegate.data = std::make_unique<GuestDataMap>(*lanes_, delegate.number, num_keys);
    if (has_tracer) {
      delegate.tracer.begin(ahead, has_counters);
      reply.tracer = &delegate.tracer;
    }
    static_cast<tenon_init_context&>(out.context) = {
        sizeof(tenon_init_context),
        static_cast<std::uint32_t>(out.compile_specs.size()),
        host_.get(),
        has_method ? delegate.method.c_str() : nullptr,
        &delegate.processed,
        out.compile_specs.empty() ? nullptr : out.compile_specs.data(),
        &delegate.runtime_memory,
        delegate.data.get(),
        has_tracer ? &delegate.tracer : nullptr,
        out.runtime_specs.empty() ? nullptr : out.runtime_specs.data(),
        static_cast<std::uint32_t>(out.runtime_specs.size()),
        0,
        has_permit ? &permit_code : nullptr,
        has_hints ? &out.scheduling : nullptr};
    return ok();
  }

  tenon_status init(Reader& from, WorkerLane& lane, WorkerLane::Message& message, Reply& reply) {
    Init call;
    const Status read = read_init(from, lane, message, reply, call);
    if (!read.ok()) return fail(read);
    GuestDelegate& delegate = *call.delegate;
    const tenon_status status = api_.init(backend_, &call.context, &delegate.handle);
    // The tracer of the answer is the delegate's.
    reply.kept_delegate = call.delegate;
    if (status == TENON_STATUS_OK) add(call.delegate);
    return status;
  }
  void add(const std::shared_ptr<GuestDelegate>& delegate) {
    delegate->context.struct_size = sizeof(tenon_execution_context);
    delegate->context.host = host_.get();
    delegate->context.method_name = delegate->method.c_str();
    delegate->context.temp_allocator = &delegate->temporary_memory;
    const std::lock_guard lock(mutex_);
    delegates_[delegate->number] = delegate;
  }

  tenon_status execute(Reader& from, WorkerLane& lane, WorkerLane::Message& message, Reply& reply) {
    const std::shared_ptr<GuestDelegate> found = find(from);
    if (!found) return unknown_delegate();
    GuestDelegate& delegate = *found;
    const auto new_arena = from.get<std::uint64_t>();
    if (new_arena != 0) {
      if (message.descriptors.empty()) return fail(Error::Internal, "an arena was not sent");
      auto mapping =
          Mapping::of(message.descriptors.front().get(), static_cast<std::size_t>(new_arena), true);
      if (!mapping.ok()) return fail(std::move(mapping).status());
      lane.arena() = *std::move(mapping);
    }
    const bool has_tracer = from.get<std::uint8_t>() != 0;
    const bool has_counters = from.get<std::uint8_t>() != 0;
    const auto ahead = from.get<std::uint64_t>();
    const bool has_flag = from.get<std::uint8_t>() != 0;
    const Status read = delegate.arguments.read(from, {lane.arena().data(), lane.arena().size()});
    if (!read.ok()) return fail(read);
    if (has_tracer) {
      delegate.tracer.begin(ahead, has_counters);
      reply.tracer = &delegate.tracer;
      reply.kept_delegate = found;
    }
    delegate.context.tracer = has_tracer ? &delegate.tracer : nullptr;
    delegate.context.flag =
        has_flag ? reinterpret_cast<const std::uint32_t*>(&lane.header().cancel_flag) : nullptr;
    const tenon_status status = api_.execute(backend_, delegate.handle, &delegate.context,
                                             delegate.arguments.data(), delegate.arguments.size());
    delegate.temporary_memory.reset();
    if (status == TENON_STATUS_OK) delegate.arguments.write_changes(reply.body);
    return status;
  }

  tenon_status destroy(Reader& from) {
    const std::shared_ptr<GuestDelegate> delegate = find(from);
    if (!delegate) return unknown_delegate();
    api_.destroy(backend_, delegate->handle);
    const std::lock_guard lock(mutex_);
    delegates_.erase(delegate->number);
    return TENON_STATUS_OK;
  }

  tenon_status create_session(Reader& from) {
    const std::shared_ptr<GuestDelegate> parent = find(from);
    if (!parent) return unknown_delegate();
    auto session = std::make_shared<GuestDelegate>();
    session->number = from.get<std::uint64_t>();
    session->method = parent->method;
    session->parent = parent;
    const tenon_status status =
        sessions_.create_session(backend_, parent->handle, &session->handle);
    if (status == TENON_STATUS_OK) add(session);
    return status;
  }

  tenon_status check_blob(Reader& from, WorkerLane& lane, WorkerLane::Message& message,
                          Reply& reply) {
    Init call;
    const Status read = read_init(from, lane, message, reply, call);
    if (!read.ok()) return fail(read);
    std::uint32_t verdict = 0;
    const tenon_status status = check_blob_.check_blob(backend_, &call.context, &verdict);
    reply.kept_delegate = call.delegate;
    reply.body.put(verdict);
    return status;
  }

  tenon_status memory_info(Reader& from, Reply& reply) {
    Reader number = from;
    const bool is_whole = number.get<std::uint64_t>() == whole_backend;
    const std::shared_ptr<GuestDelegate> delegate = find(from);
    if (!is_whole && !delegate) return unknown_delegate();
    tenon_memory_info info{};
    info.struct_size = sizeof info;
    const tenon_status status =
        memory_info_.memory_info(backend_, is_whole ? nullptr : delegate->handle, &info);
    reply.body.put(info);
    return status;
  }

  tenon_status list_devices(Reply& reply) {
    const auto sink = [](void* to, const tenon_device_info* device) {
      auto& out = *static_cast<Writer*>(to);
      out.put<std::uint8_t>(1);
      out.put(device->device);
      out.put_name(device->name);
      out.put_name(device->description);
      out.put(device->memory_bytes);
    };
    const tenon_status status = devices_.list_devices(backend_, sink, &reply.body);
    reply.body.put<std::uint8_t>(0);
    return status;
  }

  tenon_status set_option(Reader& from) {
    Init keeper;
    const tenon_option option = get_option_of(from, keeper);
    if (!from.is_at_end() || !options_.set_option) return fail(Error::Internal, "no option");
    return options_.set_option(backend_, &option);
  }
  tenon_status get_option(Reader& from, Reply& reply) {
    const std::string key(from.get_text());
    const auto sink = [](void* to, const tenon_option* option) {
      put_option(*static_cast<Writer*>(to), *option);
    };
    return options_.get_option(backend_, key.c_str(), sink, &reply.body);
  }

  tenon_status estimate(Reader& from, WorkerLane& lane, WorkerLane::Message& message,
                        Reply& reply) {
    Init call;
    const Status read = read_init(from, lane, message, reply, call);
    if (!read.ok()) return fail(read);
    const auto sink = [](void* to, const tenon_memory_need* need) {
      auto& out = *static_cast<Writer*>(to);
      out.put<std::uint8_t>(1);
      out.put(need->kind);
      out.put(need->device);
      out.put(need->nbytes);
    };
    const tenon_status status = estimate_.estimate(backend_, &call.context, sink, &reply.body);
    reply.kept_delegate = call.delegate;
    reply.body.put<std::uint8_t>(0);
    return status;
  }
  tenon_status free_memory(Reader& from, Reply& reply) {
    const auto device = from.get<tenon_dl_device>();
    std::uint64_t nbytes = 0;
    const tenon_status status = estimate_.free_memory(backend_, device, &nbytes);
    reply.body.put(nbytes);
    return status;
  }

  tenon_status set_scheduling(Reader& from) {
    const std::shared_ptr<GuestDelegate> delegate = find(from);
    if (!delegate) return unknown_delegate();
    auto hints = from.get<tenon_scheduling>();
    hints.struct_size = sizeof hints;
    return scheduling_.set_scheduling(backend_, delegate->handle, &hints);
  }

  /// The parts of a state as the plugin lists them.
  struct Parts : tenon_state_list {
    struct Part {
      std::string name;
      std::byte* data = nullptr;
      std::uint64_t size = 0;
    };
    std::vector<Part> parts;

    Parts() : tenon_state_list{sizeof(tenon_state_list), 0, &add_one} {}
    static tenon_status add_one(const tenon_state_list* to, const tenon_state_part* part) noexcept {
      try {
        auto& self = *const_cast<Parts*>(static_cast<const Parts*>(to));
        self.parts.push_back({{part->name, static_cast<std::size_t>(part->name_size)},
                              static_cast<std::byte*>(part->data),
                              part->nbytes});
        return TENON_STATUS_OK;
      } catch (const std::exception&) {
        return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
      }
    }
  };

  tenon_status list_state(Reader& from, Reply& reply) {
    const std::shared_ptr<GuestDelegate> delegate = find(from);
    if (!delegate) return unknown_delegate();
    Parts parts;
    const tenon_status status = sequence_.list(backend_, delegate->handle, &parts);
    reply.body.put<std::uint64_t>(parts.parts.size());
    for (const Parts::Part& part : parts.parts) {
      reply.body.put_text(part.name);
      reply.body.put(part.size);
    }
    return status;
  }

  /// The part number `index`, and whether it exists.
  tenon_status find_part(const GuestDelegate& delegate, std::uint64_t index, Parts::Part& out) {
    Parts parts;
    const tenon_status status = sequence_.list(backend_, delegate.handle, &parts);
    if (status != TENON_STATUS_OK) return status;
    if (index >= parts.parts.size()) return fail(Error::InvalidArgument, "no such part of a state");
    out = std::move(parts.parts[static_cast<std::size_t>(index)]);
    if (out.data || out.size == 0 || (sequence_.read && sequence_.write)) return TENON_STATUS_OK;
    return fail(Error::NotSupported, "a part of a state has no address and no `read`");
  }
  tenon_status read_state(Reader& from, Reply& reply) {
    const std::shared_ptr<GuestDelegate> delegate = find(from);
    if (!delegate) return unknown_delegate();
    const auto index = from.get<std::uint64_t>();
    Parts::Part part;
    tenon_status status = find_part(*delegate, index, part);
    if (status != TENON_STATUS_OK) return status;
    std::vector<std::byte> bytes;
    const std::byte* data = part.data;
    if (!data) {
      bytes.resize(static_cast<std::size_t>(part.size));
      if (!bytes.empty()) status = sequence_.read(backend_, delegate->handle, index, bytes.data());
      data = bytes.data();
    }
    reply.body.put_bytes(data, part.size);
    return status;
  }
  tenon_status write_state(Reader& from) {
    const std::shared_ptr<GuestDelegate> delegate = find(from);
    if (!delegate) return unknown_delegate();
    const auto index = from.get<std::uint64_t>();
    const auto bytes = from.get_bytes();
    Parts::Part part;
    const tenon_status status = find_part(*delegate, index, part);
    if (status != TENON_STATUS_OK) return status;
    if (bytes.size() != part.size) return fail(Error::Internal, "a part has another size");
    if (!part.data) {
      if (bytes.empty()) return TENON_STATUS_OK;
      return sequence_.write(backend_, delegate->handle, index, bytes.data());
    }
    std::copy(bytes.begin(), bytes.end(), part.data);
    return TENON_STATUS_OK;
  }

  Lanes* lanes_;
  std::unique_ptr<GuestHost> host_;
  std::optional<host::Library> library_;
  tenon_backend_api api_{};
  tenon_backend* backend_ = nullptr;
  tenon_cancel_v1 cancel_{};
  tenon_check_blob_v1 check_blob_{};
  tenon_devices_v1 devices_{};
  tenon_estimate_v1 estimate_{};
  tenon_memory_info_v1 memory_info_{};
  tenon_options_v1 options_{};
  tenon_scheduling_v1 scheduling_{};
  tenon_sequence_v1 sequence_{};
  tenon_sessions_v1 sessions_{};
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<GuestDelegate>> delegates_;
};

}  // namespace tenon::isolated
