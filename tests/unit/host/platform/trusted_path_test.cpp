// SPDX-License-Identifier: MIT
//
// Whose files and directories are trusted. The words of the refusals are in
// tests/unit/host/layers/discovery/refusals.txt.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/trusted_path.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace {

namespace fs = std::filesystem;

/// A directory with a file in another directory: "outer/inner/file".
struct Tree {
  Tree() {
    fs::create_directories(inner);
    ::chmod(outer.c_str(), 0755);
    ::chmod(inner.c_str(), 0755);
    root.write("outer/inner/file", "content");
    ::chmod(file.c_str(), 0644);
  }
  TemporaryDirectory root;
  fs::path outer = root / "outer";
  fs::path inner = root / "outer/inner";
  fs::path file = root / "outer/inner/file";
};

Error checked(const fs::path& path) { return open_file(path, Trust::checked).error(); }

/// Runs `action` in a child process of the user nobody, and returns its result (0 to 255).
template <class Action>
int as_nobody(const Action& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    const bool changed =
        ::setresgid(nobody, nobody, nobody) == 0 && ::setresuid(nobody, nobody, nobody) == 0;
    ::_exit(changed ? action() : 255);
  }
  int outcome = -1;
  CHECK(::waitpid(child, &outcome, 0) == child);
  return WIFEXITED(outcome) ? WEXITSTATUS(outcome) : -1;
}

}  // namespace

TEST_CASE("a file that only its owner can write to is opened", "[loader]") {
  const Tree tree;
  for (const Trust trust : {Trust::caller, Trust::checked}) {
    const auto file = open_file(tree.file, trust);
    INFO(file.text());
    REQUIRE(file.ok());
    CHECK(file->path == tree.file);
    CHECK(file->identity.size == 7);
    CHECK(file->trust == trust);
    char text[8] = {};
    CHECK(::pread(file->descriptor.get(), text, 7, 0) == 7);
    CHECK(std::string(text) == "content");
  }
}

TEST_CASE("each component of a path can make it untrusted, and only when it is checked",
          "[loader]") {
  const Tree tree;
  for (const fs::path& component : {tree.outer, tree.inner, tree.file}) {
    const auto mode = fs::is_directory(component) ? 0755U : 0644U;
    for (const unsigned extra : {0020U, 0002U}) {
      ::chmod(component.c_str(), mode | extra);
      INFO(component);
      CHECK(checked(tree.file) == Error::AccessFailed);
      CHECK_THAT(std::string(open_file(tree.file, Trust::checked).text()),
                 ContainsSubstring(concat("chmod go-w ", component.native())));
      CHECK(open_file(tree.file, Trust::caller).ok());
    }
    ::chmod(component.c_str(), mode);
    CHECK(checked(tree.file) == Error::Ok);
  }
}

TEST_CASE("what belongs to another user is not trusted", "[loader]") {
  if (::geteuid() != 0) {
    WARN("needs root to give files away");
    return;
  }
  const Tree tree;
  for (const fs::path& component : {tree.outer, tree.inner, tree.file}) {
    REQUIRE(::chown(component.c_str(), 4321, 0) == 0);
    CHECK_THAT(std::string(open_file(tree.file, Trust::checked).text()),
               ContainsSubstring("belongs to user 4321, expected root"));
    REQUIRE(::chown(component.c_str(), 0, 0) == 0);
  }
  fs::create_symlink("file", tree.inner / "link");
  CHECK(checked(tree.inner / "link") == Error::Ok);
  REQUIRE(::lchown((tree.inner / "link").c_str(), 4321, 0) == 0);
  CHECK(checked(tree.inner / "link") == Error::AccessFailed);
  CHECK_THAT(std::string(open_file(tree.inner / "link", Trust::checked).text()),
             ContainsSubstring("belongs to user 4321"));
}

TEST_CASE("another user trusts root and itself, and may be refused by the system", "[loader]") {
  if (::geteuid() != 0) {
    WARN("needs root to become somebody else");
    return;
  }
  const Tree tree;
  ::chmod(tree.root.path().c_str(), 0755);
  const auto code = [&] { return static_cast<int>(checked(tree.file)); };
  CHECK(as_nobody(code) == 0);
  REQUIRE(::chown(tree.file.c_str(), 65534, 65534) == 0);
  CHECK(as_nobody(code) == 0);
  CHECK(checked(tree.file) == Error::AccessFailed);
  REQUIRE(::chown(tree.file.c_str(), 0, 0) == 0);
  ::chmod(tree.file.c_str(), 0600);
  CHECK(as_nobody(code) == static_cast<int>(Error::AccessFailed));
  ::chmod(tree.file.c_str(), 0644);
  ::chmod(tree.inner.c_str(), 0700);
  CHECK(as_nobody(code) == static_cast<int>(Error::AccessFailed));
}

TEST_CASE("a sticky directory may be on the path but must not hold the file", "[loader]") {
  const Tree tree;
  ::chmod(tree.outer.c_str(), 01777);
  CHECK(checked(tree.file) == Error::Ok);
  CHECK(Directory::open(tree.inner).ok());
  CHECK_FALSE(Directory::open(tree.outer).ok());
  ::chmod(tree.outer.c_str(), 0755);
  ::chmod(tree.inner.c_str(), 01777);
  CHECK(checked(tree.file) == Error::AccessFailed);
}

TEST_CASE("links are followed, wherever they lead, and each step is checked", "[loader]") {
  const Tree tree;
  fs::create_symlink("outer/inner", tree.root / "relative");
  fs::create_symlink(tree.inner, tree.root / "absolute");
  fs::create_symlink("../../absolute/../inner/./file", tree.inner / "back");
  CHECK(checked(tree.root / "relative/file") == Error::Ok);
  CHECK(checked(tree.root / "absolute/file") == Error::Ok);
  CHECK(checked(tree.inner / "back") == Error::Ok);
  CHECK(checked(fs::path(tree.file.native() + "/../inner/file")) != Error::Ok);
  CHECK(checked(fs::path(tree.inner.native() + "//../inner/./file")) == Error::Ok);
  CHECK(open_file(tree.inner / "back", Trust::checked)->path == tree.inner / "back");
  // The directories that the link leads through count, not only the link's own.
  const Tree open;
  ::chmod(open.outer.c_str(), 0777);
  fs::create_symlink(open.file, tree.inner / "elsewhere");
  CHECK(checked(tree.inner / "elsewhere") == Error::AccessFailed);
}

TEST_CASE("a link that is exchanged while a path is walked leads to no other user's file",
          "[loader]") {
  const TemporaryDirectory root;
  ::chmod(root.path().c_str(), 0755);
  for (const char* name : {"good", "open_to_others"}) {
    fs::create_directories(root / name);
    root.write(concat(name, "/a.so"), name);
    ::chmod((root / name / "a.so").c_str(), 0644);
  }
  ::chmod((root / "good").c_str(), 0755);
  ::chmod((root / "open_to_others").c_str(), 0777);
  fs::create_symlink("good", root / "link");
  std::atomic<bool> is_done = false;
  std::thread exchanges([&] {
    for (bool good = false; !is_done; good = !good) {
      std::error_code ignored;
      fs::remove(root / "next", ignored);
      fs::create_symlink(good ? "good" : "open_to_others", root / "next", ignored);
      fs::rename(root / "next", root / "link", ignored);
    }
  });
  int opened = 0, refused = 0;
  for (int i = 0; i < 20'000 && (i < 4'000 || opened == 0 || refused == 0); ++i) {
    auto file = open_file(root / "link" / "a.so", Trust::checked);
    if (i % 2 == 0) {
      const auto directory = Directory::open(root / "link");
      if (directory.ok()) file = directory->open_file("a.so");
    }
    if (!file.ok()) {
      ++refused;
      continue;
    }
    ++opened;
    char content[16] = {};
    if (::pread(file->descriptor.get(), content, sizeof content - 1, 0) < 0) FAIL("pread");
    if (std::string(content) != "good") FAIL("a file that others may replace was opened");
  }
  is_done = true;
  exchanges.join();
  CHECK(opened > 0);
  CHECK(refused > 0);
}

TEST_CASE("forty links are followed and forty-one are a loop", "[loader]") {
  const Tree tree;
  fs::create_symlink("file", tree.inner / "1");
  for (int i = 2; i <= 41; ++i) fs::create_symlink(concat(i - 1), tree.inner / concat(i));
  CHECK(checked(tree.inner / "40") == Error::Ok);
  CHECK(checked(tree.inner / "41") == Error::AccessFailed);
}

TEST_CASE("what is no regular file, missing or no path is refused in both ways", "[loader]") {
  const Tree tree;
  REQUIRE(::mkfifo((tree.inner / "fifo").c_str(), 0600) == 0);
  for (const Trust trust : {Trust::caller, Trust::checked}) {
    CHECK(open_file(tree.inner, trust).error() == Error::InvalidArgument);
    CHECK(open_file(tree.inner / "fifo", trust).error() == Error::InvalidArgument);
    CHECK(open_file("/dev/null", trust).error() == Error::InvalidArgument);
    CHECK(open_file("relative", trust).error() == Error::InvalidArgument);
    CHECK(open_file("", trust).error() == Error::InvalidArgument);
    CHECK(open_file(std::string("/a\0b", 4), trust).error() == Error::InvalidArgument);
    CHECK(open_file("/", trust).error() == Error::InvalidArgument);
    CHECK(open_file(tree.inner / "none", trust).error() == Error::NotFound);
    CHECK(open_file(tree.root / "none/file", trust).error() == Error::NotFound);
    CHECK_FALSE(open_file(tree.file / "below", trust).ok());
    CHECK_FALSE(open_file(tree.inner / std::string(300, 'x'), trust).ok());
  }
}

TEST_CASE("a directory lists its names in order and opens what is in it", "[loader]") {
  const Tree tree;
  tree.root.write("outer/inner/a", "a");
  tree.root.write("outer/inner/.hidden", "h");
  fs::create_symlink("file", tree.inner / "link");
  fs::create_symlink("nowhere", tree.inner / "dangling");
  const auto directory = Directory::open(tree.inner);
  REQUIRE(directory.ok());
  CHECK(directory->path() == tree.inner);
  CHECK(*directory->list() == std::vector<std::string>{".hidden", "a", "dangling", "file", "link"});
  CHECK(*directory->list() == *directory->list());
  CHECK(directory->open_file("file").ok());
  CHECK(directory->open_file("link").ok());
  CHECK(directory->open_file("dangling").error() == Error::NotFound);
  CHECK(directory->open_file("none").error() == Error::NotFound);
  ::chmod((tree.inner / "a").c_str(), 0666);
  CHECK(directory->open_file("a").error() == Error::AccessFailed);
  CHECK(Directory::open(tree.file).error() == Error::InvalidArgument);
  CHECK(Directory::open("outer").error() == Error::InvalidArgument);
}

TEST_CASE("opening and refusing leave no descriptor open", "[loader]") {
  const Tree tree;
  fs::create_symlink("loop", tree.inner / "loop");
  const auto try_all = [&] {
    for (const Trust trust : {Trust::caller, Trust::checked}) {
      for (const char* name : {"file", "loop", "none", "..", "../../outer/inner/file"}) {
        static_cast<void>(open_file(tree.inner / name, trust).ok());
      }
    }
    static_cast<void>(Directory::open(tree.inner)->list().ok());
  };
  try_all();
  const std::size_t before = Footprint::now().descriptors;
  for (int i = 0; i < 50; ++i) try_all();
  CHECK(Footprint::now().descriptors == before);
}

TEST_CASE("a variable is its value, also an empty one, or nothing", "[loader]") {
  ::setenv("TENON_TEST_VARIABLE", "value", 1);
  CHECK_FALSE(is_privileged());
  CHECK(environment_variable("TENON_TEST_VARIABLE") == "value");
  ::setenv("TENON_TEST_VARIABLE", "", 1);
  CHECK(environment_variable("TENON_TEST_VARIABLE") == "");
  ::unsetenv("TENON_TEST_VARIABLE");
  CHECK_FALSE(environment_variable("TENON_TEST_VARIABLE"));
}
