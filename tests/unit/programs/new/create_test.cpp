// SPDX-License-Identifier: MIT
#include "create.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/file_content.hpp"
#include "support/program_builder.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace create_test { namespace {

namespace fs = std::filesystem;
using tenon::make_new::create;
using tenon::make_new::names_of;
using tenon::make_new::rename_backends;
using tenon::test::TemporaryDirectory;

const tenon::make_new::Names acme = *names_of("acme_vision_processor");

std::vector<std::string> entries(const fs::path& directory) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(directory))
    out.push_back(entry.path().filename());
  std::ranges::sort(out);
  return out;
}

/// A template and a place for what is made of it.
struct Places {
  Places() {
    fs::create_directory(directory / "template");
    fs::create_directory(directory / "out");
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((from() / name).parent_path());
    std::ofstream(from() / name, std::ios::binary) << text;
  }
  [[nodiscard]] fs::path from() const { return directory / "template"; }
  [[nodiscard]] fs::path to() const { return directory / "out" / acme.snake; }
  TemporaryDirectory directory;
};

/// A program with a delegate of "MyNpuBackend" and one of "OtherBackend", a blob that names the
/// placeholder, and weights.
std::string program() {
  tenon::test::ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto blob = builder.segment(tenon::test::bytes_of("blob of MyNpu"));
  plan.delegate("MyNpuBackend", tenon::schema::DataLocation::SEGMENT, blob);
  plan.delegate("OtherBackend", tenon::schema::DataLocation::SEGMENT, blob);
  const auto built = builder.build();
  return {reinterpret_cast<const char*>(built.bytes().data()), built.bytes().size()};
}

TEST_CASE("a template is copied with other names of files and in texts", "[tenon-new]") {
  const Places places;
  places.write("my_npu.cpp", "class MyNpuBackend {}; // MY_NPU\n");
  places.write("my_npu/deep/MyNpu.txt", "my_npu");
  places.write(".hidden", "my_npu");
  places.write("empty", "");
  const auto made = create(places.from(), places.to(), acme);
  REQUIRE(made.ok());
  CHECK(*made == 4);
  CHECK(tenon::test::file_content(places.to() / "acme_vision_processor.cpp") ==
        "class AcmeVisionProcessorBackend {}; // ACME_VISION_PROCESSOR\n");
  CHECK(tenon::test::file_content(
            places.to() / "acme_vision_processor/deep/AcmeVisionProcessor.txt") == acme.snake);
  CHECK(tenon::test::file_content(places.to() / ".hidden") == acme.snake);
  CHECK(fs::is_empty(places.to() / "empty"));
  CHECK(entries(places.directory / "out") == std::vector<std::string>{acme.snake});
}

TEST_CASE("bytes that are no text stay as they are", "[tenon-new]") {
  const Places places;
  const std::string bytes("my_npu\0my_npu", 13);
  places.write("data.npy", bytes);
  REQUIRE(create(places.from(), places.to(), acme).ok());
  CHECK(tenon::test::file_content(places.to() / "data.npy") == bytes);
}

TEST_CASE("files that may be run may still be, and directories have the usual rights",
          "[tenon-new]") {
  const Places places;
  places.write("run", "#!/bin/sh\n");
  places.write("text", "text\n");
  fs::permissions(places.from() / "run", fs::perms::owner_all);
  const mode_t mask = ::umask(022);
  const auto made = create(places.from(), places.to(), acme);
  ::umask(mask);
  REQUIRE(made.ok());
  CHECK(fs::status(places.to() / "run").permissions() == fs::perms(0755));
  CHECK(fs::status(places.to() / "text").permissions() == fs::perms(0644));
  CHECK(fs::status(places.to()).permissions() == fs::perms(0755));
}

TEST_CASE("a program gets the new id and keeps all else", "[tenon-new]") {
  const Places places;
  places.write("model.pte", program());
  REQUIRE(create(places.from(), places.to(), acme).ok());
  const auto opened = tenon::host::Program::open(places.to() / "model.pte");
  REQUIRE(opened.ok());
  const auto& delegates = *(*opened)->flatbuffer().execution_plan()->Get(0)->delegates();
  REQUIRE(delegates.size() == 2);
  CHECK(delegates.Get(0)->id()->str() == "AcmeVisionProcessorBackend");
  CHECK(delegates.Get(1)->id()->str() == "OtherBackend");
  REQUIRE((*opened)->view().num_segments() == 1);
  CHECK(tenon::as_text((*opened)->view().segment(0)) == "blob of MyNpu");
}

TEST_CASE("a program whose ids stay is what it was in all its parts", "[tenon-new]") {
  const std::string file = program();
  const auto same = rename_backends(std::as_bytes(std::span(file)),
                                    [](std::string_view id) { return std::string(id); });
  REQUIRE(same.ok());
  const auto again = rename_backends(*same, [](std::string_view id) { return std::string(id); });
  REQUIRE(again.ok());
  CHECK(*same == *again);
}

TEST_CASE("a template with an invalid program leaves nothing behind", "[tenon-new]") {
  const Places places;
  places.write("a.txt", "text");
  places.write("model.pte", "no program");
  const auto made = create(places.from(), places.to(), acme);
  REQUIRE_FALSE(made.ok());
  CHECK(made.error() == tenon::Error::InvalidProgram);
  CHECK_THAT(std::string(made.text()), ContainsSubstring("model.pte"));
  CHECK(entries(places.directory / "out").empty());
}

TEST_CASE("a file of another template is copied from there", "[tenon-new]") {
  const Places places;
  places.write("src/my_npu.cpp.from", "other/my_npu.cc\n");
  places.write("../other/my_npu.cc", "class MyNpu {};\n");
  fs::permissions(places.directory / "other/my_npu.cc", fs::perms::owner_all);
  const auto made = create(places.from(), places.to(), acme);
  REQUIRE(made.ok());
  CHECK(*made == 1);
  CHECK(entries(places.to() / "src") == std::vector<std::string>{"acme_vision_processor.cpp"});
  const fs::path copy = places.to() / "src/acme_vision_processor.cpp";
  CHECK(tenon::test::file_content(copy) == "class AcmeVisionProcessor {};\n");
  CHECK((fs::status(copy).permissions() & fs::perms::owner_exec) != fs::perms::none);
}

TEST_CASE("a file of another template that is not there is refused", "[tenon-new]") {
  const Places places;
  places.write("../secret", "secret");
  fs::create_symlink("/etc/passwd", places.directory / "link");
  fs::create_directory(places.directory / "folder");
  for (const std::string& line :
       std::vector<std::string>{"missing", "", "\n", ".", "folder", "link", "/etc/passwd",
                                "../" + places.directory.path().filename().string() + "/secret",
                                "template/../../secret"}) {
    places.write("a.cpp.from", line);
    const auto made = create(places.from(), places.to(), acme);
    INFO(line);
    REQUIRE_FALSE(made.ok());
    CHECK(made.error() == tenon::Error::NotSupported);
    CHECK_THAT(std::string(made.text()),
               ContainsSubstring("a.cpp.from: expected the path of a file of a template, found '"));
    CHECK(entries(places.directory / "out").empty());
  }
}

TEST_CASE("what is neither file nor directory in a template is refused", "[tenon-new]") {
  const Places places;
  fs::create_symlink("/etc/passwd", places.from() / "link");
  const auto made = create(places.from(), places.to(), acme);
  REQUIRE_FALSE(made.ok());
  CHECK(made.error() == tenon::Error::NotSupported);
  CHECK(entries(places.directory / "out").empty());
}

TEST_CASE("what exists is never touched", "[tenon-new]") {
  const Places places;
  places.write("a.txt", "text");
  SECTION("a directory with something in it") {
    fs::create_directory(places.to());
    std::ofstream(places.to() / "mine") << "mine";
  }
  SECTION("an empty directory") { fs::create_directory(places.to()); }
  SECTION("a link that leads nowhere") { fs::create_symlink("nowhere", places.to()); }
  const auto made = create(places.from(), places.to(), acme);
  REQUIRE_FALSE(made.ok());
  CHECK(made.error() == tenon::Error::InvalidArgument);
  CHECK_THAT(std::string(made.text()), ContainsSubstring("exists already"));
  CHECK(entries(places.directory / "out") == std::vector<std::string>{acme.snake});
  if (fs::is_directory(places.to())) CHECK_FALSE(fs::exists(places.to() / "a.txt"));
}

TEST_CASE("a parent that is not there is not made", "[tenon-new]") {
  const Places places;
  places.write("a.txt", "text");
  const auto made = create(places.from(), places.directory / "missing" / "acme", acme);
  REQUIRE_FALSE(made.ok());
  CHECK(made.error() == tenon::Error::InvalidArgument);
  CHECK_FALSE(fs::exists(places.directory / "missing"));
}

TEST_CASE("a parent that cannot be written to is an error with its path", "[tenon-new]") {
  if (::geteuid() == 0) return;  // Root may write anywhere.
  const Places places;
  places.write("a.txt", "text");
  fs::permissions(places.directory / "out", fs::perms::owner_read | fs::perms::owner_exec);
  const auto made = create(places.from(), places.to(), acme);
  fs::permissions(places.directory / "out", fs::perms::owner_all);
  REQUIRE_FALSE(made.ok());
  CHECK(made.error() == tenon::Error::AccessFailed);
  CHECK_THAT(std::string(made.text()), ContainsSubstring(acme.snake));
}

}}  // namespace create_test
