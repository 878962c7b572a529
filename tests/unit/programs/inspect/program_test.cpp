// SPDX-License-Identifier: MIT
//
// tenon-inspect as its users see it: arguments in, exit code and text out.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sections.hpp"
#include "support/catch.hpp"
#include "tenon/abi/version.h"
#include "unit/programs/run/process.hpp"

using namespace test;
using Json = nlohmann::json;

namespace {

using Words = std::vector<std::string>;

// A sanitizer adds a constructor to each plugin, which a check then finds.
constexpr int no_fault = TENON_TEST_SANITIZED ? 1 : 0;

Outcome run(Words arguments, const std::string& out_path = {}) {
  return run_program(TENON_INSPECT, std::move(arguments), out_path);
}

std::string zoo(const std::string& name) { return TENON_ZOO "/" + name + ".so"; }
std::string faulty(const std::string& name) { return TENON_TEST_INSPECT "/" + name + ".so"; }

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// Whether a terminal would only write it down.
bool is_harmless(const std::string& text) {
  const bool bytes = std::ranges::none_of(text, [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return (code < 0x20 && c != '\n') || code == 0x7f;
  });
  return bytes && text.find("\xc2\x9b") == std::string::npos &&
         text.find("raw\x9b") == std::string::npos;
}

void check_fails(const Words& words, int exit_code, const std::string& name,
                 const std::string& text) {
  const Outcome outcome = run(words);
  INFO(words.back() + ": " + outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.err.starts_with("tenon-inspect: " + name + " (0x"));
  CHECK_THAT(outcome.err, ContainsSubstring(text));
  CHECK(count_lines(outcome.err) == 1);
}

Json json_of(Words words, int exit_code = no_fault) {
  words.emplace_back("--json");
  const Outcome outcome = run(words);
  INFO(outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK(count_lines(outcome.out) == 1);
  Json report = Json::parse(outcome.out);
  CHECK(report.at("exit_code") == outcome.exit_code);
  return report;
}

}  // namespace

TEST_CASE("help and version of tenon-inspect are printed with success") {
  const Outcome help = run({"--help"});
  check_help_and_version(help, run({"--version"}), "tenon-inspect");
  CHECK_THAT(help.out, ContainsSubstring("Examples:\n  tenon-inspect libacme.so\n"));
  CHECK_THAT(help.out, ContainsSubstring("Exit codes:"));
}

TEST_CASE("wrong arguments of tenon-inspect are usage errors in one line") {
  const std::string plugin = zoo("wordless");
  for (const Words& words : {Words{}, Words{""}, Words{plugin, "--unknown"}, Words{plugin, plugin},
                             Words{plugin, "--color"}, Words{plugin, "--color", "sometimes"}}) {
    const Outcome outcome = run(words);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("tenon-inspect: InvalidArgument (0x12): "));
    CHECK_THAT(outcome.err, ContainsSubstring("(see tenon-inspect --help)"));
    CHECK(count_lines(outcome.err) == 1);
  }
}

TEST_CASE("a right plugin is shown with success, and nothing of it is run") {
  const Outcome outcome = run({TENON_TEST_HELLO});
  INFO(outcome.out);
  CHECK(outcome.exit_code == no_fault);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.starts_with(TENON_TEST_HELLO "\n  ELF shared library for "));
  CHECK_THAT(outcome.out, ContainsSubstring("this one speaks 1.0: it fits\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("\nexported symbols: 1\n  tenon_plugin_v1\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("  pass         TN-BIN-1 "));
  CHECK_THAT(outcome.out, !ContainsSubstring("\nloaded\n"));

  // Whoever loads this one ends.
  const Outcome bomb = run({zoo("static_constructor")});
  CHECK(bomb.exit_code == 1);
  CHECK_THAT(bomb.out, ContainsSubstring("  fail         TN-BIN-2 "));
  CHECK_THAT(bomb.out, ContainsSubstring("  backend ZooBackend\n"));
}

TEST_CASE("everything that a record says is shown") {
  const Outcome outcome = run({zoo("many_things")});
  INFO(outcome.out);
  CHECK(outcome.exit_code == no_fault);
  CHECK_THAT(outcome.out, ContainsSubstring("  plugin ManyBackend 1.2.3 by Tenon tests\n"
                                            "  Tenon ABI 1.0, needs a host of 1.0 or later; this "
                                            "one speaks 1.0: it fits\n"
                                            "  made with Tenon: " TENON_VERSION_STRING "\n"
                                            "  backend ManyBackend: Has one of everything\n"
                                            "    tags: experimental, npu\n"
                                            "    needs of the CPU: avx2, fma\n"
                                            "    priority: -3\n"
                                            "    payload versions: 1 to 4\n"
                                            "  backend ShyBackend\n"
                                            "dependencies\n"));

  const Json record = json_of({zoo("many_things")}).at("record");
  CHECK(record.at("name") == "ManyBackend");
  CHECK(record.at("version") == "1.2.3");
  CHECK(record.at("vendor") == "Tenon tests");
  CHECK(record.at("sdk_version") == TENON_VERSION_STRING);
  CHECK(record.at("abi") == "1.0");
  CHECK(record.at("min_host_abi") == "1.0");
  CHECK(record.at("backends").at(0) == Json{{"id", "ManyBackend"},
                                            {"description", "Has one of everything"},
                                            {"tags", {"experimental", "npu"}},
                                            {"cpu_features", {"avx2", "fma"}},
                                            {"priority", -3},
                                            {"min_payload_version", 1},
                                            {"max_payload_version", 4},
                                            {"runs_embedded_code", false},
                                            {"offers_kernels", false}});
  CHECK(record.at("backends").at(1).at("id") == "ShyBackend");
}

TEST_CASE("a backend that runs the code of programs says so") {
  const Outcome outcome = run({zoo("embedded_code")});
  CHECK(outcome.exit_code == no_fault);
  CHECK_THAT(outcome.out, ContainsSubstring("  backend AsksBackend: Runs what its blob says\n"
                                            "    runs native code that programs carry\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("  backend UnmarkedBackend: Runs what its blob says\n"
                                            "dependencies\n"));
}

TEST_CASE("few symbols are shown, and all of them with --verbose") {
  const std::string plugin = zoo("many_things");
  const Outcome few = run({plugin});
  CHECK_THAT(few.out, ContainsSubstring("  ... (all with --verbose)\n"));
  CHECK_THAT(few.out, !ContainsSubstring("\n  versions: "));
  const Outcome all = run({plugin, "--verbose"});
  CHECK_THAT(all.out, !ContainsSubstring("(all with --verbose)"));
  CHECK_THAT(all.out, ContainsSubstring("\n  versions: "));
  const Json library = json_of({plugin}).at("library");
  CHECK(count_lines(all.out) > count_lines(few.out));
  CHECK_THAT(all.out, ContainsSubstring("undefined symbols: " +
                                        std::to_string(library.at("undefined").size())));
  for (const auto& name : library.at("undefined")) {
    CHECK_THAT(all.out, ContainsSubstring("\n  " + name.get<std::string>()));
  }
}

TEST_CASE("a check that fails has an exit code of its own, a warning has none") {
  const Outcome outcome = run({faulty("exports")});
  INFO(outcome.out);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out, ContainsSubstring("  fail         TN-BIN-1            exports one object "
                                            "and nothing else: also exports "));
  CHECK(run({faulty("without_relro")}).exit_code == no_fault);
  // What --load finds later does not hide it.
  CHECK(run({faulty("exports"), "--load"}).exit_code == 1);
  CHECK(json_of({faulty("exports"), "--load"}, 1).at("loaded").at("error").is_null());
}

TEST_CASE("run paths are shown with the needed libraries") {
  CHECK_THAT(run({faulty("run_path")}).out, ContainsSubstring("\n  run path: /build/folder\n"));
  CHECK_THAT(run({faulty("old_rpath")}).out,
             ContainsSubstring("\n  old run path (DT_RPATH): $ORIGIN\n"));
  CHECK(json_of({faulty("run_path")}, 1).at("library").at("run_path") == "/build/folder");
  CHECK(json_of({faulty("old_rpath")}).at("library").at("rpath") == "$ORIGIN");
  CHECK(json_of({faulty("old_rpath")}).at("library").at("run_path").is_null());
}

TEST_CASE("what is no plugin is refused with its reason") {
  const TemporaryDirectory directory;
  write_file(directory.file("text.so"), "this is no library\n");
  write_file(directory.file("empty.so"), "");
  const std::string whole = read_file(TENON_TEST_HELLO);
  write_file(directory.file("half.so"), whole.substr(0, 1000));
  REQUIRE(::mkfifo(directory.file("fifo.so").c_str(), 0600) == 0);

  check_fails({directory.file("none.so")}, 3, "NotFound", "there is no such file");
  check_fails({directory.path().string()}, 3, "InvalidArgument", "is a directory");
  check_fails({directory.file("fifo.so")}, 3, "InvalidArgument", "is a FIFO");
  check_fails({directory.file("text.so")}, 3, "InvalidArgument", "is a text file");
  check_fails({directory.file("empty.so")}, 3, "InvalidArgument", "empty");
  check_fails({directory.file("half.so")}, 3, "InvalidArgument", "truncated");
  check_fails({TENON_INSPECT}, 3, "InvalidArgument", "executable, expected a shared library");
  check_fails({zoo("bad_magic")}, 3, "InvalidArgument", "bad_magic.so");
  // --load loads nothing that is no plugin.
  check_fails({directory.file("half.so"), "--load"}, 3, "InvalidArgument", "truncated");

  const Json report = json_of({directory.file("text.so"), "--load"}, 3);
  CHECK(report.at("error").at("name") == "InvalidArgument");
  CHECK(report.at("record").is_null());
  CHECK(report.at("library").is_null());
  CHECK(report.at("lint").empty());
  CHECK(report.at("loaded").is_null());
}

TEST_CASE("a library without a record is judged, and still no plugin") {
  check_fails({zoo("missing_symbol")}, 3, "InvalidArgument", "exports no symbol tenon_plugin_v1");
  const Outcome outcome = run({zoo("missing_symbol")});
  CHECK_THAT(outcome.out, ContainsSubstring("does not export tenon_plugin_v1"));
  CHECK_THAT(outcome.out, !ContainsSubstring("\nrecord\n"));
  CHECK(json_of({zoo("missing_symbol")}, 3).at("lint").size() > 10);
}

TEST_CASE("a plugin of another ABI is shown, says so, and cannot be loaded") {
  const std::string plugin = zoo("newer_major");
  const Outcome outcome = run({plugin});
  CHECK(outcome.exit_code == no_fault);
  CHECK_THAT(outcome.out, ContainsSubstring("speaks Tenon ABI 2.3, this host speaks ABI 1.0"));
  CHECK(json_of({plugin}).at("abi_error").at("name") == "NotSupported");
  check_fails({plugin, "--load"}, 4, "NotSupported", "the major versions must be equal");
}

TEST_CASE("--load shows devices, options, extensions and availability") {
  const Outcome outcome = run({zoo("many_things"), "--load"});
  INFO(outcome.out);
  CHECK(outcome.exit_code == no_fault);
  CHECK(outcome.err.empty());
  CHECK_THAT(
      outcome.out,
      ContainsSubstring(
          "loaded\n"
          "  backend ManyBackend\n"
          "    available: yes\n"
          "    extensions: tenon.check_blob/1, tenon.devices/1, tenon.memory_info/1, "
          "tenon.options/1\n"
          "    device 1:0 host, the machine's own cores, 512 MiB\n"
          "    device 2:1 second\\x1b[31m accelerator, uuid:07\n"
          "    option fast = true (default true, at run time): less exact\n"
          "    option threads = 4 (default 4, 1 to 16, for a load): worker threads\n"
          "    option scale = 0.5 (default 0.5, 0 or more, in dB, at run time, for a load): "
          "of all outputs\n"
          "    option mode = \"careful\" (default \"careful\", one of careful, fast, at run time, "
          "for a load, deprecated)\n"
          "    option table = 2 bytes (default 2 bytes, at run time, for a load): of the first "
          "layer\n"
          "  backend ShyBackend\n"
          "    available: no: backend ShyBackend is not available: no \\x1b[2J\\x07driver\n"
          "    extensions: tenon.devices/1\n"
          "    devices: backend ShyBackend: the bus is off\n"));
  CHECK(is_harmless(outcome.out));
}

TEST_CASE("--load and --json say the same with their types") {
  const Json loaded = json_of({zoo("many_things"), "--load"}).at("loaded");
  CHECK(loaded.at("error").is_null());
  REQUIRE(loaded.at("backends").size() == 2);
  const Json& many = loaded.at("backends").at(0);
  CHECK(many.at("open_error").is_null());
  CHECK(many.at("unavailable").is_null());
  CHECK(many.at("devices_error").is_null());
  CHECK(many.at("devices").at(0) == Json{{"type", 1},
                                         {"index", 0},
                                         {"name", "host"},
                                         {"description", "the machine's own cores"},
                                         {"memory_bytes", 536870912},
                                         {"identity", ""},
                                         {"shares_addresses", false}});
  CHECK(many.at("devices").at(1).at("identity") == "uuid:07");
  CHECK(many.at("devices").at(1).at("name") == "second\x1b[31m accelerator");
  const std::vector<Json> values{{{"type", "bool"}, {"value", true}},
                                 {{"type", "int64"}, {"value", 4}},
                                 {{"type", "double"}, {"value", 0.5}},
                                 {{"type", "string"}, {"value", "careful"}},
                                 {{"type", "bytes"}, {"value", "01ff"}}};
  REQUIRE(many.at("options").size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Json& option = many.at("options").at(i);
    INFO(option);
    CHECK(option.at("initial") == values[i]);
    CHECK(option.at("value") == values[i]);
    CHECK(option.at("at_runtime") == (i != 1));
    CHECK(option.at("at_load") == (i != 0));
  }
  CHECK(many.at("options").at(1).at("minimum") == Json{{"type", "int64"}, {"value", 1}});
  CHECK(many.at("options").at(1).at("maximum") == Json{{"type", "int64"}, {"value", 16}});
  CHECK(many.at("options").at(2).at("maximum").is_null());
  CHECK(many.at("options").at(2).at("unit") == "dB");
  CHECK(many.at("options").at(3).at("choices") == Json{"careful", "fast"});
  CHECK(many.at("options").at(3).at("deprecated") == true);
  const Json& shy = loaded.at("backends").at(1);
  CHECK(shy.at("unavailable").at("name") == "NotFound");
  CHECK(shy.at("devices_error").at("text") == "backend ShyBackend: the bus is off");
  CHECK(shy.at("devices").empty());
}

TEST_CASE("a backend that cannot be opened does not hide the others") {
  const std::string plugin = zoo("two_backends");
  check_fails({plugin, "--load"}, 4, "AccessFailed", "backend LockedBackend: open: no licence");
  const Outcome outcome = run({plugin, "--load"});
  CHECK_THAT(outcome.out, ContainsSubstring("  backend WorksBackend\n    available: no: "));
  CHECK_THAT(outcome.out, ContainsSubstring("  backend LockedBackend\n    cannot be opened: "));
  const Json backends = json_of({plugin, "--load"}, 4).at("loaded").at("backends");
  CHECK(backends.at(0).at("open_error").is_null());
  CHECK(backends.at(1).at("open_error").at("name") == "AccessFailed");
}

TEST_CASE("a plugin that cannot be loaded is shown with the loader's reason") {
  const std::string plugin = zoo("undefined_symbol");
  CHECK(run({plugin}).exit_code == no_fault);
  check_fails({plugin, "--load"}, 4, "AccessFailed", "tenon_test_defined_by_nobody");
  CHECK_THAT(run({plugin, "--load"}).out, ContainsSubstring("\nloaded\n  no: cannot load "));
  const Json loaded = json_of({plugin, "--load"}, 4).at("loaded");
  CHECK(loaded.at("error").at("name") == "AccessFailed");
  CHECK(loaded.at("backends").empty());
}

TEST_CASE("control characters of paths and symbols do not reach the terminal") {
  const TemporaryDirectory directory;
  const auto odd = directory.path() /
                   "\x1b[31mred\nraw\x9b"
                   "31m\xc2\x9b\x7f";
  std::filesystem::create_directory(odd);
  const std::string plugin = (odd / "p\x07.so").string();
  std::string bytes = read_file(faulty("exports"));
  for (std::size_t at = bytes.find("zoo_leaked"); at != std::string::npos;
       at = bytes.find("zoo_leaked", at)) {
    bytes.replace(at, 10, "\x1b[2J\r\x9b\x7f\xc2\x9b\n", 10);
  }
  write_file(plugin, bytes);
  for (const Words& words :
       {Words{plugin}, Words{plugin, "--verbose"}, Words{plugin, "--json"}, Words{plugin, "--load"},
        Words{plugin + "\x1b[2Jnone"}, Words{"\x1b[2J", "--json"}}) {
    const Outcome outcome = run(words);
    INFO(outcome.out + outcome.err);
    CHECK((outcome.exit_code == 1 || outcome.exit_code == 3));
    CHECK(is_harmless(outcome.out));
    CHECK(is_harmless(outcome.err));
  }
  CHECK_THAT(run({plugin}).out, ContainsSubstring("also exports \\x1b[2J"));
}

TEST_CASE("colours are used where they are asked for, and never in JSON") {
  const std::string plugin = zoo("wordless");
  CHECK(is_harmless(run({plugin}).out));
  CHECK(is_harmless(run({plugin, "--color", "never"}).out));
  CHECK(is_harmless(run({plugin, "--color", "always", "--json"}).out));
  const Outcome colored = run({faulty("exports"), "--color", "always"});
  CHECK_THAT(colored.out, ContainsSubstring("\x1b[1mchecks\x1b[0m\n"));
  CHECK_THAT(colored.out, ContainsSubstring("  \x1b[31mfail       \x1b[0m  TN-BIN-1 "));
  CHECK_THAT(colored.out, ContainsSubstring("  \x1b[32mpass       \x1b[0m  no-nodelete "));
}

TEST_CASE("colours are used on a terminal, unless NO_COLOR or a dumb terminal forbids it") {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return;
  const std::string name = ::ptsname(terminal);
  // Open for longer than the program is, or its last words are lost. Nobody reads meanwhile: what
  // is printed must be short.
  const int kept = ::open(name.c_str(), O_RDWR | O_NOCTTY);
  REQUIRE(kept >= 0);
  const auto shown = [&](const char* term, const char* no_color) {
    ::setenv("TERM", term, 1);
    ::setenv("NO_COLOR", no_color, 1);
    CHECK(run({zoo("wordless")}, name).exit_code == no_fault);
    ::unsetenv("TERM");
    ::unsetenv("NO_COLOR");
    std::string text;
    for (pollfd ready{terminal, POLLIN, 0}; ::poll(&ready, 1, 100) == 1;) {
      char buffer[4096];
      const ssize_t count = ::read(terminal, buffer, sizeof buffer);
      if (count <= 0) break;
      text.append(buffer, static_cast<std::size_t>(count));
    }
    REQUIRE_THAT(text, ContainsSubstring("checks"));
    return text.find("\x1b[1m") != std::string::npos;
  };
  CHECK(shown("xterm", ""));
  CHECK_FALSE(shown("xterm", "1"));
  CHECK_FALSE(shown("dumb", ""));
  ::close(kept);
  ::close(terminal);
}

TEST_CASE("a report that cannot be written is no success") {
  if (!std::filesystem::exists("/dev/full")) return;
  const Outcome outcome = run({TENON_TEST_HELLO}, "/dev/full");
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("standard output cannot be written"));
}

TEST_CASE("--load shows device memory, streams and sessions among the extensions") {
  const Outcome outcome = run({TENON_FAR_PLUGIN, "--load"});
  INFO(outcome.err);
  CHECK_THAT(outcome.out,
             ContainsSubstring("  backend FarBackend\n"
                               "    available: yes\n"
                               "    extensions: tenon.device_memory/1, tenon.devices/1, "
                               "tenon.sessions/1, tenon.streams/1\n"
                               "    device 2:0 stand-in, memory that the host cannot touch\n"
                               "    device 2:1 stand-in, memory that the host cannot touch\n"));
}

TEST_CASE("a backend with kernels says so, and --load lists their operators") {
  const Outcome plain = run({TENON_ARITHMETIC_PLUGIN});
  CHECK_THAT(plain.out, ContainsSubstring("  backend ArithmeticKernels: aten::add.out and "
                                          "aten::mul.out of float32\n"
                                          "    has kernels for operators of programs\n"));
  const Outcome loaded = run({TENON_ARITHMETIC_PLUGIN, "--load"});
  CHECK_THAT(loaded.out, ContainsSubstring("    extensions: tenon.kernels/1\n"
                                           "    kernels for 2 operators: aten::add.out, "
                                           "aten::mul.out\n"));
  const auto json = Json::parse(run({TENON_ARITHMETIC_PLUGIN, "--load", "--json"}).out);
  CHECK(json["record"]["backends"][0]["offers_kernels"] == true);
  const auto& backend = json["loaded"]["backends"][0];
  CHECK(backend["operators"] == Json{"aten::add.out", "aten::mul.out"});
  CHECK(backend["operators_error"].is_null());
}

TEST_CASE("a control character in any piece of a section is an escape") {
  tenon::Sections sections(false);
  sections.title("a\x1b[2J");
  sections.line("b\x1b[2J", 7);
  sections.styled_line("c\x1b[2J", tenon::Style::bad, "d\x1b[2J");
  CHECK(std::move(sections).take() ==
        "a\\x1b[2J\n"
        "  b\\x1b[2J7\n"
        "  c\\x1b[2J  d\\x1b[2J\n");
}
