// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/write/new_file.hpp"

#include <sys/resource.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/program/program.hpp"

namespace tenon::test::new_file {

using aot::NewFile;

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    out.push_back(entry.path().filename());
  }
  return out;
}

/// Files of this process cannot grow beyond `nbytes`, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t nbytes) {
    before_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{nbytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_{};
  void (*before_handler_)(int) = nullptr;
};

TEST_CASE("A file appears at its path only when it is complete") {
  const TemporaryFolder folder;
  const auto path = folder / "out";
  {
    auto file = NewFile::create(path);
    REQUIRE(file.ok());
    REQUIRE(file->write(bytes_of("12")).ok());
    REQUIRE(file->write({}).ok());
    REQUIRE_FALSE(std::filesystem::exists(path));
    REQUIRE(file->write(bytes_of("34")).ok());
    REQUIRE(file->commit().ok());
    REQUIRE(content(path) == "1234");
  }
  REQUIRE(names_in(folder.path()) == std::vector<std::string>{"out"});
}

TEST_CASE("A file that is given up leaves nothing behind and what was there untouched") {
  const TemporaryFolder folder;
  folder.write("out", "before");
  {
    auto file = NewFile::create(folder / "out");
    REQUIRE(file.ok());
    const auto moved = std::move(*file);
    REQUIRE(names_in(folder.path()).size() == 2);
  }
  REQUIRE(names_in(folder.path()) == std::vector<std::string>{"out"});
  REQUIRE(content(folder / "out") == "before");
}

TEST_CASE("A file may be written under a name of the current folder and through a link") {
  const TemporaryFolder folder;
  folder.write("target", "before");
  std::filesystem::create_symlink("target", folder / "link");
  auto file = NewFile::create(folder / "link");
  REQUIRE(file.ok());
  REQUIRE(file->write(bytes_of("after")).ok());
  REQUIRE(file->commit().ok());
  REQUIRE(std::filesystem::is_symlink(folder / "link"));
  REQUIRE(content(folder / "target") == "after");

  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  auto here = NewFile::create("here");
  const bool is_written = here.ok() && here->commit().ok();
  std::filesystem::current_path(before);
  REQUIRE(is_written);
  REQUIRE(content(folder / "here").empty());
}

TEST_CASE("Paths that cannot be written to are refused by name") {
  const TemporaryFolder folder;
  const auto refusal = [](const std::filesystem::path& path) {
    const auto file = NewFile::create(path);
    REQUIRE(file.error() == Error::AccessFailed);
    return std::string(file.text());
  };
  REQUIRE(refusal(folder / "missing/out") ==
          folder.file("missing/out") +
              ": cannot create a file next to it: No such file or directory");
  REQUIRE(refusal(folder.path()) == folder.path().native() + ": exists and is not a regular file");
  REQUIRE(refusal("/dev/null") == "/dev/null: exists and is not a regular file");
  REQUIRE(names_in(folder.path()).empty());

  auto file = NewFile::create(folder / std::string(300, 'n'));
  REQUIRE(file.ok());
  const auto status = file->commit();
  REQUIRE(status.error() == Error::AccessFailed);
  REQUIRE_THAT(std::string(status.text()), ContainsSubstring("cannot rename to it"));
}

TEST_CASE("A folder that comes in between is not replaced, and nothing is left") {
  const TemporaryFolder folder;
  {
    auto file = NewFile::create(folder / "out");
    REQUIRE(file.ok());
    std::filesystem::create_directory(folder / "out");
    REQUIRE(file->commit().error() == Error::AccessFailed);
  }
  REQUIRE(names_in(folder.path()) == std::vector<std::string>{"out"});
  REQUIRE(std::filesystem::is_directory(folder / "out"));
}

TEST_CASE("A program that does not fit on the disk leaves nothing behind, wherever it is cut") {
  const TemporaryFolder folder;
  folder.write("model.pte", "before");
  aot::ProgramData data;
  auto& method = data.methods.emplace_back();
  method.add_delegate({"B", aot::SharedBytes(std::vector<std::byte>(20'000)), {}, {}});
  const auto image = aot::make_pte(data);
  REQUIRE(image.ok());
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{300},
                                    std::uint64_t{5000}, image->size() - 1}) {
    Status status;
    {
      const FileSizeLimit full(limit);
      status = image->write(folder / "model.pte");
    }
    REQUIRE(status.error() == Error::OutOfResources);
    REQUIRE_THAT(std::string(status.text()),
                 ContainsSubstring(folder.file("model.pte") + ": cannot write: "));
    REQUIRE(names_in(folder.path()) == std::vector<std::string>{"model.pte"});
    REQUIRE(content(folder / "model.pte") == "before");
  }
  REQUIRE(aot::write_pte(data, folder / "model.pte").ok());
  REQUIRE(std::filesystem::file_size(folder / "model.pte") == image->size());
  REQUIRE(host::Program::open(folder / "model.pte").ok());
  data.methods.emplace_back();
  REQUIRE(aot::write_pte(data, folder / "model.pte").error() == Error::InvalidArgument);
  REQUIRE(std::filesystem::file_size(folder / "model.pte") == image->size());
}

}  // namespace tenon::test::new_file
