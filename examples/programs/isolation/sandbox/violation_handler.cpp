// SPDX-License-Identifier: MIT
#include "sandbox/violation_handler.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "sandbox/direct_call.hpp"
#include "sandbox/filter.hpp"
#include "sandbox/system_calls.hpp"
#include "sandbox/system_failure.hpp"

namespace tenon::isolated {
namespace {

Violations* written = nullptr;

/// The registers of a call that was stopped.
class StoppedCall {
 public:
  explicit StoppedCall(void* context) noexcept : context_(static_cast<ucontext_t*>(context)) {}

  [[nodiscard]] std::array<std::uint64_t, 6> arguments() const noexcept {
#if defined(__x86_64__)
    constexpr int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    std::array<std::uint64_t, 6> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::uint64_t>(context_->uc_mcontext.gregs[registers[i]]);
    }
    return values;
#else
    std::array<std::uint64_t, 6> values{};
    std::copy_n(&context_->uc_mcontext.regs[0], values.size(), values.begin());
    return values;
#endif
  }

  /// The result that the caller of the call gets.
  void set_result(long result) noexcept {
#if defined(__x86_64__)
    context_->uc_mcontext.gregs[REG_RAX] = result;
#else
    context_->uc_mcontext.regs[0] = static_cast<std::uint64_t>(result);
#endif
  }

  /// The mask that the thread has once the handler returned; the kernel's has 64 bits.
  [[nodiscard]] std::uint64_t mask() const noexcept {
    std::uint64_t mask = 0;
    std::memcpy(&mask, &context_->uc_sigmask, sizeof mask);
    return mask;
  }
  void set_mask(std::uint64_t mask) noexcept {
    std::memcpy(&context_->uc_sigmask, &mask, sizeof mask);
  }

 private:
  ucontext_t* context_;
};

struct Refused {
  const siginfo_t& info;
  const std::array<std::uint64_t, 6>& arguments;
  /// Null when the call has none.
  const char* path;
  bool ends;
};

bool same(const Violations::Entry& entry, const Refused& refused) {
  if (entry.call != refused.info.si_syscall || entry.architecture != refused.info.si_arch) {
    return false;
  }
  if (refused.path == nullptr) return entry.path[0] == '\0';
  return std::strncmp(entry.path.data(), refused.path, entry.path.size() - 1) == 0;
}

// Asks the system for nothing that the filter refuses, and takes no lock: it runs in any place of
// the plugin's code.
void record(const Refused& refused) {
  written->count.fetch_add(1, std::memory_order_relaxed);
  if (refused.ends) written->ended.store(1, std::memory_order_release);
  for (Violations::Entry& entry : written->entries) {
    std::uint32_t state = entry.state.load(std::memory_order_acquire);
    if (state == 2 && !refused.ends && same(entry, refused)) {
      entry.count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    // The call that ends the process has the last entry when all are taken.
    const bool is_last = &entry == &written->entries.back();
    if (state != 0 && !(refused.ends && is_last)) continue;
    if (!entry.state.compare_exchange_strong(state, 1, std::memory_order_acq_rel)) continue;
    entry.call = refused.info.si_syscall;
    entry.architecture = refused.info.si_arch;
    entry.count.store(1, std::memory_order_relaxed);
    entry.thread = static_cast<std::int32_t>(::syscall(SYS_gettid));
    entry.ended = refused.ends ? 1 : 0;
    entry.address = std::bit_cast<std::uintptr_t>(refused.info.si_call_addr);
    entry.arguments = refused.arguments;
    entry.path = {};
    if (refused.path != nullptr) {
      const std::size_t size = ::strnlen(refused.path, entry.path.size() - 1);
      std::memcpy(entry.path.data(), refused.path, size);
    }
    entry.state.store(2, std::memory_order_release);
    return;
  }
}

/// `open` and `openat`. A failure other than of access means that the kernel may not have read the
/// path, so it is not read here either.
long open_file(const siginfo_t& info, const std::array<std::uint64_t, 6>& arguments) {
  const auto argument = [&](std::size_t i) { return static_cast<long>(arguments[i]); };
  const long result =
      tenon_sandbox_call(info.si_syscall, argument(0), argument(1), argument(2), argument(3));
  if (result == -EACCES || result == -EPERM || result == -EROFS) {
    const std::size_t path = info.si_syscall == SYS_openat ? 1 : 0;
    record({info, arguments, std::bit_cast<const char*>(arguments[path]), false});
  }
  return result;
}

long change_mask(StoppedCall& call, const std::array<std::uint64_t, 6>& arguments) {
  constexpr std::uint64_t own_signal = std::uint64_t{1} << (SIGSYS - 1);
  std::uint64_t old = call.mask();
  if (arguments[3] != sizeof old) return -EINVAL;
  if (arguments[1] != 0) {
    std::uint64_t given = 0;
    std::memcpy(&given, std::bit_cast<const void*>(arguments[1]), sizeof given);
    switch (static_cast<int>(arguments[0])) {
      case SIG_BLOCK:
        given |= old;
        break;
      case SIG_UNBLOCK:
        given = old & ~given;
        break;
      case SIG_SETMASK:
        break;
      default:
        return -EINVAL;
    }
    call.set_mask(given & ~own_signal);
  }
  if (arguments[2] != 0) std::memcpy(std::bit_cast<void*>(arguments[2]), &old, sizeof old);
  return 0;
}

/// A question for the handler of SIGSYS, which there seems to be none of. False: another call.
bool is_asked_for_handler(const siginfo_t& info, const std::array<std::uint64_t, 6>& arguments) {
  if (info.si_syscall != SYS_rt_sigaction || arguments[1] != 0) return false;
  // The kernel's struct: handler, flags, restorer, mask.
  if (arguments[2] != 0) std::memset(std::bit_cast<void*>(arguments[2]), 0, 4 * sizeof(long));
  return true;
}

void handle(int, siginfo_t* info, void* context) {
  const int kept = errno;
  StoppedCall call(context);
  const std::array<std::uint64_t, 6> arguments = call.arguments();
  switch (static_cast<Answer>(info->si_errno)) {
    case Answer::open:
      call.set_result(open_file(*info, arguments));
      break;
    case Answer::mask:
      call.set_result(change_mask(call, arguments));
      break;
    case Answer::refuse:
      if (is_asked_for_handler(*info, arguments)) {
        call.set_result(0);
        break;
      }
      record({*info, arguments, nullptr, false});
      call.set_result(-EPERM);
      break;
    default:
      record({*info, arguments, nullptr, true});
      tenon_sandbox_call(ending_call, 0, 0, 0, 0);
      break;
  }
  errno = kept;
}

}  // namespace

Status install_violation_handler(Violations& violations) {
  written = &violations;
  struct sigaction action{};
  action.sa_sigaction = handle;
  // Not deferred: a signal whose handler is interrupted by a call of another one.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  if (::sigaction(SIGSYS, &action, nullptr) != 0) {
    return system_failure("sigaction");
  }
  sigset_t own;
  ::sigemptyset(&own);
  ::sigaddset(&own, SIGSYS);
  ::sigprocmask(SIG_UNBLOCK, &own, nullptr);
  return ok();
}

}  // namespace tenon::isolated
