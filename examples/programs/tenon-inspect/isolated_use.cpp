// SPDX-License-Identifier: MIT
#include "isolated_use.hpp"

#if defined(TENON_WORKER_SANDBOX)
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "sandbox/call_report.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/signal_name.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/arrays/exported_value.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/layers/external_memory/imported_pages.hpp"
#include "tenon/host/layers/kernels/plugin_kernels.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/platform/path_text.hpp"
#endif

namespace tenon::inspect {

#if defined(TENON_WORKER_SANDBOX)

namespace {

using Program = std::shared_ptr<const host::Program>;
constexpr unsigned longest_seconds = 60;

Status set_zeros(host::Method& method) {
  for (std::size_t i = 0; i < method.num_inputs(); ++i) {
    const tenon_value& value = method.input(i);
    if (value.kind == TENON_VALUE_NONE) continue;
    if (value.kind != TENON_VALUE_TENSOR) {
      TENON_RETURN_IF_ERROR(method.set_input(i, host::exported_value(value)));
      continue;
    }
    const tenon_tensor& tensor = *value.as.tensor;
    const auto* const type = find_scalar_type(tensor.scalar_type);
    if (!type) return error(Error::InvalidType, "input ", i, " has an unknown dtype");
    const std::span sizes(tensor.dl.shape, static_cast<std::size_t>(tensor.dl.ndim));
    const std::vector<std::byte> zeros(static_cast<std::size_t>(tensor.nbytes));
    TENON_RETURN_IF_ERROR(method.set_input(i, host::InputTensor{type->type, sizes, zeros}));
  }
  return ok();
}

/// Everything that is tried of a plugin.
Status use_plugin(host::OpenedFile file, const Program& program) {
  TENON_TRY(const auto plugin,
            host::Plugin::load(std::move(file), nullptr, host::all_layers({"tenon-inspect", {}})));
  host::MethodOptions options{
      .layers = {host::Devices(), host::ImportedPages(), host::PluginKernels()}};
  for (const host::BackendRecord& record : plugin->record().backends) {
    TENON_TRY(const auto backend, plugin->backend(record.id));
    TENON_RETURN_IF_ERROR(backend->is_available().with_context(record.id));
    options.backends.emplace_back(backend);
  }
  if (!program) return ok();
  TENON_TRY(const host::Variants variants, host::Variants::of(*program));
  for (const std::string_view name : variants.visible_methods()) {
    TENON_TRY(const auto method, host::Method::load(program, name, options));
    TENON_RETURN_IF_ERROR(set_zeros(*method));
    TENON_RETURN_IF_ERROR(method->execute());
  }
  return ok();
}

/// Memory that a child shares with this process. The child can write anything.
struct Shared {
  isolated::Violations violations;
  std::uint32_t is_done;
  std::uint32_t code;
  std::array<char, 4096> text;
};

/// The end of a child.
struct Ending {
  Status outcome;
  std::vector<std::string> refusals;
};

class Child {
 public:
  /// Forks. `prepare` runs in the child, and then what is tried.
  template <class Prepare>
  static Result<Child> start(const host::OpenedFile& file, const Program& program,
                             const Prepare& prepare) {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return error(Error::MemoryAllocationFailed, "no memory of ", sizeof(Shared),
                   " bytes to share with a child");
    Child out;
    out.shared_ = new (memory) Shared{};
    out.process_ = ::fork();
    if (out.process_ < 0) {
      return error(Error::AccessFailed, "no process for the plugin: ", std::strerror(errno));
    }
    if (out.process_ == 0) run(*out.shared_, file, program, prepare);
    return out;
  }
  Child(Child&& other) noexcept
      : shared_(std::exchange(other.shared_, nullptr)),
        process_(std::exchange(other.process_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (process_ > 0) static_cast<void>(wait());
    if (shared_) ::munmap(shared_, sizeof *shared_);
  }

  [[nodiscard]] Ending wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    Ending out;
    for (const isolated::Violation& each : isolated::read_violations(shared_->violations)) {
      out.refusals.push_back(isolated::describe(each));
    }
    if (WIFSIGNALED(status)) {
      const int signal = WTERMSIG(status);
      out.outcome = signal == SIGALRM
                        ? error(Error::Internal, "it took longer than ", longest_seconds, " s")
                        : error(Error::Internal, "it was ended by ", isolated::signal_name(signal));
    } else if (shared_->is_done == 0) {
      out.outcome = error(Error::Internal, "it exited with code ", WEXITSTATUS(status));
    } else if (shared_->code != 0) {
      const std::size_t size = ::strnlen(shared_->text.data(), shared_->text.size());
      out.outcome =
          Status(static_cast<Error>(shared_->code), std::string(shared_->text.data(), size));
    }
    return out;
  }

 private:
  Child() = default;

  template <class Prepare>
  [[noreturn]] static void run(Shared& shared, const host::OpenedFile& file, const Program& program,
                               const Prepare& prepare) {
    ::alarm(longest_seconds);
    Status outcome = prepare(shared.violations);
    if (outcome.ok()) {
      const int descriptor = ::fcntl(file.descriptor.get(), F_DUPFD_CLOEXEC, 0);
      host::OpenedFile copy{host::FileDescriptor(descriptor), file.path, file.identity, file.trust,
                            true};
      outcome = use_plugin(std::move(copy), program);
    }
    const std::string_view text = outcome.text();
    text.copy(shared.text.data(), std::min(text.size(), shared.text.size() - 1));
    shared.code = static_cast<std::uint32_t>(outcome.error());
    shared.is_done = 1;
    ::_exit(0);
  }

  Shared* shared_ = nullptr;
  pid_t process_ = -1;
};

/// The environment that a worker of `profile` gets.
void reduce_environment(isolated::Profile profile) {
  std::vector<std::string> names;
  for (char* const* each = environ; each && *each; ++each) {
    const std::string_view variable = *each;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (!isolated::passes_environment(name, profile)) names.emplace_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

/// Runs the plugin without a profile. `outcome` receives the plugin's outcome.
Status count_calls(const host::OpenedFile& file, const Program& program, IsolatedUse& out,
                   Status& outcome) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return error(Error::AccessFailed, "no socket: ", std::strerror(errno));
  }
  const host::FileDescriptor mine(ends[0]);
  host::FileDescriptor of_child(ends[1]);
  TENON_TRY(Child child, Child::start(file, program, [&](isolated::Violations&) -> Status {
              ::close(mine.get());
              return isolated::report_calls(of_child.get());
            }));
  of_child = {};
  auto reporter = isolated::CallReporter::receive(mine.get());
  if (!reporter.ok()) {
    // The child says why: the kernel does not report calls, or the system forbids it.
    Status reason = child.wait().outcome;
    return reason.ok() ? std::move(reporter).status() : std::move(reason);
  }
  TENON_TRY(isolated::CallReport report, reporter->serve());
  outcome = child.wait().outcome;
  out.calls = std::move(report.calls);
  for (const auto& [path, is_written] : report.files) {
    // The plugin itself, as the host opens it.
    if (path.starts_with("/proc/") && path.find("/fd/") != std::string::npos) continue;
    const bool is_device = path.starts_with("/dev/");
    (is_device ? out.devices : out.files).push_back({path, is_written});
  }
  return ok();
}

Result<ProfileTrial> try_profile(const host::OpenedFile& file, const Program& program,
                                 isolated::Profile profile, const Status& expected) {
  ProfileTrial out;
  out.profile = isolated::profile_name(profile);
  TENON_TRY(Child child,
            Child::start(file, program, [&](isolated::Violations& violations) -> Status {
              reduce_environment(profile);
              isolated::SandboxOptions options;
              options.profile = profile;
              options.readable = {host::path_text(file.path.parent_path())};
              options.violations = &violations;
              return isolated::restrict_process(options).status();
            }));
  Ending ending = child.wait();
  out.refusals = std::move(ending.refusals);
  out.runs = ending.outcome.error() == expected.error() && ending.outcome.text() == expected.text();
  if (!out.runs) {
    out.reason = ending.outcome.ok() ? "it succeeds, and fails without a profile"
                                     : std::string(ending.outcome.text());
  }
  return out;
}

Status examine(const host::OpenedFile& file, const Program& program, IsolatedUse& out) {
  Status outcome;
  TENON_RETURN_IF_ERROR(count_calls(file, program, out, outcome));
  using enum isolated::Profile;
  for (const isolated::Profile profile : {strict, driver, open}) {
    TENON_TRY(ProfileTrial trial, try_profile(file, program, profile, outcome));
    out.trials.push_back(std::move(trial));
  }
  return outcome;
}

}  // namespace

IsolatedUse examine_isolated(const host::OpenedFile& file, const Program& program) {
  IsolatedUse out;
  out.failure = examine(file, program, out);
  return out;
}

#else

IsolatedUse examine_isolated(const host::OpenedFile&, const std::shared_ptr<const host::Program>&) {
  return {.failure = error(Error::NotSupported,
                           "--isolated: profiles of a worker, and a count of its calls, exist for "
                           "Linux on x86-64 and arm64 alone")};
}

#endif

}  // namespace tenon::inspect
