// SPDX-License-Identifier: MIT
#include "tenon/host/platform/new_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "files_support.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon::test::new_file {
namespace {

using host::NewFile;

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The signal that ended a process which runs `work`; 0 when it came to its end.
int signal_of(const std::function<void()>& work) {
  const ::pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    // Not Catch2's.
    for (const int number : {SIGINT, SIGTERM, SIGXFSZ}) std::signal(number, SIG_DFL);
    work();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/// All that arrives at a new standard output while `work` runs.
std::string standard_output_of(const std::filesystem::path& path,
                               const std::function<void()>& work) {
  std::fflush(stdout);
  const host::FileDescriptor before(::dup(STDOUT_FILENO));
  const host::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ::dup2(file.get(), STDOUT_FILENO);
  work();
  ::dup2(before.get(), STDOUT_FILENO);
  return file_content(path);
}

}  // namespace

TEST_CASE("A file appears at its path only when it is complete") {
  const TemporaryDirectory directory;
  const auto path = directory / "out";
  {
    auto file = NewFile::create(path);
    REQUIRE(file.ok());
    REQUIRE(file->write(bytes_of("12")).ok());
    REQUIRE(file->write({}).ok());
    REQUIRE_FALSE(std::filesystem::exists(path));
    REQUIRE(file->write(bytes_of("34")).ok());
    REQUIRE(file->commit().ok());
    REQUIRE(file_content(path) == "1234");
  }
  REQUIRE(names_in(directory.path()) == std::vector<std::string>{"out"});
}

TEST_CASE("A file that is given up leaves nothing behind and what was there untouched") {
  const TemporaryDirectory directory;
  directory.write("out", "before");
  {
    auto file = NewFile::create(directory / "out");
    REQUIRE(file.ok());
    const auto moved = std::move(*file);
  }
  REQUIRE(names_in(directory.path()) == std::vector<std::string>{"out"});
  REQUIRE(file_content(directory / "out") == "before");
}

TEST_CASE(
    "A file may be written under a name of the current working directory and through a link") {
  const TemporaryDirectory directory;
  directory.write("target", "before");
  std::filesystem::create_symlink("target", directory / "link");
  auto file = NewFile::create(directory / "link");
  REQUIRE(file.ok());
  REQUIRE(file->write(bytes_of("after")).ok());
  REQUIRE(file->commit().ok());
  REQUIRE(std::filesystem::is_symlink(directory / "link"));
  REQUIRE(file_content(directory / "target") == "after");

  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  auto here = NewFile::create("here");
  const bool is_written = here.ok() && here->commit().ok();
  std::filesystem::current_path(before);
  REQUIRE(is_written);
  REQUIRE(file_content(directory / "here").empty());
}

TEST_CASE("Paths that cannot be written to are refused by name") {
  const TemporaryDirectory directory;
  const auto refusal = [](const std::filesystem::path& path) {
    const auto file = NewFile::create(path);
    REQUIRE(file.error() == Error::AccessFailed);
    return std::string(file.text());
  };
  REQUIRE(refusal(directory / "missing/out") ==
          directory.file("missing/out") +
              ": cannot create a file next to it: No such file or directory");
  REQUIRE(refusal(directory.path()) ==
          directory.path().native() + ": is a directory, expected a file");
  REQUIRE(names_in(directory.path()).empty());

  auto file = NewFile::create(directory / std::string(300, 'n'));
  REQUIRE(file.ok());
  const auto status = file->commit();
  REQUIRE(status.error() == Error::AccessFailed);
  REQUIRE_THAT(std::string(status.text()), ContainsSubstring("cannot be given its name"));
}

TEST_CASE("A directory that comes in between is not replaced, and nothing is left") {
  const TemporaryDirectory directory;
  {
    auto file = NewFile::create(directory / "out");
    REQUIRE(file.ok());
    std::filesystem::create_directory(directory / "out");
    REQUIRE(file->commit().error() == Error::AccessFailed);
  }
  REQUIRE(names_in(directory.path()) == std::vector<std::string>{"out"});
  REQUIRE(std::filesystem::is_directory(directory / "out"));
}

TEST_CASE("A process that is ended while it writes leaves nothing behind") {
  const TemporaryDirectory directory;
  directory.write("out", "before");
  for (const char* const name : {"out", "other"}) {
    for (const int number : {SIGINT, SIGTERM, SIGKILL}) {
      const int ended = signal_of([&] {
        auto file = NewFile::create(directory / name);
        if (file.ok() && file->write(bytes_of("half")).ok()) std::raise(number);
      });
      CHECK(ended == number);
      CHECK(names_in(directory.path()) == std::vector<std::string>{"out"});
      CHECK(file_content(directory / "out") == "before");
    }
  }
}

TEST_CASE(
    "A write beyond the limit of size leaves nothing behind, also where it ends the process") {
  const TemporaryDirectory directory;
  const int ended = signal_of([&] {
    const FileSizeLimit full(100);
    std::signal(SIGXFSZ, SIG_DFL);
    auto file = NewFile::create(directory / "out");
    if (file.ok()) static_cast<void>(file->write(bytes_of(std::string(200, 'x'))));
  });
  CHECK(ended == SIGXFSZ);
  CHECK(names_in(directory.path()).empty());

  const FileSizeLimit full(100);
  const Status status = host::write_file(directory / "out", {bytes_of(std::string(200, 'x'))});
  CHECK(status.error() == Error::OutOfResources);
  CHECK(status.text() == directory.file("out") + ": cannot write: File too large");
  CHECK(names_in(directory.path()).empty());
}

TEST_CASE("Readers of a file that is replaced see the old one or the new one whole") {
  const TemporaryDirectory directory;
  const std::string old_text(100'000, 'a'), new_text(100'000, 'b');
  directory.write("out", old_text);
  std::jthread writer([&](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      static_cast<void>(
          host::write_file(directory / "out", {bytes_of(i % 2 == 0 ? new_text : old_text)}));
    }
  });
  for (int i = 0; i < 300; ++i) {
    const std::string found = file_content(directory / "out");
    REQUIRE((found == old_text || found == new_text));
  }
}

TEST_CASE("A file keeps its permissions when it is replaced, and one without write is refused") {
  const TemporaryDirectory directory;
  directory.write("private", "before");
  ::chmod((directory / "private").c_str(), 0600);
  REQUIRE(host::write_file(directory / "private", {bytes_of("after")}).ok());
  struct stat status{};
  REQUIRE(::stat((directory / "private").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(file_content(directory / "private") == "after");

  if (::geteuid() == 0) return;  // Who may write to everything.
  ::chmod((directory / "private").c_str(), 0400);
  const Status refused = host::write_file(directory / "private", {bytes_of("again")});
  CHECK(refused.error() == Error::AccessFailed);
  CHECK(refused.text() ==
        directory.file("private") + ": cannot be opened to write: Permission denied");
  CHECK(file_content(directory / "private") == "after");
}

TEST_CASE("A file appears with the permissions that were asked for, and a device keeps its own") {
  const TemporaryDirectory directory;
  const auto permissions_of = [](const std::filesystem::path& path) {
    return std::filesystem::status(path).permissions();
  };
  for (const auto wanted : {std::filesystem::perms(0755), std::filesystem::perms(0600)}) {
    auto file = host::NewFile::create(directory / "file");
    REQUIRE(file.ok());
    CHECK(file->set_permissions(wanted).ok());
    CHECK(file->commit().ok());
    CHECK(permissions_of(directory / "file") == wanted);
  }
  const auto before = permissions_of("/dev/null");
  auto device = host::NewFile::create("/dev/null");
  REQUIRE(device.ok());
  CHECK(device->set_permissions(std::filesystem::perms(0600)).ok());
  CHECK(permissions_of("/dev/null") == before);
}

TEST_CASE("A link to a file that does not exist yet is followed") {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("second", directory / "first");
  std::filesystem::create_symlink("target", directory / "second");
  REQUIRE(host::write_file(directory / "first", {bytes_of("text")}).ok());
  CHECK(std::filesystem::is_symlink(directory / "first"));
  CHECK(std::filesystem::is_symlink(directory / "second"));
  CHECK(file_content(directory / "target") == "text");
}

TEST_CASE("What is no file is written as it is: a device, a FIFO, standard output") {
  const TemporaryDirectory directory;
  CHECK(host::write_file("/dev/null", {bytes_of("text")}).ok());
  CHECK(std::filesystem::is_character_file("/dev/null"));
  const Status full = host::write_file("/dev/full", {bytes_of("text")});
  CHECK(full.error() == Error::OutOfResources);
  CHECK(full.text() == "/dev/full: cannot write: No space left on device");

  REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
  std::string received;
  {
    const std::jthread reader([&] {
      std::ifstream fifo(directory / "fifo");
      std::getline(fifo, received, '\0');
    });
    CHECK(host::write_file(directory / "fifo", {bytes_of("through "), bytes_of("a FIFO")}).ok());
  }
  CHECK(received == "through a FIFO");
  CHECK(std::filesystem::is_fifo(directory / "fifo"));

  // A file is standard output here, to which the process wrote before.
  Status written;
  const std::string output = standard_output_of(directory / "stdout", [&] {
    std::fputs("before, ", stdout);
    std::fflush(stdout);
    written = host::write_file("/dev/stdout", {bytes_of("the file")});
    std::fputs(", after", stdout);
    std::fflush(stdout);
  });
  CHECK(written.ok());
  CHECK(output == "before, the file, after");
}

}  // namespace tenon::test::new_file
