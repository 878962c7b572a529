// SPDX-License-Identifier: MIT
#include "isolated_backend.hpp"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "boundary/protocol.hpp"
#include "boundary/restriction.hpp"
#include "init_context.hpp"
#if defined(TENON_WORKER_SANDBOX)
#include "sandbox/sandbox.hpp"
#endif
#include "tenon/backend/guard.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::isolated {

namespace fs = std::filesystem;

namespace {

/// The clock of `tracer` less CLOCK_MONOTONIC.
std::uint64_t clock_ahead(const tenon_tracer& tracer) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return tracer.now(&tracer) - (static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                                static_cast<std::uint64_t>(now.tv_nsec));
}

void write_tracer(const tenon_tracer* tracer, Writer& to) {
  to.put<std::uint8_t>(tracer != nullptr);
  to.put<std::uint8_t>(tracer && TENON_HAS_MEMBER(*tracer, log_counter) && tracer->log_counter);
  to.put<std::uint64_t>(tracer ? clock_ahead(*tracer) : 0);
}

std::optional<tenon_scheduling> copy_of(const tenon_scheduling* hints) {
  if (!hints) return std::nullopt;
  tenon_scheduling out{};
  std::memcpy(&out, hints, std::min<std::size_t>(hints->struct_size, sizeof out));
  return out;
}

void write_hints(const std::optional<tenon_scheduling>& hints, Writer& to) {
  to.put<std::uint8_t>(hints.has_value());
  to.put(hints.value_or(tenon_scheduling{}));
}

/// Writes the options of a load or a session that are the plugin's; `take_own` gets the others.
template <class Context, class TakeOwn>
Status write_options(const Context& context, Writer& to, const TakeOwn& take_own) {
  const tenon::detail::StridedArray options(context.runtime_specs, context.num_runtime_specs);
  const std::size_t at = to.size();
  std::uint64_t count = 0;
  to.put(count);
  for (std::uint32_t i = 0; i < options.size(); ++i) {
    if (is_own_option(options[i].key)) {
      TENON_RETURN_IF_ERROR(take_own(options[i]));
    } else {
      put_option(to, options[i]);
      ++count;
    }
  }
  to.put_at(at, count);
  return ok();
}

/// Whether a worker with this restriction gets a variable.
bool passes([[maybe_unused]] std::string_view name, [[maybe_unused]] std::uint32_t restriction) {
#if defined(TENON_WORKER_SANDBOX)
  const auto profile = profile_named(restriction_name(restriction));
  return !profile || passes_environment(name, *profile);
#else
  return true;
#endif
}

host::Trust trust() noexcept {
  return host::is_privileged() ? host::Trust::checked : host::Trust::caller;
}

/// Of the plugin that this file wraps.
WrappedFiles& wrapped_files() {
  static WrappedFiles files;
  return files;
}

}  // namespace

IsolatedBackend::IsolatedBackend(const IsolatedObject& object, std::size_t index,
                                 const tenon_host* host)
    : object_(object),
      index_(index),
      host_(host),
      tables_(host),
      settings_(Settings::of(object.settings)) {}

Result<std::unique_ptr<IsolatedBackend>> IsolatedBackend::open(const IsolatedObject& object,
                                                               std::size_t index,
                                                               const tenon_host* host) {
  if (object.wrapped_path[0] == '\0') {
    return error(Error::NotSupported,
                 "this file is the template of isolated plugins and wraps no plugin: make one with "
                 "tenon-isolate");
  }
  std::unique_ptr<IsolatedBackend> out(new IsolatedBackend(object, index, host));
  TENON_TRY(out->plugin_, out->find_plugin());
  Sha256 expected;
  std::copy(std::begin(object.sha256), std::end(object.sha256), expected.bytes.begin());
  TENON_TRY(out->files_, wrapped_files().get(out->plugin_, expected, trust(),
                                             out->tables_.has_policy ? host::Paths::refused
                                                                     : host::Paths::trusted));
  TENON_TRY(out->worker_, out->start_worker(true));
  return out;
}

void IsolatedBackend::close() {
  const std::unique_ptr<IsolatedBackend> self(this);
  if (worker_->is_dead()) return;
  auto loan = borrow();
  if (!loan.ok()) return;
  loan->lane().out().clear();
  const CallInfo info{.function = "close",
                      .deadline_ms = static_cast<std::uint64_t>(settings_.deadline_ms)};
  const auto result = loan->worker().call(loan->lane(), Call::close, info);
  if (!result.ok()) {
    host_->log(host_, TENON_LOG_ERROR, result.text().data(), result.text().size());
  }
}

tenon_status IsolatedBackend::fail(const Status& status) const noexcept {
  return tenon::detail::report(host_, status);
}

tenon_status IsolatedBackend::pass_on(const Result<CallResult>& result) const noexcept {
  if (!result.ok()) return tenon::detail::report(host_, result.error(), result.text());
  if (result->status == TENON_STATUS_OK) return TENON_STATUS_OK;
  if (!result->text.empty()) {
    host_->set_last_error(host_, result->status, result->text.data(), result->text.size());
  }
  return result->status;
}

Result<std::string> IsolatedBackend::find_plugin() const {
  const fs::path path = host::path_of(std::string(object_.wrapped_path));
  if (path.is_absolute()) return host::path_text(path);
  const std::string_view mine = host_->plugin_path;
  if (mine.empty()) {
    return error(Error::NotSupported, "the plugin ", std::string_view(object_.wrapped_path),
                 " is next to the isolated plugin, whose path the host does not say");
  }
  return host::path_text(host::path_of(mine).parent_path() / path);
}

Result<std::string> IsolatedBackend::find_program() const {
  std::string recorded(object_.worker_path);
  // Filled in by the host of this process, which has chosen the program.
  const bool is_of_host = std::string_view(host_->plugin_path) == object_.wrapped_path;
  if (is_of_host) return recorded;
  if (!tables_.has_policy) {
    const auto named = host::environment_variable("TENON_WORKER");
    if (named && !named->empty()) return *named;
  }
  std::error_code failure;
  const std::string near =
      host::path_text(host::path_of(host_->plugin_path).parent_path() / "tenon-worker");
  if (host_->plugin_path[0] != '\0' && fs::exists(near, failure)) return near;
  if (!recorded.empty() && fs::exists(recorded, failure)) return recorded;
  return error(Error::NotFound, "the program tenon-worker is neither at ", near, " nor at '",
               recorded, "', where it was when this plugin was made",
               tables_.has_policy ? "" : "; TENON_WORKER names another place");
}

Result<Start> IsolatedBackend::worker_start() const {
  Start out;
  const std::uint32_t restriction = object_.settings.restriction;
  const std::string_view profile = restriction_name(restriction);
  if (profile.empty()) {
    return error(Error::InvalidArgument, "the isolated plugin has the profile number ", restriction,
                 ", expected at most ", std::size(restriction_names) - 1);
  }
  out.arguments = {"--supervise", std::string(profile)};
  if (restriction != no_restriction) {
    const std::size_t size = ::strnlen(object_.permissions, sizeof object_.permissions);
    for (std::string& each : permissions_in({object_.permissions, size})) {
      out.arguments.push_back(std::move(each));
    }
    const fs::path directory = host::path_of(plugin_).parent_path();
    out.arguments.push_back(concat(read_permission, host::path_text(directory)));
  }
  for (char* const* each = environ; each && *each; ++each) {
    const std::string_view variable = *each;
    if (passes(variable.substr(0, variable.find('=')), restriction)) {
      out.environment.emplace_back(variable);
    }
  }
  return out;
}

Result<std::shared_ptr<Worker>> IsolatedBackend::start_worker(bool describes) {
  TENON_TRY(const std::string program, find_program());
  const tenon_backend_record& record = object_.records[index_];
  TENON_TRY(const Start start, worker_start());
  TENON_TRY(std::shared_ptr<Worker> worker,
            Worker::start(program, trust(), start, host_, {record.id, plugin_}));
  const CallInfo info{.function = "open",
                      .deadline_ms = static_cast<std::uint64_t>(settings_.deadline_ms)};
  TENON_TRY(ApplicationLane * lane, worker->take_lane(info));
  const LaneLoan loan(worker, lane);
  Writer& to = lane->out();
  CallResult result;
  for (const host::OpenedFile& file : *files_) {
    to.clear();
    to.put_text(host::path_text(file.path));
    const int descriptor = file.descriptor.get();
    TENON_TRY(result, worker->call(*lane, Call::add_file, info, {&descriptor, 1}));
    if (result.status != TENON_STATUS_OK) {
      return Status(static_cast<Error>(result.status), std::string(result.text));
    }
  }
  to.clear();
  to.put_text(host_->name);
  to.put<std::uint16_t>(std::min<std::uint16_t>(host_->abi_minor, TENON_ABI_MINOR));
  to.put(tables_.bits());
  to.put_text(plugin_);
  to.put(static_cast<std::uint32_t>(index_));
  TENON_TRY(result, worker->call(*lane, Call::load, info));
  if (result.status != TENON_STATUS_OK) {
    return Status(static_cast<Error>(result.status), std::string(result.text));
  }
  if (describes) {
    description_ = std::make_unique<Description>();
    TENON_RETURN_IF_ERROR(description_->read(result.body, settings_));
    has_options_ = description_->has(extension_bit<tenon_options_v1>);
  }
  for (const auto& [key, message] : options_) {
    to.clear();
    to.put_array(message.data(), message.size());
    TENON_TRY(result, worker->call(*lane, Call::set_option, info));
    if (result.status != TENON_STATUS_OK) {
      return Status(static_cast<Error>(result.status), std::string(result.text));
    }
  }
  return worker;
}

Result<LaneLoan> IsolatedBackend::borrow(bool own) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Worker> worker = worker_;
  if (own || worker->is_dead()) {
    TENON_TRY(worker, start_worker(false));
    if (!own) worker_ = worker;
  }
  const CallInfo info{.function = "take_lane",
                      .deadline_ms = static_cast<std::uint64_t>(settings_.deadline_ms)};
  TENON_TRY(ApplicationLane * lane, worker->take_lane(info));
  return LaneLoan(std::move(worker), lane);
}

Status IsolatedBackend::write_init(const tenon_init_context& context, std::uint64_t number,
                                   Settings& settings, Writer& to, Replay* replay) const {
  to.put(number);
  to.put_name(context.method_name);
  to.put<std::uint64_t>(context.processed ? context.processed->nbytes : 0);
  const tenon::detail::StridedArray compile_specs(context.compile_specs, context.num_compile_specs);
  to.put<std::uint64_t>(compile_specs.size());
  for (std::uint32_t i = 0; i < compile_specs.size(); ++i) {
    const tenon_compile_spec& spec = compile_specs[i];
    to.put_text(spec.key);
    to.put<std::uint8_t>(spec.value != nullptr);
    to.put_bytes(spec.value, spec.value ? spec.value_size : 0);
  }
  TENON_RETURN_IF_ERROR(
      write_options(context, to, [&](const tenon_option& own) { return settings.set(own); }));
  to.put<std::uint8_t>(context.named_data_map != nullptr);
  to.put<std::uint32_t>(context.named_data_map ? context.named_data_map->num_keys : 0);
  write_tracer(context.tracer, to);
  const bool has_permit = context.permit_code != nullptr;
  to.put<std::uint8_t>(has_permit);
  if (replay) replay->hints_at = to.size();
  write_hints(copy_of(TENON_HAS_MEMBER(context, scheduling) ? context.scheduling : nullptr), to);
  write_pool(tables_.threads ? tables_.threads->get_pool_of_init(&context) : nullptr, to);
  return ok();
}

tenon_status IsolatedBackend::init(const tenon_init_context* context, tenon_delegate** out) {
  auto delegate = std::make_unique<IsolatedDelegate>();
  delegate->number = next_number_++;
  delegate->method = context->method_name ? context->method_name : "";
  Settings settings;
  {
    const std::lock_guard lock(mutex_);
    settings = settings_;
  }
  auto replay = std::make_shared<Replay>();
  Writer message;
  const Status written = write_init(*context, delegate->number, settings, message, replay.get());
  if (!written.ok()) return fail(written);
  auto blob = copy_blob(*context);
  if (!blob.ok()) return fail(std::move(blob).status());
  replay->blob = *std::move(blob);
  delegate->deadline_ms = static_cast<std::uint64_t>(settings.deadline_ms);
  delegate->restarts = settings.restart;
  delegate->max_restarts = settings.restart;
  delegate->own_worker = settings.own_worker;
  delegate->services.data = context->named_data_map;
  if (tables_.prepare) {
    delegate->services.prepared =
        std::make_shared<PreparedSet>(tables_.prepare, settings.restart > 0);
  }
  auto loan = borrow(settings.own_worker);
  if (!loan.ok()) return fail(std::move(loan).status());
  delegate->loan = *std::move(loan);
  ApplicationLane& lane = delegate->loan.lane();
  lane.out().clear();
  lane.out().put_array(message.bytes().data(), message.size());
  CallInfo info = info_of(*delegate, "init");
  info.tracer = context->tracer;
  info.context = asked_for_code(context);
  info.init = context;
  info.permitted = &replay->permitted;
  int descriptor = -1;
  const auto result =
      delegate->loan.worker().call(lane, Call::init, info, sent_with(replay->blob, descriptor));
  const tenon_status status = pass_on(result);
  if (status != TENON_STATUS_OK) return status;
  // The worker has a copy.
  if (context->processed && context->processed->release) {
    context->processed->release(context->processed);
  }
  if (delegate->restarts > 0) {
    const auto bytes = message.bytes();
    replay->message.assign(bytes.begin(), bytes.end());
    delegate->replay = std::move(replay);
  }
  *out = reinterpret_cast<tenon_delegate*>(delegate.release());
  return TENON_STATUS_OK;
}

CallInfo IsolatedBackend::info_of(const IsolatedDelegate& delegate,
                                  std::string_view function) const noexcept {
  return {.function = function,
          .delegate = delegate.number,
          .method = delegate.method,
          .deadline_ms = delegate.deadline_ms,
          .services = &delegate.services};
}

Status IsolatedBackend::load_again(IsolatedDelegate& delegate) {
  TENON_TRY(LaneLoan loan, borrow(delegate.own_worker));
  delegate.move_to(std::move(loan));
  Writer& to = delegate.loan.lane().out();
  to.clear();
  to.put_array(delegate.replay->message.data(), delegate.replay->message.size());
  // The number comes first; a session has another one.
  to.put_at(0, delegate.number);
  if (delegate.own_hints) {
    to.put_at<std::uint8_t>(delegate.replay->hints_at, 1);
    to.put_at(delegate.replay->hints_at + 1, *delegate.own_hints);
  }
  CallInfo info = info_of(delegate, "init");
  info.permitted = &delegate.replay->permitted;
  int descriptor = -1;
  TENON_TRY(const CallResult result,
            delegate.loan.worker().call(delegate.loan.lane(), Call::init, info,
                                        sent_with(delegate.replay->blob, descriptor)));
  if (result.status == TENON_STATUS_OK) return ok();
  return Status(static_cast<Error>(result.status), concat("init in a new worker: ", result.text));
}

Status IsolatedBackend::restore(IsolatedDelegate& delegate) {
  const auto check = [](Result<CallResult> result, std::string_view what) -> Status {
    if (!result.ok()) return std::move(result).status();
    if (result->status == TENON_STATUS_OK) return ok();
    return Status(static_cast<Error>(result->status),
                  concat(what, " in a new worker: ", result->text));
  };
  if (delegate.scheduling) {
    TENON_RETURN_IF_ERROR(check(call_of(delegate, Call::set_scheduling, "set_scheduling",
                                        [&](Writer& to) { to.put(*delegate.scheduling); }),
                                "set_scheduling"));
  }
  if (delegate.recording.sink) {
    TENON_RETURN_IF_ERROR(
        check(ask_to_record(delegate, delegate.recording.handles), "intermediates"));
  }
  for (const auto& part : delegate.saved.parts()) {
    const auto write = [&](Writer& to) {
      to.put(part.first);
      to.put<std::uint64_t>(0);
      to.put_bytes(part.second.data(), part.second.size());
    };
    TENON_RETURN_IF_ERROR(
        check(call_of(delegate, Call::write_state, "write", write), "the saved state"));
  }
  if (delegate.saved.parts().empty()) return ok();
  return check(call_of(delegate, Call::state_written, "written", [](Writer&) {}),
               "the saved state");
}

Status IsolatedBackend::revive(IsolatedDelegate& delegate) {
  if (!delegate.replay || delegate.restarts == 0) return delegate.loan.worker().dead_status();
  --delegate.restarts;
  const std::string reason(delegate.loan.worker().dead_status().text());
  delegate.arguments = ArgumentsCopy();
  Status loaded = load_again(delegate);
  if (loaded.ok()) loaded = restore(delegate);
  if (!loaded.ok()) {
    // Without its state the worker must not have it.
    if (!delegate.loan.worker().is_dead()) {
      static_cast<void>(call_of(delegate, Call::destroy, "destroy", [](Writer&) {}));
    }
    return loaded;
  }
  const std::string line = concat(
      delegate.method, ": delegate ", delegate.number, " was loaded again in a new worker, ",
      delegate.saved.parts().empty() ? "without a state" : "with the state that was saved last",
      ": ", reason);
  host_->log(host_, TENON_LOG_INFO, line.data(), line.size());
  return ok();
}

void IsolatedBackend::write_call(const tenon_execution_context& context, CallInfo& info,
                                 Writer& to) const {
  WireCall out{};
  const tenon_tracer* const tracer = context.tracer;
  info.tracer = tracer;
  if (tracer) [[unlikely]] {
    out.has_tracer = 1;
    out.has_counters = TENON_HAS_MEMBER(*tracer, log_counter) && tracer->log_counter;
    out.ahead = clock_ahead(*tracer);
  }
  if (tables_.cancel_flag) info.cancel_flag = tables_.cancel_flag->get_cancel_flag(&context);
  out.has_flag = info.cancel_flag != nullptr;
  const tenon_thread_pool* const pool =
      tables_.threads ? tables_.threads->get_pool(&context) : nullptr;
  if (pool) {
    out.num_threads = pool->num_threads;
    out.num_processors = pool->processors ? pool->num_processors : 0;
  }
  if (tables_.changes) {
    const tenon_changes* const changes = tables_.changes->get_changes(&context);
    out.has_changes = changes != nullptr;
    out.changes = changes ? changes->count : 0;
  }
  to.put(out);
  if (out.num_processors != 0) {
    to.put_array(pool->processors, static_cast<std::size_t>(out.num_processors));
  }
}

tenon_status IsolatedBackend::execute(tenon_delegate* loaded,
                                      const tenon_execution_context* context,
                                      tenon_value* const* args, std::uint32_t num_args) {
  IsolatedDelegate& delegate = *reinterpret_cast<IsolatedDelegate*>(loaded);
  if (delegate.loan.worker().is_dead()) [[unlikely]] {
    const Status revived = revive(delegate);
    if (!revived.ok()) return fail(revived);
  }
  ApplicationLane& lane = delegate.loan.lane();
  Writer& to = lane.out();
  to.clear();
  to.put(delegate.number);
  const std::size_t at = to.size();
  to.put<std::uint64_t>(0);
  CallInfo info = info_of(delegate, "execute");
  info.number = ++delegate.num_calls;
  info.recording = &delegate.recording;
  info.arguments = &delegate.arguments;
  if (delegate.recording.sink) info.max_message += max_intermediate_size;
  write_call(*context, info, to);
  const Status written = delegate.arguments.write({args, num_args}, memories_, to);
  if (!written.ok()) return fail(written);
  if (!delegate.arguments.used().empty()) [[unlikely]] {
    const Status brought = bring(delegate.arguments.used(), delegate.loan.shared_worker());
    if (!brought.ok()) return fail(brought);
  }
  auto arena = lane.arena().grow(delegate.arguments.size());
  if (!arena.ok()) return fail(std::move(arena).status());
  const int descriptor = *arena;
  const bool is_new = descriptor >= 0;
  if (is_new) to.put_at<std::uint64_t>(at, lane.arena().size());
  delegate.arguments.copy_in(lane.arena(), is_new);
  auto result =
      delegate.loan.worker().call(lane, Call::execute, info, {&descriptor, is_new ? 1u : 0u});
  const tenon_status status = pass_on(result);
  if (status != TENON_STATUS_OK) [[unlikely]]
    return status;
  return fail(delegate.arguments.copy_out(host_, lane.arena(), result->body));
}

void IsolatedBackend::destroy(tenon_delegate* delegate) {
  if (!delegate) return;
  const std::unique_ptr<IsolatedDelegate> owner(reinterpret_cast<IsolatedDelegate*>(delegate));
  if (owner->loan.worker().is_dead()) return;
  const auto result = call_of(*owner, Call::destroy, "destroy", [](Writer&) {});
  if (!result.ok()) host_->log(host_, TENON_LOG_ERROR, result.text().data(), result.text().size());
}

Status IsolatedBackend::write_session(const tenon_session_context& context, Writer& to) {
  const auto* const state = reinterpret_cast<const IsolatedDelegate*>(context.state);
  to.put<std::uint64_t>(state ? state->number : whole_backend);
  write_hints(copy_of(context.scheduling), to);
  return write_options(context, to, [](const tenon_option& own) -> Status {
    // Every other failure comes from the checks of `init`.
    Settings unused;
    TENON_RETURN_IF_ERROR(unused.set(own));
    return error(Error::NotSupported, "option ", host::quoted(own.key),
                 " cannot be changed for a session");
  });
}

tenon_status IsolatedBackend::create_session(const IsolatedDelegate& parent,
                                             const tenon_session_context& context,
                                             tenon_delegate** out) {
  auto session = std::make_unique<IsolatedDelegate>();
  session->number = next_number_++;
  session->method = parent.method;
  session->deadline_ms = parent.deadline_ms;
  session->restarts = parent.max_restarts;
  session->max_restarts = parent.max_restarts;
  session->own_worker = parent.own_worker;
  if (context.num_runtime_specs == 0) session->replay = parent.replay;
  session->services = parent.services;
  session->own_hints = context.scheduling ? copy_of(context.scheduling) : parent.hints_now();
  const std::shared_ptr<Worker> worker = parent.worker_now();
  const auto* const state = reinterpret_cast<const IsolatedDelegate*>(context.state);
  if (state && state->loan.shared_worker() != worker) {
    return fail(error(Error::NotSupported,
                      "the state and the delegate are in two workers: one of them died"));
  }
  if (worker->is_dead() && session->replay && !state) {
    // A session has the state that `init` gives, and the parent may be running.
    const Status loaded = load_again(*session);
    if (!loaded.ok()) return fail(loaded);
    *out = reinterpret_cast<tenon_delegate*>(session.release());
    return TENON_STATUS_OK;
  }
  const CallInfo info = info_of(*session, "create_session");
  auto lane = worker->take_lane(info);
  if (!lane.ok()) return fail(std::move(lane).status());
  session->loan = LaneLoan(worker, *lane);
  Writer& to = session->loan.lane().out();
  to.clear();
  to.put(parent.number);
  to.put(session->number);
  const Status written = write_session(context, to);
  if (!written.ok()) return fail(written);
  const tenon_status status = pass_on(worker->call(**lane, Call::create_session, info));
  if (status == TENON_STATUS_OK) *out = reinterpret_cast<tenon_delegate*>(session.release());
  return status;
}

}  // namespace tenon::isolated
