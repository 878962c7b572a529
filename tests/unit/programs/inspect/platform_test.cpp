// SPDX-License-Identifier: MIT
//
// tenon-inspect with plugins for other systems and machines.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/elf32_builder.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"
#include "unit/host/layers/inspect/macho_builder.hpp"
#include "unit/host/layers/inspect/object_builder.hpp"
#include "unit/host/layers/inspect/pe_builder.hpp"
#include "unit/programs/run/process.hpp"

using namespace test;
using Json = nlohmann::json;
using tenon::test::ByteVector;
using tenon::test::ObjectBuilder;
using tenon::test::TemporaryDirectory;

namespace inspect_platform_test {
namespace {

std::string write(const TemporaryDirectory& directory, const char* name, const ByteVector& bytes) {
  return directory.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()})
      .native();
}

}  // namespace

TEST_CASE("the plugin of another platform is described, and --load refuses it with one sentence") {
  const TemporaryDirectory directory;
  const ByteVector object = ObjectBuilder(8).bytes();
  ByteVector other_machine = tenon::test::elf::build(object);
  tenon::test::put_number(other_machine, 18, std::uint16_t{258});  // loongarch
  struct Row {
    std::string path, format, machine, kind;
  };
  namespace pe = tenon::test::pe;
  namespace macho = tenon::test::macho;
  const Row rows[] = {
      {write(directory, "w.dll", pe::build(object)), "PE", "x86_64", "Windows DLL for x86_64"},
      {write(directory, "a.dll", pe::build(object, pe::arm64)), "PE", "arm64",
       "Windows DLL for arm64"},
      {write(directory, "m.dylib", macho::build(object)), "Mach-O", "x86_64",
       "Mach-O library for x86_64"},
      {write(directory, "l.so", other_machine), "ELF", "loongarch",
       "ELF shared library for loongarch"},
      {write(directory, "arm.so", tenon::test::elf32::build(ObjectBuilder(4).bytes())), "ELF",
       "arm", "ELF shared library for arm"},
  };
  const std::string here = tenon::host::describe_library(tenon::host::this_platform);
  for (const Row& row : rows) {
    INFO(row.path);
    const Outcome outcome = run_program(TENON_INSPECT, {row.path}, {});
    CHECK(outcome.err.empty());
    CHECK_THAT(outcome.out, ContainsSubstring("\n  " + row.kind + ", "));
    CHECK_THAT(outcome.out,
               ContainsSubstring("\n  cannot be loaded here: this host loads " + here + "\n"));
    CHECK_THAT(outcome.out, ContainsSubstring("\n  backend MulBackend\n"));

    const Outcome json = run_program(TENON_INSPECT, {row.path, "--json"}, {});
    CHECK(Json::parse(json.out).at("platform") ==
          Json{{"format", row.format}, {"machine", row.machine}, {"loads_here", false}});

    const Outcome loaded = run_program(TENON_INSPECT, {row.path, "--load"}, {});
    CHECK(loaded.exit_code == 4);
    CHECK(std::ranges::count(loaded.err, '\n') == 1);
    CHECK_THAT(loaded.err, ContainsSubstring("tenon-inspect: InvalidArgument (0x12): " + row.path));
    CHECK_THAT(loaded.err, ContainsSubstring("expected " + here));
  }
}

TEST_CASE("a plugin that needs another C library than this host's is refused, without --load too") {
  const TemporaryDirectory directory;
  const ByteVector object = ObjectBuilder().bytes();
  ByteVector file =
      sizeof(void*) == 8 ? tenon::test::elf::build(object) : tenon::test::elf32::build(object);
  tenon::test::put_number(file, 18, static_cast<std::uint16_t>(tenon::host::this_platform.machine));
  const bool glibc = tenon::host::this_platform.c_library == tenon::CLibrary::glibc;
  tenon::test::need_library(file, glibc ? "libc.musl-any.so.1" : "libc.so.6");
  const std::string path = write(directory, "other.so", file);
  const Outcome outcome = run_program(TENON_INSPECT, {path}, {});
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.err, ContainsSubstring(glibc ? "that needs musl (libc.so), expected one for "
                                                    "glibc (libc.so.6)"
                                                  : "that needs glibc (libc.so.6), expected one "
                                                    "for musl (libc.so)"));
}

TEST_CASE("a plugin for this platform says so in JSON") {
  const Outcome outcome = run_program(TENON_INSPECT, {TENON_TEST_HELLO, "--json"}, {});
  const Json platform = Json::parse(outcome.out).at("platform");
  CHECK(platform.at("format") == "ELF");
  CHECK(platform.at("loads_here") == true);
}

}  // namespace inspect_platform_test
