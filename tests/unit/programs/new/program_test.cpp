// SPDX-License-Identifier: MIT
//
// tenon-new as its users see it: arguments and variables in, exit code and text out.
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "run/process.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/file_content.hpp"
#include "tenon/abi/version.h"

namespace program_test { namespace {

namespace fs = std::filesystem;
using test::Outcome;
using test::TemporaryDirectory;
using Words = std::vector<std::string>;

Outcome run(const Words& words,
            const test::Variables& variables = {{"TENON_TEMPLATES", TENON_TEMPLATES}}) {
  const test::ScopedEnvironment environment(variables);
  return test::run_program(TENON_NEW, words);
}

TEST_CASE("help and version of tenon-new are printed with success", "[tenon-new]") {
  test::check_help_and_version(run({"--help"}), run({"--version"}), "tenon-new");
}

TEST_CASE("wrong arguments of tenon-new are usage errors in one line", "[tenon-new]") {
  for (const Words& words :
       {Words{}, Words{"--unknown"}, Words{"acme", "more"}, Words{"--template"},
        Words{"--list", "acme"}, Words{"--list", "--id", "Acme"}, Words{"Acme"}, Words{"new"},
        Words{"acme", "--id", "a b"}}) {
    const auto outcome = run(words);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("tenon-new: InvalidArgument (0x12): "));
    CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  }
}

TEST_CASE("templates are listed with what they are", "[tenon-new]") {
  const auto outcome = run({"--list"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("full     A backend for ExecuTorch programs"));
  CHECK_THAT(outcome.out, ContainsSubstring("minimal  A backend for ExecuTorch programs"));
  CHECK_THAT(outcome.out,
             ContainsSubstring("python   A backend for ExecuTorch programs as a Python"));
  CHECK_THAT(outcome.out,
             ContainsSubstring("wrapper  A backend for ExecuTorch programs that runs"));
}

TEST_CASE("a backend is created and the next steps are printed", "[tenon-new]") {
  const TemporaryDirectory directory;
  const std::string place = directory.path().string();
  const auto outcome = run({"acme_npu", "--template", "minimal", "--dir", place});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out ==
        place + "/acme_npu: 6 files; the backend's id is AcmeNpuBackend\nnext: make -C " + place +
            "/acme_npu check\n");
  CHECK(fs::is_regular_file(directory / "acme_npu" / "acme_npu.cpp"));

  const auto again = run({"acme_npu", "--template", "minimal", "--dir", place});
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.err, ContainsSubstring("exists already; nothing was changed"));
}

TEST_CASE("--python creates a Python package that offers the backend by an entry point",
          "[tenon-new]") {
  const TemporaryDirectory directory;
  const std::string place = directory.path().string();
  const auto outcome = run({"acme_npu", "--python", "--dir", place});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("\nnext: pip install " + place + "/acme_npu\n"));
  const std::string project = tenon::test::file_content(directory / "acme_npu/pyproject.toml");
  CHECK_THAT(project, ContainsSubstring("[project.entry-points.\"tenon.plugins\"]\n"
                                        "AcmeNpuBackend = \"acme_npu:plugin\"\n"));
  for (const char* file :
       {"acme_npu/__init__.py", "acme_npu/acme_npu.cpp", "acme_npu/acme_npu.json.in", "meson.build",
        "README.md", "tests/test_acme_npu.py", "tests/scale.pte"}) {
    INFO(file);
    CHECK(fs::is_regular_file(directory / "acme_npu" / file));
  }
  CHECK(tenon::test::file_content(directory / "acme_npu/tests/scale.pte").find("AcmeNpuBackend") !=
        std::string::npos);

  std::size_t num_files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory / "acme_npu")) {
    if (entry.is_regular_file()) ++num_files;
  }
  CHECK(num_files == 8);
  CHECK_THAT(outcome.out, ContainsSubstring("/acme_npu: 8 files; "));

  // The backend is `minimal`'s, and kept once.
  const std::string minimal = directory.file("minimal");
  fs::create_directory(minimal);
  REQUIRE(run({"acme_npu", "--template", "minimal", "--dir", minimal}).exit_code == 0);
  CHECK(tenon::test::file_content(directory / "acme_npu/acme_npu/acme_npu.cpp") ==
        tenon::test::file_content(directory / "minimal/acme_npu/acme_npu.cpp"));

  const auto both = run({"acme", "--python", "--template", "minimal", "--dir", place});
  CHECK(both.exit_code == 2);
  CHECK_THAT(both.err, ContainsSubstring("--python"));
  CHECK_FALSE(fs::exists(directory / "acme"));
}

TEST_CASE("an id of programs that exist is in every file that has one", "[tenon-new]") {
  for (const char* name : {"minimal", "full", "wrapper", "python"}) {
    const TemporaryDirectory directory;
    const auto outcome = run({"acme_npu", "--template", name, "--id", "Vendor-Backend", "--dir",
                              directory.path().string()});
    INFO(name);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.out, ContainsSubstring("the backend's id is Vendor-Backend\n"));
    std::size_t places = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory / "acme_npu")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      INFO(entry.path());
      CHECK(text.find("AcmeNpuBackend") == std::string::npos);
      const auto extension = entry.path().extension();
      const bool is_source = extension == ".cpp" || extension == ".hpp";
      // An id may have characters that a name in C++ cannot have.
      if (is_source) CHECK(text.find("class Vendor") == std::string::npos);
      if (is_source && text.find("\"Vendor-Backend\"") != std::string::npos) ++places;
    }
    // The case of `minimal` is written by a program of its own.
    CHECK(places == (std::string_view(name) == "minimal" ? 2 : 1));
  }
}

TEST_CASE("a template that is not there is named with those that are", "[tenon-new]") {
  const TemporaryDirectory directory;
  const auto outcome = run({"acme", "--template", "huge", "--dir", directory.path().string()});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("template 'huge': "));
  CHECK_THAT(outcome.err, ContainsSubstring("has full, minimal, python, wrapper"));
}

TEST_CASE("a directory of templates that was named is the only one", "[tenon-new]") {
  const TemporaryDirectory directory;
  const auto missing = run({"--list"}, {{"TENON_TEMPLATES", directory.file("none")}});
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.err, ContainsSubstring("none', which is no directory"));
  const auto empty = run({"--list"}, {{"TENON_TEMPLATES", directory.path().string()}});
  CHECK(empty.exit_code == 2);
  CHECK_THAT(empty.err, ContainsSubstring("holds no template"));
}

TEST_CASE("without templates both places are named", "[tenon-new]") {
  // Not installed here: there are none next to the program in the build tree.
  const auto outcome = run({"--list"}, {});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("TENON_TEMPLATES is not set"));
  CHECK_THAT(outcome.err, ContainsSubstring("/nonexistent/templates"));
}

TEST_CASE("a broken template has its own exit code and leaves nothing", "[tenon-new]") {
  const TemporaryDirectory directory;
  fs::create_directories(directory / "templates/broken");
  directory.write("templates/broken/README.md", "broken\n");
  directory.write("templates/broken/model.pte", "no program");
  const auto outcome = run({"acme", "--template", "broken", "--dir", directory.path().string()},
                           {{"TENON_TEMPLATES", directory.file("templates")}});
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.err, ContainsSubstring("tenon-new: InvalidProgram"));
  CHECK_FALSE(fs::exists(directory / "acme"));
  CHECK(std::distance(fs::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("a full disk leaves nothing", "[tenon-new]") {
  const TemporaryDirectory directory;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  // The program ignores SIGXFSZ itself, which would end it.
  const rlimit small{1000, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto outcome = run({"acme", "--template", "minimal", "--dir", directory.path().string()});
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("cannot write: File too large"));
  CHECK(fs::is_empty(directory.path()));
}

}}  // namespace program_test
