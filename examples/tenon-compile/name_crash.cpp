// SPDX-License-Identifier: MIT
#include "name_crash.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstddef>

#include "tenon/aot/compiler/partition/plugin_call.hpp"

namespace tenon::compile {
namespace {

/// A line, made without allocating, which a handler must not do.
class Line {
 public:
  /// Control characters of paths and names become '?'.
  Line& operator<<(const char* text) noexcept {
    for (; *text != '\0' && used_ < text_.size() - 1; ++text) {
      const auto letter = static_cast<unsigned char>(*text);
      text_[used_++] = letter < 0x20 || letter == 0x7f ? '?' : *text;
    }
    return *this;
  }
  void write_to(int descriptor) noexcept {
    text_[used_++] = '\n';
    [[maybe_unused]] const ssize_t written = ::write(descriptor, text_.data(), used_);
  }

 private:
  std::array<char, 4096> text_{};
  std::size_t used_ = 0;
};

struct NamedSignal {
  int number;
  const char* name;
};
constexpr NamedSignal signals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},
                                   {SIGFPE, "SIGFPE"},   {SIGABRT, "SIGABRT"}, {SIGTRAP, "SIGTRAP"},
                                   {SIGSYS, "SIGSYS"}};

void name_plugin(int number, siginfo_t* info, void*) noexcept {
  if (const aot::PluginCall* const call = aot::current_plugin_call()) {
    const char* name = "a signal";
    for (const NamedSignal& one : signals) {
      if (one.number == number) name = one.name;
    }
    const char* const weight = number == SIGSEGV ? call->weight_at(info->si_addr) : nullptr;
    Line line;
    line << "tenon-compile: backend " << call->backend << " (" << call->plugin
         << "): " << call->function << ": ";
    if (weight) {
      line << "wrote to the data of '" << weight << "', which it may only read (TN-AOT-6): ";
    }
    line << "ended by " << name;
    line.write_to(STDERR_FILENO);
  }
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace

void name_plugins_that_crash() {
  alignas(std::max_align_t) static std::array<std::byte, std::size_t{64} << 10> stack;
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_sigaction = &name_plugin;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const NamedSignal& one : signals) ::sigaction(one.number, &action, nullptr);
}

}  // namespace tenon::compile
