// SPDX-License-Identifier: MIT
#include "process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

namespace tenon::bench {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// A program with all that posix_spawn wants, so that a start does nothing else.
class Launcher {
 public:
  Launcher(const Process& process, const std::string& out_path)
      : arguments_(process.arguments), environment_(process.environment) {
    arguments_.insert(arguments_.begin(), process.program);
    argv_ = pointers_to(arguments_);
    envp_ = pointers_to(environment_);
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, out_path.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher() { ::posix_spawn_file_actions_destroy(&actions_); }

  void run() {
    pid_t child = 0;
    int status = 0;
    if (::posix_spawn(&child, argv_[0], &actions_, nullptr, argv_.data(), envp_.data()) != 0) {
      throw Failure("cannot start " + arguments_[0]);
    }
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      throw Failure(arguments_[0] + " failed");
    }
  }

 private:
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::vector<char*> argv_;
  std::vector<char*> envp_;
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

Work run(const Process& process) {
  const auto launcher = std::make_shared<Launcher>(process, "/dev/null");
  return [launcher](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) launcher->run();
  };
}

std::string output_of(const Process& process, const std::string& directory) {
  const std::string path = directory + "/output";
  Launcher(process, path).run();
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return text;
}

}  // namespace tenon::bench
