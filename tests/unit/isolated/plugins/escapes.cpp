// SPDX-License-Identifier: MIT
//
// Adds two float32 tensors, and tries to get out of its process in the way that an option chooses.
// A call that is refused with EPERM or EACCES makes `execute` fail with its name; an escape that
// succeeds is a sum.
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>
#include <utility>

namespace {

long read_passwords() { return ::open("/etc/passwd", O_RDONLY | O_CLOEXEC); }

long write_file() { return ::open("/tmp/tenon-escaped", O_CREAT | O_WRONLY | O_CLOEXEC, 0600); }

long connect() { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

long listen() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

long trace_parent() { return ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr); }

long read_parent() {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{&byte, 1};
  return ::process_vm_readv(::getppid(), &here, 1, &there, 1, 0);
}

long kill_parent() { return ::kill(::getppid(), SIGKILL); }

long start_program() {
  char name[] = "/bin/true";
  char* const arguments[] = {name, nullptr};
  char* const environment[] = {nullptr};
  return ::execve(name, arguments, environment);
}

long mount_over() { return ::mount("none", "/tmp", "tmpfs", 0, nullptr); }

long read_keys() { return ::syscall(SYS_keyctl, 0, -1, 0); }

long load_kernel_code() { return ::syscall(SYS_bpf, 0, nullptr, 0); }

struct Attempt {
  std::string_view name;
  long (*run)();
};

constexpr Attempt attempts[] = {
    {"read_passwords", &read_passwords},
    {"write_file", &write_file},
    {"connect", &connect},
    {"listen", &listen},
    {"trace_parent", &trace_parent},
    {"read_parent", &read_parent},
    {"kill_parent", &kill_parent},
    {"start_program", &start_program},
    {"mount_over", &mount_over},
    {"read_keys", &read_keys},
    {"load_kernel_code", &load_kernel_code},
};

class Escapes final : public tenon::Backend<Escapes>, public tenon::WithOptions<Escapes> {
 public:
  static constexpr std::string_view id = "Add";
  static constexpr std::array options{tenon::OptionSpec{"how", "", "what it tries"}};

  struct Delegate {
    std::string how;
  };

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob, tenon::CompileSpecs) {
    TENON_TRY(auto values, option_values(context));
    TENON_TRY(auto how, values.get<std::string>("how"));
    return Delegate{std::move(how)};
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(3));
    TENON_TRY(auto a, args.tensor<const float>(0));
    TENON_TRY(auto b, args.tensor<const float>(1));
    TENON_RETURN_IF_ERROR(args.resize(2, a.sizes()));
    TENON_TRY(auto out, args.tensor<float>(2));
    for (const Attempt& each : attempts) {
      if (each.name != delegate.how) continue;
      if (each.run() < 0) return tenon::error(tenon::Error::AccessFailed, each.name, " is refused");
    }
    std::ranges::transform(a, b, out.begin(), std::plus{});
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(Escapes);
