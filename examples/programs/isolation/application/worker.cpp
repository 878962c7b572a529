// SPDX-License-Identifier: MIT
#include "worker.hpp"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "arguments.hpp"
#include "questions.hpp"
#include "sandbox/signal_name.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/host/layers/isolation/worker_settings.hpp"

namespace tenon::isolated {
namespace {

constexpr std::int64_t slice_ns = 5'000'000;
constexpr int patience_ms = 2000;
constexpr std::int64_t cancel_slice_ns = 500'000;

void pass_cancel_flag(LaneHeader& header, const CallInfo& info) noexcept {
  header.cancel_flag.store(
      info.cancel_flag ? __atomic_load_n(info.cancel_flag, __ATOMIC_RELAXED) : 0,
      std::memory_order_relaxed);
}

std::string late(const CallInfo& info) {
  return concat("it did not return within the deadline of ", info.deadline_ms,
                " ms, and was ended");
}

/// "execute of backend B, delegate 1 (method forward), call 2, thread 4711"
std::string text_of(const CallInfo& info, std::string_view backend) {
  std::string out = concat(info.function, " of backend ", backend);
  if (info.delegate != 0) out += concat(", delegate ", info.delegate);
  if (!info.method.empty()) out += concat(" (method ", info.method, ")");
  if (!info.op.empty()) out += concat(" (operator ", info.op, ")");
  if (info.number != 0) out += concat(", call ", info.number);
  return out + concat(", thread ", ::syscall(SYS_gettid));
}

/// A text of a report, whose size may be wrong.
template <std::size_t Size>
std::string_view text_in(const char (&field)[Size], std::uint32_t size) noexcept {
  return {field, std::min<std::size_t>(size, Size)};
}

/// How a process ended, as its parent saw it.
std::string ending_text(const Ending& ending) {
  switch (ending.code) {
    case CLD_EXITED:
      return concat("it exited with code ", ending.status);
    case CLD_KILLED:
    case CLD_DUMPED:
      return concat("it was ended by ", signal_name(ending.status),
                    ending.status == SIGKILL ? " (of another process, or for want of memory)" : "");
    case CLD_STOPPED:
      return concat("it was stopped by ", signal_name(ending.status), ", and was ended");
    default:
      return "it ended, and its supervisor with it";
  }
}

/// The report of the handler in the worker.
std::string crash_text(const Crash& crash) {
  const auto number = static_cast<int>(crash.signal.load());
  if (number <= 0 || number >= NSIG) return {};
  char name[sizeof crash.thread_name + 1] = {};
  std::copy(std::begin(crash.thread_name), std::end(crash.thread_name), name);
  std::string out = signal_name(number);
  if (number == SIGSYS) {
    out += concat(" for system call ", crash.system_call);
  } else if (crash.code > 0 && number != SIGABRT) {
    char digits[17];
    const auto end = std::to_chars(digits, std::end(digits), crash.address, 16).ptr;
    out += concat(" at address 0x", std::string_view(digits, end));
  }
  return out + concat(" in its thread ", crash.thread, " (", std::string_view(name), ")");
}

}  // namespace

Worker::Worker(Launched launched, const tenon_host* host, Subject subject) noexcept
    : launched_(std::move(launched)), host_(host), subject_(std::move(subject)) {}

Result<std::shared_ptr<Worker>> Worker::start(const std::string& program, host::Trust trust,
                                              const Start& how, const tenon_host* host,
                                              Subject subject) {
  TENON_TRY(Launched launched, launch(program, trust, how));
  std::shared_ptr<Worker> out(new Worker(std::move(launched), host, std::move(subject)));
  TENON_TRY(out->own_, Mapping::own_page());
  *out->own_.data() = std::byte{1};
  return out;
}

Worker::~Worker() {
  // The connections belong to the parent: nothing is sent through them.
  if (is_in_child_of_fork()) return;
  kill();
  await(launched_.process.get());
  // A process that adopts orphans is its parent by now.
  siginfo_t ignored{};
  constexpr int by_descriptor = 3;  // P_PIDFD
  ::waitid(static_cast<idtype_t>(by_descriptor), static_cast<id_t>(launched_.process.get()),
           &ignored, WEXITED | WNOHANG | __WALL);
  // A worker that has died was reported by the failure of the call.
  if (is_dead() || !has_ended()) return;
  const std::string_view refusals = text_in(ending_.refusals, ending_.refusals_size);
  if (refusals.empty()) return;
  const std::string text =
      concat("the profile of the worker of ", subject_.backend, ": ", refusals);
  host_->log(host_, TENON_LOG_INFO, text.data(), text.size());
}

bool Worker::is_in_child_of_fork() const noexcept {
  return own_.data() && *own_.data() == std::byte{0};
}

void Worker::await(int descriptor) noexcept {
  pollfd waited[] = {{descriptor, POLLIN, 0}, {launched_.process.get(), POLLIN, 0}};
  // The supervisor was stopped, or its worker is in a call of the kernel that does not end: the
  // guard gets a signal to end it, then is killed, and is not waited for any longer.
  for (const int signal : {SIGTERM, SIGKILL, 0}) {
    int ready = 0;
    do {
      ready = ::poll(waited, std::size(waited), patience_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready != 0) return;
    constexpr long pidfd_send_signal_number = 424;
    ::syscall(pidfd_send_signal_number, launched_.process.get(), signal, nullptr, 0u);
  }
}

void Worker::kill() noexcept { ::shutdown(launched_.supervisor.get(), SHUT_WR); }

Result<ApplicationLane*> Worker::take_lane(const CallInfo& info) {
  if (is_in_child_of_fork()) {
    return error(Error::InvalidState, "the worker of ", subject_.backend,
                 " belongs to the process that this one was forked from");
  }
  if (is_dead()) return dead_status();
  {
    const std::lock_guard lock(mutex_);
    if (!free_lanes_.empty()) {
      ApplicationLane* const out = free_lanes_.back();
      free_lanes_.pop_back();
      return out;
    }
  }
  TENON_TRY(const host::FileDescriptor file, memory_file("tenon-lane", lane_size));
  TENON_TRY(Mapping shared, Mapping::of(file.get(), lane_size, true));
  TENON_TRY(auto sockets, socket_pair());
  const int sent[] = {file.get(), sockets.second.get()};
  auto lane = std::make_unique<ApplicationLane>(std::move(shared), std::move(sockets.first));
  TENON_RETURN_IF_ERROR(send_lane(*lane, sent, info));
  const std::lock_guard lock(mutex_);
  return lanes_.emplace_back(std::move(lane)).get();
}

Status Worker::send_lane(const ApplicationLane& lane, std::span<const int> descriptors,
                         const CallInfo& info) {
  const NewLane request{protocol_version};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&request, 1));
  CallWatch watch(info.deadline_ms);
  while (!send_message(launched_.service.get(), bytes, descriptors, MSG_DONTWAIT)) {
    const int reason = errno;
    // A worker that has died is noticed by the call in the lane, which says more of it.
    if (reason == EPIPE || reason == ECONNRESET || has_ended()) break;
    if (reason != EAGAIN && reason != EWOULDBLOCK) {
      return error(Error::OutOfResources, info.function, " of backend ", subject_.backend,
                   ": a lane cannot be sent to the worker: ", errno_text(reason));
    }
    pollfd waited[] = {{launched_.service.get(), POLLOUT, 0},
                       {launched_.supervisor.get(), POLLIN, 0}};
    ::poll(waited, std::size(waited), static_cast<int>(slice_ns / 1'000'000));
    if (!has_time(watch, 0, info)) return died_in(lane, info, late(info));
  }
  return ok();
}

bool Worker::has_time(CallWatch& watch, std::int64_t waited_ns, const CallInfo& info) const {
  const CallWatch::Verdict verdict = watch.look(CallWatch::now_ns(), waited_ns);
  if (verdict == CallWatch::Verdict::report) {
    const std::string text =
        concat("the worker has not returned for ", watch.seconds(), " s from ",
               text_of(info, subject_.backend), ", which has no deadline [", subject_.plugin, "]");
    host_->log(host_, TENON_LOG_INFO, text.data(), text.size());
  }
  return verdict != CallWatch::Verdict::give_up;
}

void Worker::give_back(ApplicationLane* lane) {
  const std::lock_guard lock(mutex_);
  free_lanes_.push_back(lane);
}

Status Worker::dead_status() const {
  const std::lock_guard lock(mutex_);
  return error(Error::InvalidState, host::worker_dead_text, death_);
}

bool Worker::has_ended() {
  const std::lock_guard lock(mutex_);
  if (has_ended_) return true;
  Ending ending{};
  const Received received = receive_message(
      launched_.supervisor.get(), std::as_writable_bytes(std::span(&ending, 1)), MSG_DONTWAIT);
  if (received.size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  has_ended_ = true;
  if (received.size == sizeof ending) ending_ = ending;
  return true;
}

Status Worker::died_in(const ApplicationLane& lane, const CallInfo& info, std::string_view reason) {
  if (!reason.empty()) kill();
  if (!has_ended()) {
    await(launched_.supervisor.get());
    static_cast<void>(has_ended());
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;  // Also without a report, for which no call waits again.
  std::string text = concat(host::worker_died_text, text_of(info, subject_.backend), ": ");
  std::string crash = crash_text(lane.header().crash);
  // Of a thread that is in no call.
  for (const auto& other : lanes_) {
    if (crash.empty()) crash = crash_text(other->header().crash);
  }
  if (!reason.empty()) {
    text += reason;
  } else if (!crash.empty()) {
    text += crash;
  } else {
    text += ending_text(ending_);
  }
  text += concat(" [", subject_.plugin, "]");
  const std::string_view wrote = text_in(ending_.text, ending_.text_size);
  if (!wrote.empty()) text += concat("; it wrote: ", wrote);
  const std::string_view refusals = text_in(ending_.refusals, ending_.refusals_size);
  if (!refusals.empty()) text += concat("; its profile: ", refusals);
  if (death_.empty()) death_ = text;
  is_dead_.store(true);
  return error(Error::Internal, text);
}

Result<CallResult> Worker::call(ApplicationLane& lane, Call kind, const CallInfo& info,
                                std::span<const int> descriptors) {
  try {
    return converse(lane, kind, info, descriptors);
  } catch (const std::bad_alloc&) {
    // The worker may be in the middle of a question, and can make no other call.
    return died_in(lane, info, "there was no memory for what it sent, and it was ended");
  }
}

Result<CallResult> Worker::converse(ApplicationLane& lane, Call kind, const CallInfo& info,
                                    std::span<const int> descriptors) {
  if (is_in_child_of_fork()) [[unlikely]] {
    return error(Error::InvalidState, "the worker of ", subject_.backend,
                 " belongs to the process that this one was forked from");
  }
  LaneHeader& header = lane.header();
  pass_cancel_flag(header, info);
  const Status sent = lane.send(static_cast<std::uint32_t>(kind), descriptors);
  if (!sent.ok()) return died_in(lane, info, has_ended() ? "" : sent.text());
  if (info.arguments) info.arguments->look_ahead();
  CallWatch watch(info.deadline_ms);
  bool spins = true;
  for (;;) {
    const std::int64_t slice = info.cancel_flag ? cancel_slice_ns : slice_ns;
    if (!lane.wait(slice, spins)) [[unlikely]] {
      spins = false;
      pass_cancel_flag(header, info);
      if (has_ended()) return died_in(lane, info, "");
      if (!lane.has_turn()) return died_in(lane, info, "the turn of its lane is no side's");
      if (!has_time(watch, slice, info)) return died_in(lane, info, late(info));
      continue;
    }
    const Status received = lane.receive(info.max_message);
    if (!received.ok()) return died_in(lane, info, received.text());
    if (lane.kind() == static_cast<std::uint32_t>(Answer::done)) {
      auto result = take_answer(lane, info);
      if (!result.ok()) return died_in(lane, info, result.text());
      return result;
    }
    // Before the answer: a worker that asks without end is to see that it is cancelled.
    pass_cancel_flag(header, info);
    const Status done = answer(lane, info);
    if (!done.ok()) return died_in(lane, info, has_ended() ? "" : done.text());
    spins = true;
    if (!has_time(watch, 0, info)) return died_in(lane, info, late(info));
  }
}

Result<CallResult> Worker::take_answer(ApplicationLane& lane, const CallInfo& info) const {
  Reader from(lane.in());
  CallResult out;
  out.status = from.get<tenon_status>();
  out.text = from.get_text();
  const auto num_events = from.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < num_events && from.ok(); ++i) {
    const bool is_counter = from.get<std::uint8_t>() != 0;
    const std::string_view name = from.get_text();
    if (is_counter) {
      const std::string_view unit = from.get_text();
      const auto at = from.get<std::uint64_t>();
      const auto value = from.get<double>();
      if (!from.ok() || !info.tracer || info.tracer->struct_size < sizeof(tenon_tracer) ||
          !info.tracer->log_counter) {
        continue;
      }
      info.tracer->log_counter(info.tracer, name.data(), name.size(), unit.data(), unit.size(), at,
                               value);
    } else {
      const auto handle = from.get<std::int64_t>();
      const auto start = from.get<std::uint64_t>();
      const auto end = from.get<std::uint64_t>();
      const auto metadata = from.get_bytes();
      if (!from.ok() || !info.tracer) continue;
      info.tracer->log_event(info.tracer, name.data(), name.size(), handle, start, end,
                             metadata.data(), metadata.size());
    }
  }
  if (!from.ok()) return error(Error::Internal, "its answer cannot be read");
  out.body = from;
  return out;
}

Status Worker::answer(ApplicationLane& lane, const CallInfo& info) const {
  TENON_TRY(const host::FileDescriptor file, Questions(lane, info, *host_).answer());
  const int descriptor = file.get();
  return lane.send(answered, {&descriptor, file.valid() ? std::size_t{1} : std::size_t{0}});
}

}  // namespace tenon::isolated
