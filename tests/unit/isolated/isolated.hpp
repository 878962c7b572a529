// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "make_isolated.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon::test {

inline constexpr const char* worker_mark = "TENON_TEST_STARTED_BY";
/// The process whose number workers have in their environment, also those of its children.
inline pid_t marked_process() {
  static const pid_t self = [] {
    const pid_t number = ::getpid();
    ::setenv(worker_mark, std::to_string(number).c_str(), 1);
    return number;
  }();
  return self;
}

/// Lines of a log, which any thread writes.
class TestLog {
 public:
  void add(std::string_view line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// An application in this process that loads a plugin, in this process or isolated.
class Application {
 public:
  enum class Place { here, isolated };

  explicit Application(const std::string& plugin, Place place = Place::isolated,
                       host::WorkerProfile profile = host::WorkerProfile::none)
      : Application(plugin, place, host::WorkerSettings{.profile = profile}) {}
  Application(const std::string& plugin, Place place, host::WorkerSettings settings)
      : registry_(info()) {
    static_cast<void>(marked_process());
    path_ = plugin;
    if (place == Place::isolated) {
      path_ = directory_ / "isolated.so";
      const auto made = isolate::make_isolated({.template_file = TENON_TEST_ISOLATED_TEMPLATE,
                                                .worker = TENON_TEST_WORKER,
                                                .plugin = plugin,
                                                .out = path_,
                                                .settings = std::move(settings)});
      if (!made.ok()) throw std::runtime_error(std::string(made.text()));
    }
    if (const Status known = registry_.register_backend(path_); !known.ok()) {
      throw std::runtime_error(std::string(known.text()));
    }
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] host::BackendRegistry& registry() noexcept { return registry_; }
  /// Remains when the application has ended.
  [[nodiscard]] std::shared_ptr<const TestLog> log() const noexcept { return log_; }

  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(
      const std::filesystem::path& program, std::vector<host::BackendOption> options = {},
      host::MethodOptions method = {}) {
    TENON_TRY(auto opened, host::Program::open(program));
    return load(opened, std::move(options), std::move(method));
  }
  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(
      const std::shared_ptr<const host::Program>& program,
      std::vector<host::BackendOption> options = {}, host::MethodOptions method = {}) {
    method.registry = &registry_;
    method.backend_options = std::move(options);
    return host::Method::load(program, "forward", std::move(method));
  }

 private:
  host::HostInfo info() {
    host::HostInfo out;
    out.name = "isolated-test";
    out.log = [log = log_](std::int32_t, std::string_view, std::string_view text) {
      log->add(text);
    };
    return out;
  }

  TemporaryDirectory directory_;
  std::shared_ptr<TestLog> log_ = std::make_shared<TestLog>();
  std::filesystem::path path_;
  host::BackendRegistry registry_;
};

inline const std::string add_program = TENON_TEST_CASES "/hello/add/model.pte";

/// Adds `first`, 1, 2, 3, 4, 5 to tens; the sum, or the failure.
inline Result<std::vector<float>> add(host::Method& method, float first = 0) {
  const std::vector<std::int64_t> sizes{2, 3};
  const std::vector<float> a{first, 1, 2, 3, 4, 5};
  const std::vector<float> b{10, 20, 30, 40, 50, 60};
  const auto input = [&](std::size_t index, const std::vector<float>& values) {
    return method.set_input(
        index, host::InputTensor{ScalarType::Float, sizes, std::as_bytes(std::span(values))});
  };
  TENON_RETURN_IF_ERROR(input(0, a));
  TENON_RETURN_IF_ERROR(input(1, b));
  TENON_RETURN_IF_ERROR(method.execute());
  const tenon_tensor& tensor = *method.output(0).as.tensor;
  const auto* data = static_cast<const float*>(tensor.dl.data);
  return std::vector<float>(data, data + tensor.nbytes / sizeof(float));
}
inline const std::vector<float> sum{10, 21, 32, 43, 54, 65};

/// Starts a child whose application loads a plugin, and waits until `is_ready(application)` has
/// returned true there. The child remains until it is killed. -1 without a child: it did not come
/// so far.
template <class IsReady>
pid_t start_child(const std::string& plugin, const IsReady& is_ready) {
  int ready[2];
  if (::pipe(ready) != 0) return -1;
  // The mark of this process, not of the child.
  static_cast<void>(marked_process());
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    try {
      Application application(plugin);
      const char answer = is_ready(application) ? 'y' : 'n';
      static_cast<void>(::write(ready[1], &answer, 1));
      for (;;) ::pause();
    } catch (const std::exception&) {
      ::_exit(1);
    }
  }
  // Nothing to read is a child that has ended.
  ::close(ready[1]);
  char answer = 0;
  const bool is_answered = ::read(ready[0], &answer, 1) == 1;
  ::close(ready[0]);
  if (is_answered && answer == 'y') return child;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return -1;
}

/// The descriptors of this process, by number and what they are.
inline std::set<std::string> open_descriptors() {
  std::set<std::string> out;
  std::error_code failure;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd", failure)) {
    const auto target = std::filesystem::read_symlink(each.path(), failure);
    if (!failure) out.insert(each.path().filename().string() + " " + target.string());
  }
  return out;
}

/// The guard, the supervisor and the plugin's process, each the parent of the next one.
inline constexpr std::size_t processes_of_worker = 3;

/// The processes of workers that this process or its children started, by a variable in their
/// environment.
inline std::set<pid_t> worker_processes() {
  const std::string mark = std::string(worker_mark) + "=" + std::to_string(marked_process());
  std::set<pid_t> out;
  std::error_code failure;
  for (const auto& each : std::filesystem::directory_iterator("/proc", failure)) {
    const auto target = std::filesystem::read_symlink(each.path() / "exe", failure);
    if (failure || (target != TENON_TEST_WORKER && target != TENON_TEST_HOSTILE_WORKER)) continue;
    std::ifstream file(each.path() / "environ", std::ios::binary);
    const std::string variables(std::istreambuf_iterator<char>(file), {});
    if (variables.find(mark + std::string(1, 0)) == std::string::npos) continue;
    out.insert(static_cast<pid_t>(std::stol(each.path().filename().string())));
  }
  return out;
}

}  // namespace tenon::test
