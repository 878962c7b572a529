// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "boundary/facts.hpp"
#include "boundary/protocol.hpp"
#include "guest_backend.hpp"
#include "guest_delegate.hpp"
#include "guest_device.hpp"
#include "guest_host.hpp"
#include "guest_intermediates.hpp"
#include "guest_kernels.hpp"
#include "guest_pool.hpp"
#include "guest_state.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/layers/trust/impl/library.hpp"
#include "tenon/host/loader/plugin/backend_api.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::isolated {

/// The plugin that this process is for: loaded once, with one backend, which is opened once.
class GuestPlugin {
 public:
  explicit GuestPlugin(Lanes& lanes) noexcept : plugin_(lanes) { plugin_.memory = &device_; }
  GuestPlugin(const GuestPlugin&) = delete;
  GuestPlugin& operator=(const GuestPlugin&) = delete;

  /// Does one call, whose members after the kind are in `from`.
  [[nodiscard]] tenon_status call(Call kind, WorkerLane& lane, WorkerLane::Message& message,
                                  Reply& reply) {
    Reader from = message.reader();
    const bool opens = kind == Call::add_file || kind == Call::load;
    if (opens ? was_opened_ : !is_open_) {
      return fail(Error::InvalidState, opens ? "a backend was opened" : "no backend is open");
    }
    if ((extension_of(kind) & ~extensions_) != 0) {
      return fail(Error::NotSupported, "the plugin does not have the function of this call");
    }
    switch (kind) {
      case Call::add_file:
        return add_file(from, message);
      case Call::load:
        return load(from, reply);
      case Call::close:
        plugin_.api.close(plugin_.handle);
        plugin_.handle = nullptr;
        is_open_ = false;
        library_.reset();
        return TENON_STATUS_OK;
      case Call::is_available:
        return plugin_.api.is_available(plugin_.handle);
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
        if (const auto delegate = find(from)) cancel_.cancel(plugin_.handle, delegate->handle);
        return TENON_STATUS_OK;
      case Call::set_scheduling:
        return set_scheduling(from);
      case Call::list_state:
        return with_delegate(from, [&](auto& found) { return state_.list(found, reply); });
      case Call::read_state:
        return with_delegate(from, [&](auto& found) { return state_.read(found, from, reply); });
      case Call::write_state:
        return with_delegate(from, [&](auto& found) { return state_.write(found, from); });
      case Call::state_written:
        return with_delegate(from, [&](auto& found) { return state_.written(found); });
      case Call::list_intermediates:
        return with_delegate(from, [&](auto& found) { return intermediates_.list(found, reply); });
      case Call::record_intermediates:
        return with_delegate(from, [&](auto& found) { return intermediates_.record(found, from); });
      case Call::allocate:
        return device_.allocate(from);
      case Call::free_block:
        return device_.free_block(from);
      case Call::copy_to_device:
        return device_.copy_to_device(from);
      case Call::copy_to_host:
        return device_.copy_to_host(from, reply);
      case Call::copy_on:
        return device_.copy_on(from);
      case Call::import_memory:
        return device_.import_memory(from, message);
      case Call::release_memory:
        return device_.release_memory(from);
      case Call::wait_fence:
      case Call::signal_fence:
        return with_delegate(from, [&](auto& found) {
          return device_.pass_fence(found, kind == Call::wait_fence, from, message);
        });
      case Call::list_operators:
        return kernels_.list(reply);
      case Call::create_kernel:
        return kernels_.create(from, message);
      case Call::run_kernel:
        return kernels_.run(from, lane, message, reply);
      case Call::destroy_kernel:
        return kernels_.destroy(from);
    }
    return fail(Error::Internal, "an unknown call");
  }

 protected:
  /// Loads what the application has checked and sealed: these descriptors, and no path.
  virtual Status load_files(const std::string& path, std::uint32_t index) {
    const host::OpenedFile& file = files_.back();
    TENON_TRY(const host::PluginRecord record, host::peek(file));
    TENON_RETURN_IF_ERROR(host::check_abi(record).with_context(path));
    if (index >= record.backends.size()) {
      return error(Error::InvalidState, path, ": has no backend number ", index);
    }
    TENON_TRY(host::Library library, host::Library::load(std::move(files_)));
    const void* symbol = library.symbol(TENON_PLUGIN_SYMBOL);
    if (!symbol) return error(Error::InvalidArgument, path, ": has no " TENON_PLUGIN_SYMBOL);
    const auto* head = static_cast<const tenon_plugin_head*>(symbol);
    const auto* body = reinterpret_cast<const tenon_plugin_body*>(
        static_cast<const std::byte*>(symbol) + head->body_offset);
    if (index >= body->num_backends || !body->backends || !body->backends[index]) {
      return error(Error::InvalidArgument, path, ": has no table number ", index);
    }
    TENON_TRY(plugin_.api, host::complete_api(*body->backends[index], record.backends[index].id));
    library_ = std::move(library);
    plugin_.host->digest = [this] { return library_->digest(); };
    return ok();
  }
  ~GuestPlugin() = default;

  GuestBackend plugin_;

 private:
  /// The extension of the plugin that a call is of; 0 for those that each plugin has.
  [[nodiscard]] static std::uint32_t extension_of(Call kind) noexcept {
    switch (kind) {
      case Call::create_session:
        return extension_bit<tenon_sessions_v1>;
      case Call::check_blob:
        return extension_bit<tenon_check_blob_v1>;
      case Call::memory_info:
        return extension_bit<tenon_memory_info_v1>;
      case Call::list_devices:
        return extension_bit<tenon_devices_v1>;
      case Call::set_option:
      case Call::get_option:
        return extension_bit<tenon_options_v1>;
      case Call::estimate:
        return extension_bit<tenon_estimate_v1>;
      case Call::free_memory:
        return function_bit<&tenon_estimate_v1::free_memory>;
      case Call::cancel:
        return extension_bit<tenon_cancel_v1>;
      case Call::set_scheduling:
        return function_bit<&tenon_scheduling_v1::set_scheduling>;
      case Call::list_state:
      case Call::read_state:
      case Call::write_state:
      case Call::state_written:
        return extension_bit<tenon_sequence_v1>;
      case Call::list_intermediates:
      case Call::record_intermediates:
        return extension_bit<tenon_intermediates_v1>;
      case Call::allocate:
      case Call::free_block:
      case Call::copy_to_device:
      case Call::copy_to_host:
        return extension_bit<tenon_device_memory_v1>;
      case Call::copy_on:
        return function_bit<&tenon_device_memory_v1::copy_on>;
      case Call::list_operators:
      case Call::create_kernel:
      case Call::run_kernel:
      case Call::destroy_kernel:
        return extension_bit<tenon_kernels_v1>;
      default:
        return 0;
    }
  }

  using Init = GuestInit;

  template <class... What>
  [[nodiscard]] tenon_status fail(const What&... what) const {
    return plugin_.fail(what...);
  }
  [[nodiscard]] tenon_status unknown_delegate() const { return plugin_.unknown_delegate(); }

  [[nodiscard]] std::shared_ptr<GuestDelegate> find(Reader& from) {
    const auto number = from.get<std::uint64_t>();
    const std::lock_guard lock(mutex_);
    const auto found = delegates_.find(number);
    if (found == delegates_.end()) return nullptr;
    my_lane->is_for(found->second->owner().number);
    return found->second;
  }

  template <class Do>
  [[nodiscard]] tenon_status with_delegate(Reader& from, const Do& what) {
    const std::shared_ptr<GuestDelegate> found = find(from);
    return found ? what(*found) : unknown_delegate();
  }

  tenon_status add_file(Reader& from, WorkerLane::Message& message) {
    host::OpenedFile file{
        .descriptor = {}, .path = host::path_of(std::string(from.get_text())), .identity = {}};
    struct stat status{};
    if (!from.is_at_end() || message.descriptors.size() != 1 ||
        ::fstat(message.descriptors.front().get(), &status) != 0) {
      return fail(Error::Internal, "the call to add a file cannot be read");
    }
    file.descriptor = std::move(message.descriptors.front());
    file.identity = host::platform::identity_of(status);
    files_.push_back(std::move(file));
    return TENON_STATUS_OK;
  }

  tenon_status load(Reader& from, Reply& reply) {
    const std::string application(from.get_text());
    const auto abi_minor = from.get<std::uint16_t>();
    const auto extensions = from.get<std::uint32_t>();
    const std::string path(from.get_text());
    const auto index = from.get<std::uint32_t>();
    plugin_.host =
        std::make_unique<GuestHost>(*plugin_.lanes, application, path, abi_minor, extensions);
    if (!from.is_at_end() || files_.empty()) {
      return fail(Error::Internal, "the call to load cannot be read");
    }
    const Status loaded = load_files(path, index);
    if (!loaded.ok()) return fail(loaded);
    if (const tenon_status status = plugin_.api.open(plugin_.host.get(), &plugin_.handle);
        status != TENON_STATUS_OK) {
      return status;
    }
    is_open_ = was_opened_ = true;
    describe(reply.body);
    return TENON_STATUS_OK;
  }

  /// Writes all that the application's side must know to answer `get_extension` alone.
  void describe(Writer& to) {
    extensions_ = plugin_.find(cancel_) | plugin_.find(check_blob_) | plugin_.find(devices_) |
                  plugin_.find(estimate_) | plugin_.find(memory_info_) | plugin_.find(options_) |
                  plugin_.find(scheduling_) | plugin_.find(sessions_) | state_.find() |
                  kernels_.find() | intermediates_.find() | device_.find();
    to.put(extensions_);
    to.put_name(scheduling_.priority);
    to.put_name(scheduling_.goal);
    to.put_name(scheduling_.power);
    device_.describe(to);
    const tenon::detail::StridedArray<tenon_option_spec> specs(options_.specs, options_.num_specs);
    std::vector<tenon_option_spec> usable;
    for (std::uint32_t i = 0; i < specs.size(); ++i) {
      const auto spec = host::complete_table<tenon_option_spec>(&specs[i]);
      if (spec.initial) usable.push_back(spec);
    }
    to.put<std::uint64_t>(usable.size());
    for (const tenon_option_spec& spec : usable) put_spec(to, spec);
  }

  static tenon_status permit_code(const tenon_init_context* context, const void* code,
                                  std::uint64_t size) noexcept {
    try {
      const auto& call = *static_cast<const GuestInitContext*>(context);
      auto copy = sealed_copy(
          "tenon-code", {static_cast<const std::byte*>(code), static_cast<std::size_t>(size)});
      if (!copy.ok()) return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
      Writer what;
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
    lane.is_for(delegate.number);
    out.context.delegate = &delegate;
    out.context.lane = &lane;
    out.context.lanes = plugin_.lanes;
    out.context.guest_host = plugin_.host.get();
    const bool has_method = from.get_name(delegate.method);
    const auto blob_size = from.get<std::uint64_t>();
    const std::size_t num_compile_specs = from.get_count(sizeof(std::uint64_t));
    for (std::size_t i = 0; i < num_compile_specs; ++i) {
      const std::string& key = out.texts.emplace_back(from.get_text());
      const bool has_value = from.get<std::uint8_t>() != 0;
      const std::string& value = out.texts.emplace_back(from.get_text());
      out.compile_specs.push_back({sizeof(tenon_compile_spec), 0, key.c_str(),
                                   has_value ? value.data() : nullptr, value.size()});
    }
    out.take_options(from);
    const bool has_data = from.get<std::uint8_t>() != 0;
    const auto num_keys = from.get<std::uint32_t>();
    const bool has_tracer = from.get<std::uint8_t>() != 0;
    const bool has_counters = from.get<std::uint8_t>() != 0;
    const auto ahead = from.get<std::uint64_t>();
    const bool has_permit = from.get<std::uint8_t>() != 0;
    const bool has_hints = from.get<std::uint8_t>() != 0;
    out.scheduling = from.get<tenon_scheduling>();
    out.scheduling.struct_size = sizeof(tenon_scheduling);
    const PoolSetting pool = PoolSetting::read(from);
    if (!from.is_at_end()) return error(Error::Internal, "the call to init cannot be read");
    TENON_RETURN_IF_ERROR(plugin_.pools.find(pool, delegate.pool));
    if (blob_size != 0) {
      if (message.descriptors.empty()) return error(Error::Internal, "a blob was not sent");
      TENON_TRY(Mapping blob,
                Mapping::of_received(message.descriptors.front().get(), blob_size, false));
      delegate.processed.set(std::move(blob));
    }
    if (has_data)
      delegate.data = std::make_unique<GuestDataMap>(*plugin_.lanes, delegate.number, num_keys);
    if (has_tracer) {
      delegate.tracer.begin(ahead, has_counters);
      reply.tracer = &delegate.tracer;
    }
    static_cast<tenon_init_context&>(out.context) = {
        sizeof(tenon_init_context),
        static_cast<std::uint32_t>(out.compile_specs.size()),
        plugin_.host.get(),
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
    const tenon_status status = plugin_.api.init(plugin_.handle, &call.context, &delegate.handle);
    // The tracer of the answer is the delegate's.
    reply.kept = call.delegate;
    return status == TENON_STATUS_OK ? add(call.delegate) : status;
  }
  /// Keeps a delegate that the plugin has made, or destroys it again where its number is taken.
  tenon_status add(const std::shared_ptr<GuestDelegate>& delegate) {
    delegate->set_context(plugin_.host.get(), delegate->method.c_str());
    {
      const std::lock_guard lock(mutex_);
      if (delegates_.emplace(delegate->number, delegate).second) return TENON_STATUS_OK;
    }
    plugin_.api.destroy(plugin_.handle, delegate->handle);
    return fail(Error::InvalidArgument, "the worker has another delegate of this number");
  }

  tenon_status execute(Reader& from, WorkerLane& lane, WorkerLane::Message& message, Reply& reply) {
    const std::shared_ptr<GuestDelegate> found = find(from);
    if (!found) return unknown_delegate();
    GuestDelegate& delegate = *found;
    const Status taken = delegate.take_arena(from.get<std::uint64_t>(), message, lane.arena());
    if (!taken.ok()) return fail(taken);
    const Status begun = delegate.begin(from, lane, plugin_.pools, found, reply);
    if (!begun.ok()) return fail(begun);
    const Status read = delegate.read_arguments(from, lane.arena(), plugin_.memory);
    if (!read.ok()) return fail(read);
    const tenon_status status =
        plugin_.api.execute(plugin_.handle, delegate.handle, &delegate.context,
                            delegate.arguments.data(), delegate.arguments.size());
    const Status changes = delegate.end(status, reply.body);
    return changes.ok() ? status : fail(changes);
  }

  tenon_status destroy(Reader& from) {
    const std::shared_ptr<GuestDelegate> delegate = find(from);
    if (!delegate) return unknown_delegate();
    {
      const std::lock_guard lock(mutex_);
      if (delegates_.erase(delegate->number) == 0) return unknown_delegate();
    }
    plugin_.api.destroy(plugin_.handle, delegate->handle);
    return TENON_STATUS_OK;
  }

  tenon_status create_session(Reader& from) {
    const std::shared_ptr<GuestDelegate> parent = find(from);
    if (!parent) return unknown_delegate();
    auto session = std::make_shared<GuestDelegate>();
    session->number = from.get<std::uint64_t>();
    session->method = parent->method;
    session->parent = parent;
    Reader number = from;
    const bool has_state = number.get<std::uint64_t>() != whole_backend;
    const std::shared_ptr<GuestDelegate> state = find(from);
    if (has_state && !state) return unknown_delegate();
    if (state && &state->owner() != &parent->owner()) {
      return fail(Error::NotSupported, "the state is not one of a session of the delegate");
    }
    Init keeper;
    const tenon_session_context context =
        keeper.take_session(from, state ? state->handle : nullptr, session->runtime_memory);
    if (!from.is_at_end())
      return fail(Error::Internal, "the call to create_session cannot be read");
    const tenon_status status =
        sessions_.create_session(plugin_.handle, parent->handle, &context, &session->handle);
    return status == TENON_STATUS_OK ? add(session) : status;
  }

  tenon_status check_blob(Reader& from, WorkerLane& lane, WorkerLane::Message& message,
                          Reply& reply) {
    Init call;
    const Status read = read_init(from, lane, message, reply, call);
    if (!read.ok()) return fail(read);
    std::uint32_t verdict = 0;
    const tenon_status status = check_blob_.check_blob(plugin_.handle, &call.context, &verdict);
    reply.kept = call.delegate;
    reply.body.put(verdict);
    return status;
  }

  tenon_status memory_info(Reader& from, Reply& reply) {
    Reader number = from;
    const bool is_whole = number.get<std::uint64_t>() == whole_backend;
    const std::shared_ptr<GuestDelegate> delegate = find(from);
    if (!is_whole && !delegate) return unknown_delegate();
    if (!is_whole && !delegate->handle) {  // It holds nothing; NULL would ask for the backend.
      reply.body.put<std::uint8_t>(0);
      return TENON_STATUS_OK;
    }
    const tenon_status status = memory_info_.memory_info(
        plugin_.handle, is_whole ? nullptr : delegate->handle, &put_use, &reply.body);
    reply.body.put<std::uint8_t>(0);
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
    const tenon_status status = devices_.list_devices(plugin_.handle, sink, &reply.body);
    reply.body.put<std::uint8_t>(0);
    return status;
  }

  tenon_status set_option(Reader& from) {
    std::list<std::string> texts;
    const tenon_option option = take_option(from, texts);
    if (!from.is_at_end() || !options_.set_option) return fail(Error::Internal, "no option");
    return options_.set_option(plugin_.handle, &option);
  }
  tenon_status get_option(Reader& from, Reply& reply) {
    const std::string key(from.get_text());
    const auto sink = [](void* to, const tenon_option* option) {
      put_option(*static_cast<Writer*>(to), *option);
    };
    return options_.get_option(plugin_.handle, key.c_str(), sink, &reply.body);
  }

  tenon_status estimate(Reader& from, WorkerLane& lane, WorkerLane::Message& message,
                        Reply& reply) {
    Init call;
    const Status read = read_init(from, lane, message, reply, call);
    if (!read.ok()) return fail(read);
    const tenon_status status =
        estimate_.estimate(plugin_.handle, &call.context, &put_use, &reply.body);
    reply.kept = call.delegate;
    reply.body.put<std::uint8_t>(0);
    return status;
  }
  tenon_status free_memory(Reader& from, Reply& reply) {
    const auto device = from.get<tenon_dl_device>();
    std::uint64_t nbytes = 0;
    const tenon_status status = estimate_.free_memory(plugin_.handle, device, &nbytes);
    reply.body.put(nbytes);
    return status;
  }

  tenon_status set_scheduling(Reader& from) {
    const std::shared_ptr<GuestDelegate> delegate = find(from);
    if (!delegate) return unknown_delegate();
    auto hints = from.get<tenon_scheduling>();
    hints.struct_size = sizeof hints;
    return scheduling_.set_scheduling(plugin_.handle, delegate->handle, &hints);
  }

  bool is_open_ = false;
  bool was_opened_ = false;       ///< Once in the process.
  std::uint32_t extensions_ = 0;  ///< Of the answer to `load`.
  GuestState state_{plugin_};
  GuestKernels kernels_{plugin_};
  GuestIntermediates intermediates_{plugin_};
  GuestDevice device_{plugin_};
  std::vector<host::OpenedFile> files_;  ///< Files that were added, until they are loaded.
  std::optional<host::Library> library_;
  tenon_cancel_v1 cancel_{};
  tenon_check_blob_v1 check_blob_{};
  tenon_devices_v1 devices_{};
  tenon_estimate_v1 estimate_{};
  tenon_memory_info_v1 memory_info_{};
  tenon_options_v1 options_{};
  tenon_scheduling_v1 scheduling_{};
  tenon_sessions_v1 sessions_{};
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<GuestDelegate>> delegates_;
};

}  // namespace tenon::isolated
