// SPDX-License-Identifier: MIT
//
// Adds two float32 tensors, as the example `hello`, and ends its process in a way that an option
// chooses when it meets 666.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>
#include <thread>

namespace {

volatile int zero = 0;

[[gnu::noinline]] int overflow(volatile int* before) {
  if (zero == 1) return 0;  // Never; a compiler refuses a recursion without end.
  volatile int here[1024];
  here[0] = before ? *before + 1 : 1;
  return overflow(here) + here[0];
}

void hang() {
  for (;;) ::pause();
}

/// Starts a process that is in no group or session of this one, and whose parent ends.
void start_daemon(void (*body)()) {
  const pid_t child = ::fork();
  if (child > 0) {
    ::waitpid(child, nullptr, 0);
    return;
  }
  ::setsid();
  if (::fork() == 0) body();
  ::_exit(0);
}

/// Another process at each moment: it makes the next one and ends. After some seconds the last one
/// stays, so that a test which fails leaves no more than that.
void pass_on() {
  for (int i = 0; i < 2000; ++i) {
    ::setsid();
    if (::fork() > 0) ::_exit(0);
    ::usleep(1000);
  }
  hang();
}

/// Each process makes others, up to a number of all.
void multiply() {
  auto* const made = static_cast<std::atomic<int>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  while (made->fetch_add(1) < 100) ::fork();
  hang();
}

void start_sleep() {
  char name[] = "/bin/sleep";
  char time[] = "77777.25";
  char* const arguments[] = {name, time, nullptr};
  ::execv(name, arguments);
}

void start(std::string_view what) {
  if (what == "daemon") start_daemon(&hang);
  if (what == "program") start_daemon(&start_sleep);
  if (what == "multiply") start_daemon(&multiply);
  if (what == "pass_on") {
    for (int i = 0; i < 4; ++i) start_daemon(&pass_on);
  }
}

void die(std::string_view how) {
  if (how == "segv") *reinterpret_cast<volatile int*>(static_cast<std::uintptr_t>(zero) + 0x10) = 1;
  if (how == "abort") std::abort();
  if (how == "bus") {
    const int file = ::memfd_create("empty", MFD_CLOEXEC);
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    *static_cast<volatile int*>(page) = 1;
  }
  if (how == "fpe") {
#if defined(__x86_64__)
    volatile int one = 1;
    asm volatile("cltd\n\tidivl %1" : : "a"(one), "r"(0) : "edx", "cc");
#else
    ::raise(SIGFPE);  // A division by zero has a result there.
#endif
  }
  if (how == "ill") __builtin_trap();
  if (how == "exit") std::exit(7);
  if (how == "_exit") ::_exit(8);
  if (how == "kill") ::kill(::getpid(), SIGKILL);
  if (how == "stop") {
    ::kill(::getpid(), SIGSTOP);
    hang();  // The signal is for the process; this thread need not be the first that stops.
  }
  if (how == "hang") hang();
  if (how == "overflow") zero = overflow(nullptr);
  if (how == "terminate") std::thread([] { throw 1; }).join();
  if (how == "thread") std::thread([] { die("segv"); }).join();
  if (how == "close") {
    for (int i = 0; i < 1024; ++i) ::close(i);
    hang();
  }
  if (how == "speak") {
    static_cast<void>(::write(2, "the last words\n", 15));
    ::_exit(9);
  }
}

class Dies final : public tenon::Backend<Dies>, public tenon::WithOptions<Dies> {
 public:
  static constexpr std::string_view id = "Add";
  static constexpr std::array options{
      tenon::OptionSpec{"how", "", "how it ends"},
      tenon::OptionSpec{"where", "execute", "the function that ends"},
      tenon::OptionSpec{"starts", "", "the processes that it starts first"}};

  struct Delegate {
    std::string how;
    std::string where;
  };

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob, tenon::CompileSpecs) {
    TENON_TRY(auto values, option_values(context));
    TENON_TRY(auto how, values.get<std::string>("how"));
    TENON_TRY(auto where, values.get<std::string>("where"));
    TENON_TRY(auto starts, values.get<std::string>("starts"));
    start(starts);
    if (where == "init") die(how);
    return Delegate{std::move(how), std::move(where)};
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    // A single input is added to itself.
    if (args.size() != 2) TENON_RETURN_IF_ERROR(args.expect(3));
    const std::size_t last = args.size() - 1;
    TENON_TRY(auto a, args.tensor<const float>(0));
    TENON_TRY(auto b, args.tensor<const float>(last - 1));
    TENON_RETURN_IF_ERROR(args.resize(last, a.sizes()));
    TENON_TRY(auto out, args.tensor<float>(last));
    if (delegate.where == "input") const_cast<float&>(*a.begin()) = 1;
    const bool meets = std::ranges::find(a, 666.0f) != a.end();
    if (meets && delegate.where == "execute") die(delegate.how);
    std::ranges::transform(a, b, out.begin(), std::plus{});
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(Dies);
