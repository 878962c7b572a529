// SPDX-License-Identifier: MIT
// What code that computes does in each profile, and what the profiles allow beyond it.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "in_sandbox.hpp"
#include "sandbox/file_access.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace {

using isolated::Profile;
using test::in_sandbox;
using test::Outcome;

void is_done(const Outcome& outcome) {
  INFO(outcome.text() << outcome.failure);
  CHECK(outcome.code == 0);
  CHECK(outcome.signal == 0);
}

const std::string hello_plugin = TENON_HELLO_PLUGIN;
const std::string folder_of_hello = hello_plugin.substr(0, hello_plugin.rfind('/'));

int loads(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 1;
  const bool found = ::dlsym(library, "tenon_plugin_v1") != nullptr;
  return ::dlclose(library) == 0 && found ? 0 : 2;
}

TEST_CASE("a plugin is opened after its process was restricted, from a directory that is readable",
          "[sandbox]") {
  if (!test::can_run()) return;
  for (const Profile profile : {Profile::open, Profile::driver, Profile::strict}) {
    is_done(in_sandbox({.profile = profile, .readable = {folder_of_hello}},
                       [] { return loads(hello_plugin); }));
  }
  const Outcome outcome = in_sandbox({}, [] { return loads(hello_plugin); });
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.text(), ContainsSubstring("refused openat of " + hello_plugin));
}

TEST_CASE("code from memory without a name is loaded in strict, as models of AOTInductor are",
          "[sandbox]") {
  if (!test::can_run()) return;
  is_done(in_sandbox({.readable = {folder_of_hello}}, [] {
    std::ifstream file(hello_plugin, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const int code = ::memfd_create("model", MFD_ALLOW_SEALING);
    if (code < 0) return 10;
    if (::write(code, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return 11;
    if (::fcntl(code, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0) return 12;
    return loads("/proc/self/fd/" + std::to_string(code));
  }));
}

TEST_CASE("a thread names another one in driver, as CUDA's driver does, and not in strict",
          "[sandbox]") {
  if (!test::can_run()) return;
  const auto name_another = [] {
    std::atomic<bool> is_done = false;
    std::jthread other([&] { is_done.wait(false); });
    int failure = ::pthread_setname_np(other.native_handle(), "named");
    const int own = ::gettid();
    const std::string comm = "/proc/self/task/" + std::to_string(own) + "/comm";
    const int file = ::open(comm.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0) failure = errno;
    is_done = true;
    is_done.notify_all();
    return failure;
  };
  is_done(in_sandbox({.profile = Profile::driver}, name_another));
  const Outcome refused = in_sandbox({}, name_another);
  CHECK(refused.code == EACCES);
  CHECK_THAT(refused.text(), ContainsSubstring("refused openat of /proc/self/task/"));
}

TEST_CASE("a driver waits for other processes on a socket, and reaches none by one", "[sandbox]") {
  if (!test::can_run()) return;
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tenon-test-%d", ::getpid());
  const auto* const address = reinterpret_cast<const sockaddr*>(&name);
  const auto waits = [&] {
    const int made = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (made < 0) return 1;
    if (::setsockopt(made, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return 2;
    if (::bind(made, address, sizeof name) != 0 || ::listen(made, 16) != 0) return 3;
    if (::fcntl(made, F_SETFL, O_NONBLOCK) != 0) return 4;
    return ::accept4(made, nullptr, nullptr, 0) < 0 && errno == EAGAIN ? 0 : 5;
  };
  is_done(in_sandbox({.profile = Profile::driver}, waits));
  CHECK(in_sandbox({}, waits).code == 1);
  const Outcome refused = in_sandbox({.profile = Profile::driver}, [&] {
    const int made = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    const int off = 0;
    int wrong = ::connect(made, address, sizeof name) == 0 || errno != EPERM ? 1 : 0;
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
      if (::socket(AF_UNIX, type, 0) >= 0 || errno != EPERM) wrong |= 2;
    }
    if (::socket(AF_INET, SOCK_SEQPACKET, 0) >= 0 || errno != EPERM) wrong |= 4;
    if (::setsockopt(made, SOL_SOCKET, SO_BROADCAST, &off, sizeof off) == 0) wrong |= 8;
    sockaddr_un file{.sun_family = AF_UNIX, .sun_path = "/tmp/tenon-test-socket"};
    if (::bind(made, reinterpret_cast<const sockaddr*>(&file), sizeof file) == 0) wrong |= 16;
    return wrong;
  });
  is_done(refused);
  CHECK_THAT(refused.text(), ContainsSubstring("refused connect("));
}

TEST_CASE("threads, locks, clocks, memory and signals work in strict", "[sandbox]") {
  if (!test::can_run()) return;
  is_done(in_sandbox({}, [] {
    std::atomic<int> sum = 0;
    std::mutex mutex;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
          const std::lock_guard lock(mutex);
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          // Large enough that the allocator asks the kernel.
          std::vector<char> memory(1 << 20, 1);
          sum += memory.back();
        });
      }
    }
    if (sum != 8) return 1;
    void* const code = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return 2;
    static std::atomic<int> signals = 0;
    ::signal(SIGUSR1, [](int) { ++signals; });
    if (::raise(SIGUSR1) != 0 || signals != 1) return 3;
    static sigjmp_buf before;
    if (sigsetjmp(before, 1) == 0) siglongjmp(before, 1);
    return std::chrono::steady_clock::now().time_since_epoch().count() > 0 ? 0 : 4;
  }));
  const Outcome aborted = in_sandbox({}, []() -> int {
    // Without the handler of the test's framework.
    ::signal(SIGABRT, SIG_DFL);
    ::abort();
  });
  CHECK(aborted.signal == SIGABRT);
}

TEST_CASE("descriptors that were given are used, all others are closed", "[sandbox]") {
  if (!test::can_run()) return;
  std::array<int, 2> given{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, given.data()) == 0);
  const int other = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  const int memory = ::memfd_create("tensors", 0);
  REQUIRE(::ftruncate(memory, 4096) == 0);
  is_done(in_sandbox({.descriptors = {{memory, given[1]}}}, [&] {
    char byte = 0;
    if (::read(other, &byte, 1) != -1 || errno != EBADF) return 1;
    if (::write(2, &byte, 1) != -1 || errno != EBADF) return 2;
    void* const tensors = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (tensors == MAP_FAILED) return 3;
    *static_cast<char*>(tensors) = 'r';
    return ::write(given[1], "printed", 7) == 7 ? 0 : 4;
  }));
  char text[8] = {};
  CHECK(::read(given[0], text, sizeof text) == 7);
  CHECK(std::string(text) == "printed");
  char result = 0;
  CHECK(::pread(memory, &result, 1, 0) == 1);
  CHECK(result == 'r');
  for (const int descriptor : {given[0], given[1], other, memory}) ::close(descriptor);
}

TEST_CASE("limits hold: address space, descriptors, no core", "[sandbox]") {
  if (!test::can_run()) return;
  is_done(in_sandbox({.address_space = std::uint64_t{1} << 30, .open_files = 64}, [] {
    if (::mmap(nullptr, std::size_t{2} << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
        MAP_FAILED) {
      return 1;
    }
    int made = 0;
    while (::memfd_create("one", 0) >= 0) ++made;
    if (made >= 64 || errno != EMFILE) return 2;
    struct rlimit core{};
    return ::getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0 ? 0 : 3;
  }));
}

TEST_CASE("what describes the processor is read in strict", "[sandbox]") {
  if (!test::can_run()) return;
  is_done(in_sandbox({}, [] {
    for (const char* path : {"/proc/self/maps", "/proc/self/status", "/proc/cpuinfo",
                             "/proc/meminfo", "/sys/devices/system/cpu/online"}) {
      std::ifstream file(path);
      std::string line;
      if (!std::getline(file, line)) return 1;
    }
    std::error_code failure;
    const std::filesystem::directory_iterator threads("/proc/self/task", failure);
    return std::distance(begin(threads), end(threads)) == 1 ? 0 : 2;
  }));
}

TEST_CASE("driver writes to directories that are named, and nowhere else", "[sandbox]") {
  if (!test::can_run()) return;
  const test::TemporaryDirectory cache;
  const test::TemporaryDirectory other;
  const isolated::SandboxOptions options{.profile = Profile::driver,
                                         .writable = {cache.path().string()}};
  is_done(in_sandbox(options, [&] {
    if (!std::ofstream(cache / "kernel.bin").put('x').flush()) return 1;
    if (::rename(cache.file("kernel.bin").c_str(), cache.file("done.bin").c_str()) != 0) return 2;
    if (::mkdir(cache.file("sub").c_str(), 0700) != 0) return 3;
    return ::unlink(cache.file("done.bin").c_str());
  }));
  CHECK(in_sandbox(options, [&] {
          return std::ofstream(other / "x").put('x').flush() ? 0 : errno;
        }).code == EACCES);
  CHECK(in_sandbox(options, [&] {
          return ::mkdir(other.file("x").c_str(), 0700) ? errno : 0;
        }).code == EACCES);
  CHECK(in_sandbox(options, [&] { return ::open("/etc/passwd", O_RDONLY) < 0 ? errno : 0; }).code ==
        EACCES);
}

int status_of_true(const char* program) {
  const pid_t child = ::vfork();
  if (child < 0) return 100;
  if (child == 0) {
    ::execl(program, program, static_cast<char*>(nullptr));
    ::_exit(errno);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

TEST_CASE("driver starts the programs that are listed, and no others", "[sandbox]") {
  if (!test::can_run()) return;
  const isolated::SandboxOptions options{.profile = Profile::driver, .programs = {"/bin/true"}};
  is_done(in_sandbox(options, [] { return status_of_true("/bin/true"); }));
  const Outcome other = in_sandbox(options, [] { return status_of_true("/bin/false"); });
  INFO(other.text());
  CHECK(other.code == EACCES);
}

TEST_CASE("no profile changes limits, processors or priorities of another process by its number",
          "[sandbox]") {
  if (!test::can_run()) return;
  const pid_t other = ::getpid();
  for (const Profile profile : {Profile::open, Profile::driver, Profile::strict}) {
    INFO(isolated::profile_name(profile));
    const Outcome outcome = in_sandbox({.profile = profile}, [other] {
      const auto is_refused = [](long result) { return result < 0 && errno == EPERM; };
      rlimit same{};
      if (::getrlimit(RLIMIT_STACK, &same) != 0) return 100;
      if (!is_refused(::syscall(SYS_prlimit64, other, RLIMIT_STACK, &same, nullptr))) return 1;
      cpu_set_t processors;
      if (::sched_getaffinity(0, sizeof processors, &processors) != 0) return 101;
      if (!is_refused(::sched_setaffinity(other, sizeof processors, &processors))) return 2;
      const sched_param usual{};
      if (!is_refused(::sched_setscheduler(other, SCHED_OTHER, &usual))) return 3;
      if (!is_refused(::sched_setparam(other, &usual))) return 4;
      // The size of the first version, and zeros: SCHED_OTHER.
      std::uint32_t attributes[12] = {48};
      if (!is_refused(::syscall(SYS_sched_setattr, other, attributes, 0))) return 5;
      const auto number = static_cast<id_t>(other);
      if (!is_refused(::setpriority(PRIO_PROCESS, number, 0))) return 6;
      if (!is_refused(::setpriority(PRIO_PGRP, 0, 0))) return 7;
      if (!is_refused(::setpriority(PRIO_USER, 0, 0))) return 8;
      constexpr int of_process = 1;
      constexpr int of_user = 3;
      constexpr int usual_class = 2 << 13;
      if (!is_refused(::syscall(SYS_ioprio_set, of_process, other, usual_class))) return 9;
      if (!is_refused(::syscall(SYS_ioprio_set, of_user, 0, usual_class))) return 10;
      constexpr int core_scheduling = 62;
      if (!is_refused(::prctl(core_scheduling, 2, other, 1, 0))) return 11;
      // The process changes itself as before.
      return ::sched_setaffinity(0, sizeof processors, &processors) == 0 ? 0 : 12;
    });
    INFO(outcome.text() << outcome.failure);
    CHECK(outcome.code == 0);
  }
}

TEST_CASE("open refuses what concerns other processes and the kernel, and nothing else",
          "[sandbox]") {
  if (!test::can_run()) return;
  const pid_t parent = ::getpid();
  is_done(in_sandbox({.profile = Profile::open}, [] {
    const int made = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const int file = ::open("/etc/passwd", O_RDONLY);
    return made >= 0 && file >= 0 ? status_of_true("/bin/true") : 1;
  }));
  if (isolated::landlock_version() >= 6) {
    // By Landlock, which has no name for it.
    const Outcome signalled = in_sandbox({.profile = Profile::open},
                                         [&] { return ::kill(parent, SIGTERM) != 0 ? errno : 0; });
    CHECK(signalled.code == EPERM);
    const Outcome memory = in_sandbox({.profile = Profile::open}, [&] {
      const std::string path = "/proc/" + std::to_string(parent) + "/mem";
      return ::open(path.c_str(), O_RDONLY) < 0 ? errno : 0;
    });
    CHECK(memory.code == EACCES);
  }
  const Outcome mapped = in_sandbox({.profile = Profile::open}, [] {
    return static_cast<int>(::syscall(SYS_unshare, CLONE_NEWUSER));
  });
  CHECK(mapped.signal == SIGSYS);
  CHECK(mapped.has("unshare"));
}

TEST_CASE("a process that has threads is not restricted", "[sandbox]") {
  if (!test::can_run()) return;
  std::atomic<bool> ends = false;
  std::jthread other([&] { ends.wait(false); });
  const auto sandbox = isolated::restrict_process({});
  ends = true;
  ends.notify_one();
  CHECK(sandbox.error() == Error::InvalidState);
  CHECK(sandbox.text() == "a process is restricted before it has threads; found 2");
}

TEST_CASE("options of driver are refused in strict", "[sandbox]") {
  CHECK(isolated::restrict_process({.writable = {"/tmp"}}).text() ==
        "profile strict has no directories that can be written");
  CHECK(isolated::restrict_process({.devices = {"/dev/x"}}).text() ==
        "profile strict has no devices");
  CHECK(isolated::restrict_process({.programs = {"/bin/ld"}}).text() ==
        "profile strict has no programs");
}

TEST_CASE("a worker gets the variables of its profile", "[sandbox]") {
  using isolated::passes_environment;
  for (const char* name :
       {"AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "LD_PRELOAD", "DBUS_SESSION_BUS_ADDRESS"}) {
    CHECK_FALSE(passes_environment(name, Profile::strict));
    CHECK_FALSE(passes_environment(name, Profile::driver));
    CHECK(passes_environment(name, Profile::open));
  }
  CHECK(passes_environment("OMP_NUM_THREADS", Profile::strict));
  CHECK(passes_environment("LC_ALL", Profile::strict));
  CHECK_FALSE(passes_environment("HOME", Profile::strict));
  CHECK(passes_environment("CUDA_VISIBLE_DEVICES", Profile::driver));
}

}}}  // namespace tenon::TENON_RELEASE
