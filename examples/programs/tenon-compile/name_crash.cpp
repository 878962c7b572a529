// SPDX-License-Identifier: MIT
#include "compile.hpp"

#if defined(_WIN32)
#include <io.h>

#include <csignal>

#include "tenon/host/platform/windows/api.hpp"
#include "tenon/host/platform/windows/exception_name.hpp"
#else
#include <signal.h>
#include <unistd.h>
#endif

#include <array>
#include <cstddef>
#include <string_view>

#include "tenon/aot/compiler/partition/plugin_call.hpp"

namespace tenon::compile {
namespace {

/// A line, made without allocating, which a handler must not do.
class Line {
 public:
  /// Control characters of paths and names become '?'.
  Line& operator<<(std::string_view text) noexcept {
    for (const char character : text) {
      if (used_ == text_.size() - 1) break;
      const auto letter = static_cast<unsigned char>(character);
      text_[used_++] = letter < 0x20 || letter == 0x7f ? '?' : character;
    }
    return *this;
  }
  void write_to_standard_error() noexcept {
    text_[used_++] = '\n';
#if defined(_WIN32)
    ::_write(2, text_.data(), static_cast<unsigned>(used_));
#else
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text_.data(), used_);
#endif
  }

 private:
  std::array<char, 4096> text_{};
  std::size_t used_ = 0;
};

/// Writes which call into a plugin `cause` ends, unless none runs. `accessed` is the memory that
/// could not be accessed, or null.
void name_plugin(std::string_view cause, const void* accessed) noexcept {
  const aot::PluginCall* const call = aot::current_plugin_call();
  if (!call) return;
  const char* const weight = accessed ? call->weight_at(accessed) : nullptr;
  Line line;
  line << "tenon-compile: backend " << call->backend << " (" << call->plugin
       << "): " << call->function << ": ";
  if (weight) {
    line << "wrote to the data of '" << weight << "', which it may only read (TN-AOT-6): ";
  }
  line << "ended by " << cause;
  line.write_to_standard_error();
}

#if defined(_WIN32)

::LONG WINAPI on_exception(::EXCEPTION_POINTERS* exception) noexcept {
  const ::EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  const bool is_access =
      record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION && record.NumberParameters >= 2;
  name_plugin(host::platform::exception_name(record.ExceptionCode),
              is_access ? reinterpret_cast<const void*>(record.ExceptionInformation[1]) : nullptr);
  return EXCEPTION_CONTINUE_SEARCH;
}

void on_abort(int) noexcept { name_plugin("abort", nullptr); }

#else

struct NamedSignal {
  int number;
  const char* name;
};
constexpr NamedSignal signals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},
                                   {SIGFPE, "SIGFPE"},   {SIGABRT, "SIGABRT"}, {SIGTRAP, "SIGTRAP"},
                                   {SIGSYS, "SIGSYS"}};

void on_signal(int number, siginfo_t* info, void*) noexcept {
  const char* name = "a signal";
  for (const NamedSignal& one : signals) {
    if (one.number == number) name = one.name;
  }
  name_plugin(name, number == SIGSEGV ? info->si_addr : nullptr);
  ::signal(number, SIG_DFL);
  ::raise(number);
}

#endif

}  // namespace

void name_plugins_that_crash() {
#if defined(_WIN32)
  ::SetUnhandledExceptionFilter(&on_exception);
  std::signal(SIGABRT, &on_abort);
#else
  alignas(std::max_align_t) static std::array<std::byte, std::size_t{64} << 10> stack;
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_sigaction = &on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const NamedSignal& one : signals) ::sigaction(one.number, &action, nullptr);
#endif
}

}  // namespace tenon::compile
