// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <list>
#include <string>
#include <utility>

#include "boundary/protocol.hpp"
#include "description.hpp"
#include "init_context.hpp"
#include "isolated_backend.hpp"
#include "tenon/backend/guard.hpp"

/// The functions of an isolated backend that a run does not call each time.
namespace tenon::isolated {

namespace {

constexpr auto nothing_to_write = [](Writer&) {};
constexpr auto nothing_to_read = [](Reader&) {};

/// Whether a range is inside of a part that was listed. errors: InvalidArgument.
Status check_range(const std::map<std::uint64_t, std::uint64_t>& sizes, std::uint64_t part,
                   std::uint64_t offset, std::uint64_t nbytes) {
  const auto listed = sizes.find(part);
  if (listed == sizes.end()) {
    return error(Error::InvalidArgument, "part ", part, " of the state was not listed");
  }
  if (offset <= listed->second && nbytes <= listed->second - offset) return ok();
  return error(Error::InvalidArgument, "part ", part, " of the state has ", listed->second,
               " bytes, expected a range inside of it, found ", nbytes, " bytes from ", offset,
               " on");
}

/// Passes each use of memory in a message to `sink`.
void pass_uses(Reader& from, tenon_memory_sink sink, void* sink_context) {
  std::string kind;
  while (from.get<std::uint8_t>() != 0) {
    tenon_memory_use use{};
    use.struct_size = sizeof use;
    use.device = from.get<tenon_dl_device>();
    use.nbytes = from.get<std::uint64_t>();
    if (from.get_name(kind)) use.kind = kind.c_str();
    // A host may rely on the kind.
    if (!use.kind) from.fail();
    if (from.ok()) sink(sink_context, &use);
  }
}

}  // namespace

template <class Write, class Read>
tenon_status IsolatedBackend::call_apart(Call kind, std::string_view function, const Write& write,
                                         const Read& read, const tenon_init_context* context) {
  Settings settings;
  {
    const std::lock_guard lock(mutex_);
    settings = settings_;
  }
  Writer message;
  host::FileDescriptor blob;
  const std::uint64_t number = next_number_++;
  if (context) {
    const Status written = write_init(*context, number, settings, message);
    if (!written.ok()) return fail(written);
    auto copy = copy_blob(*context);
    if (!copy.ok()) return fail(std::move(copy).status());
    blob = *std::move(copy);
  }
  write(message);
  auto loan = borrow();
  if (!loan.ok()) return fail(std::move(loan).status());
  Worker& worker = loan->worker();
  loan->lane().out().clear();
  loan->lane().out().put_array(message.bytes().data(), message.size());
  const Services services{.data = context ? context->named_data_map : nullptr};
  const CallInfo info{.function = function,
                      .deadline_ms = static_cast<std::uint64_t>(settings.deadline_ms),
                      .tracer = context ? context->tracer : nullptr,
                      .services = &services,
                      .context = asked_for_code(context)};
  int descriptor = -1;
  auto result = worker.call(loan->lane(), kind, info, sent_with(blob, descriptor));
  const tenon_status status = pass_on(result);
  if (status != TENON_STATUS_OK) return status;
  // The reason of a verdict.
  if (kind == Call::check_blob && !result->text.empty()) {
    host_->set_last_error(host_, TENON_STATUS_NOT_SUPPORTED, result->text.data(),
                          result->text.size());
  }
  read(result->body);
  if (result->body.ok()) return status;
  return fail(error(Error::Internal, "the worker's answer to ", function, " cannot be read"));
}

template <class Write, class Read>
  requires std::invocable<Read, Reader&>
tenon_status IsolatedBackend::call_of(const IsolatedDelegate& delegate, Call kind,
                                      std::string_view function, const Write& write,
                                      const Read& read, std::uint64_t num_bytes) {
  auto result = call_of(delegate, kind, function, write, num_bytes);
  const tenon_status status = pass_on(result);
  if (status != TENON_STATUS_OK) return status;
  read(result->body);
  if (result->body.ok()) return status;
  return fail(error(Error::Internal, "the worker's answer to ", function, " cannot be read"));
}

tenon_status IsolatedBackend::is_available() {
  return call_apart(Call::is_available, "is_available", nothing_to_write, nothing_to_read);
}

tenon_status IsolatedBackend::check_blob(const tenon_init_context* context,
                                         std::uint32_t* verdict) {
  return call_apart(
      Call::check_blob, "check_blob", nothing_to_write,
      [&](Reader& from) { *verdict = from.get<std::uint32_t>(); }, context);
}

tenon_status IsolatedBackend::estimate(const tenon_init_context* context, tenon_memory_sink sink,
                                       void* sink_context) {
  return call_apart(
      Call::estimate, "estimate", nothing_to_write,
      [&](Reader& from) { pass_uses(from, sink, sink_context); }, context);
}

tenon_status IsolatedBackend::free_memory(tenon_dl_device device, std::uint64_t* nbytes) {
  return call_apart(
      Call::free_memory, "free_memory", [&](Writer& to) { to.put(device); },
      [&](Reader& from) { *nbytes = from.get<std::uint64_t>(); });
}

tenon_status IsolatedBackend::list_devices(tenon_device_sink sink, void* context) {
  return call_apart(Call::list_devices, "list_devices", nothing_to_write, [&](Reader& from) {
    while (from.get<std::uint8_t>() != 0) {
      tenon_device_info info{};
      info.struct_size = sizeof info;
      info.device = from.get<tenon_dl_device>();
      std::string name;
      std::string description;
      info.name = from.get_name(name) ? name.c_str() : nullptr;
      info.description = from.get_name(description) ? description.c_str() : nullptr;
      info.memory_bytes = from.get<std::uint64_t>();
      // No identity: an address of the worker means nothing to other plugins.
      if (from.ok()) sink(context, &info);
    }
  });
}

tenon_status IsolatedBackend::memory_info(const IsolatedDelegate* delegate, tenon_memory_sink sink,
                                          void* sink_context) {
  const auto read = [&](Reader& from) { pass_uses(from, sink, sink_context); };
  if (delegate) return call_of(*delegate, Call::memory_info, "memory_info", nothing_to_write, read);
  const auto write = [](Writer& to) { to.put(whole_backend); };
  return call_apart(Call::memory_info, "memory_info", write, read);
}

tenon_status IsolatedBackend::set_option(const tenon_option* option) {
  if (is_own_option(option->key)) {
    const std::lock_guard lock(mutex_);
    return fail(settings_.set(*option));
  }
  if (!has_options_) return fail(Settings::unknown(option->key));
  Writer message;
  put_option(message, *option);
  const auto write = [&](Writer& to) { to.put_array(message.bytes().data(), message.size()); };
  const tenon_status status = call_apart(Call::set_option, "set_option", write, nothing_to_read);
  if (status != TENON_STATUS_OK) return status;
  // For workers that are started later.
  const std::lock_guard lock(mutex_);
  const auto bytes = message.bytes();
  options_[option->key].assign(bytes.begin(), bytes.end());
  return status;
}

tenon_status IsolatedBackend::get_option(const char* key, tenon_option_sink sink, void* context) {
  if (is_own_option(key)) {
    Settings settings;
    {
      const std::lock_guard lock(mutex_);
      settings = settings_;
    }
    auto option = settings.get(key);
    if (!option.ok()) return fail(std::move(option).status());
    sink(context, &*option);
    return TENON_STATUS_OK;
  }
  if (!has_options_) return fail(Settings::unknown(key));
  return call_apart(
      Call::get_option, "get_option", [&](Writer& to) { to.put_text(key); },
      [&](Reader& from) {
        std::list<std::string> texts;
        const tenon_option option = take_option(from, texts);
        if (from.ok()) sink(context, &option);
      });
}

void IsolatedBackend::cancel(const IsolatedDelegate& delegate) {
  // The delegate's own lane is in the call that is to end.
  const std::shared_ptr<Worker> worker = delegate.worker_now();
  const CallInfo info = info_of(delegate, "cancel");
  auto lane = worker->take_lane(info);
  if (!lane.ok()) return;
  const LaneLoan loan(worker, *lane);
  (*lane)->out().clear();
  (*lane)->out().put(delegate.number);
  static_cast<void>(worker->call(**lane, Call::cancel, info));
}

tenon_status IsolatedBackend::set_scheduling(IsolatedDelegate& delegate,
                                             const tenon_scheduling* scheduling) {
  if (const Status ready = revive_if_dead(delegate); !ready.ok()) return fail(ready);
  tenon_scheduling copied{};
  std::memcpy(&copied, scheduling, std::min<std::size_t>(scheduling->struct_size, sizeof copied));
  const tenon_status status = call_of(
      delegate, Call::set_scheduling, "set_scheduling", [&](Writer& to) { to.put(copied); },
      nothing_to_read);
  if (status == TENON_STATUS_OK) delegate.set_hints(copied);
  return status;
}

tenon_status IsolatedBackend::list_state(IsolatedDelegate& delegate, const tenon_state_list* to) {
  if (const Status ready = revive_if_dead(delegate); !ready.ok()) return fail(ready);
  tenon_status added = TENON_STATUS_OK;
  Status too_large = ok();
  const tenon_status status =
      call_of(delegate, Call::list_state, "list", nothing_to_write, [&](Reader& from) {
        const std::size_t count = from.get_count(2 * sizeof(std::uint64_t));
        std::uint64_t left = max_large_size;
        for (std::size_t i = 0; i < count && added == TENON_STATUS_OK; ++i) {
          const std::string_view name = from.get_text();
          const auto nbytes = from.get<std::uint64_t>();
          if (!from.ok()) return;
          if (nbytes > left) {
            too_large = error(Error::OutOfResources, "the state has more than ", max_large_size,
                              " bytes, the most that an isolated plugin may have");
            return;
          }
          left -= nbytes;
          // What the host makes room for; a later list may say nothing else.
          const auto [known, is_new] = delegate.state_sizes.emplace(i, nbytes);
          if (!is_new && known->second != nbytes) {
            from.fail();
            return;
          }
          const tenon_state_part part{
              sizeof(tenon_state_part), 0, name.data(), name.size(), nullptr, nbytes};
          added = to->add(to, &part);
        }
      });
  if (!too_large.ok()) return fail(too_large);
  return status == TENON_STATUS_OK ? added : status;
}

void IsolatedBackend::save_part(IsolatedDelegate& delegate, std::uint64_t part,
                                std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!delegate.replay) return;
  delegate.saved.put(delegate.num_calls, part, offset, bytes, delegate.state_sizes);
}

tenon_status IsolatedBackend::read_state(IsolatedDelegate& delegate, std::uint64_t part,
                                         std::uint64_t offset, std::uint64_t nbytes, void* to) {
  if (const Status ready = revive_if_dead(delegate); !ready.ok()) return fail(ready);
  const Status inside = check_range(delegate.state_sizes, part, offset, nbytes);
  if (!inside.ok()) return fail(inside);
  return call_of(
      delegate, Call::read_state, "read",
      [&](Writer& out) {
        out.put(part);
        out.put(offset);
        out.put(nbytes);
      },
      [&](Reader& from) {
        const auto bytes = from.get_bytes();
        // There is room at `to` for what was asked for, and the worker may give something else.
        if (bytes.size() != nbytes) from.fail();
        if (!from.ok()) return;
        if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
        save_part(delegate, part, offset, bytes);
      },
      nbytes);
}

tenon_status IsolatedBackend::write_state(IsolatedDelegate& delegate, std::uint64_t part,
                                          std::uint64_t offset, std::uint64_t nbytes,
                                          const void* from) {
  if (const Status ready = revive_if_dead(delegate); !ready.ok()) return fail(ready);
  const Status inside = check_range(delegate.state_sizes, part, offset, nbytes);
  if (!inside.ok()) return fail(inside);
  const tenon_status status = call_of(
      delegate, Call::write_state, "write",
      [&](Writer& to) {
        to.put(part);
        to.put(offset);
        to.put_bytes(from, nbytes);
      },
      nothing_to_read);
  if (status == TENON_STATUS_OK) {
    save_part(delegate, part, offset,
              {static_cast<const std::byte*>(from), static_cast<std::size_t>(nbytes)});
  }
  return status;
}

tenon_status IsolatedBackend::state_written(IsolatedDelegate& delegate) {
  if (const Status ready = revive_if_dead(delegate); !ready.ok()) return fail(ready);
  return call_of(delegate, Call::state_written, "written", nothing_to_write, nothing_to_read);
}

tenon_status IsolatedBackend::list_intermediates(const IsolatedDelegate& delegate,
                                                 const tenon_intermediate_list* to) {
  tenon_status added = TENON_STATUS_OK;
  const tenon_status status =
      call_of(delegate, Call::list_intermediates, "list", nothing_to_write, [&](Reader& from) {
        while (from.get<std::uint8_t>() != 0 && added == TENON_STATUS_OK) {
          tenon_intermediate one{};
          one.struct_size = sizeof one;
          one.handle = from.get<std::int64_t>();
          const std::string_view name = from.get_text();
          one.name = name.data();
          one.name_size = name.size();
          if (from.ok()) added = to->add(to, &one);
        }
      });
  return status == TENON_STATUS_OK ? added : status;
}

Result<CallResult> IsolatedBackend::ask_to_record(const IsolatedDelegate& delegate,
                                                  const std::set<std::int64_t>& handles) {
  return call_of(delegate, Call::record_intermediates, "record", [&](Writer& to) {
    to.put<std::uint64_t>(handles.size());
    for (const std::int64_t each : handles) to.put(each);
  });
}

tenon_status IsolatedBackend::record(IsolatedDelegate& delegate, const std::int64_t* handles,
                                     std::uint64_t num_handles,
                                     const tenon_intermediate_sink* sink) {
  // The sink is not used any more, whatever the worker answers.
  if (num_handles == 0) delegate.recording = {};
  if (const Status ready = revive_if_dead(delegate); !ready.ok()) return fail(ready);
  Recording wanted{{handles, handles + num_handles}, sink};
  const tenon_status status = pass_on(ask_to_record(delegate, wanted.handles));
  if (status == TENON_STATUS_OK) delegate.recording = std::move(wanted);
  return status;
}

}  // namespace tenon::isolated
