// SPDX-License-Identifier: MIT
//
// tenon-inspect --certificate with reports, signatures, lists and plugins of someone who wants it
// to vouch for what the kit did not judge, or to hang, or to take the memory of the machine.
#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/signer.hpp"
#include "support/temporary_directory.hpp"
#include "unit/programs/inspect/certificate_report.hpp"
#include "unit/programs/inspect/inspect_support.hpp"
#include "unit/programs/run/process.hpp"

using namespace test;
using tenon::test::TemporaryDirectory;

namespace hostile_certificate_test { namespace {

namespace fs = std::filesystem;
using test::certificate::good_report;
using test::certificate::Json;

Outcome check(const fs::path& plugin, const fs::path& report) {
  return run_program(TENON_INSPECT, {plugin.native(), "--certificate", report.native()}, {});
}

void make_sparse(const fs::path& path) {
  std::ofstream(path).put(' ');
  fs::resize_file(path, std::uintmax_t{5} << 30);
  fs::permissions(path, fs::perms(0644));
}
void make_fifo(const fs::path& path) { REQUIRE(::mkfifo(path.c_str(), 0644) == 0); }

Json& subject(Json& report) { return report["subjects"][0]; }
Json& first(Json& report) { return subject(report)["tests"][0]; }

TEST_CASE("a report that contradicts itself, or is no report of the kit, vouches for nothing") {
  using Change = std::function<void(Json&)>;
  const auto set = [](const char* key, Json value) {
    return [key, value](Json& report) { report[key] = value; };
  };
  const std::string sha256 = good_report()["subjects"][0]["sha256"];
  const auto set_hash = [](std::string hash) {
    return [hash](Json& report) { subject(report)["sha256"] = hash; };
  };
  const Json finding = {{"rule", "TN-EXE-2"}, {"text", "byte 0 changed"}};
  const Json crash = {{"what", "SIGSEGV"},
                      {"in", "execute"},
                      {"last_calls", Json::array()},
                      {"backtrace", Json::array()}};
  const struct {
    const char* what;
    Change change;
    int exit_code;
    const char* why;
  } cases[] = {
      {"a test that passed with a broken rule",
       [&](Json& report) { first(report)["findings"] = Json::array({finding}); }, 1,
       "passed with a broken rule, expected none"},
      {"a test that passed with a crash",
       [&](Json& report) { first(report)["crashes"] = Json::array({crash}); }, 1,
       "passed with a crash, expected none"},
      {"a test that does not apply with a broken rule",
       [&](Json& report) { subject(report)["tests"][2]["findings"] = Json::array({finding}); }, 1,
       "not_applicable with a broken rule, expected none"},
      {"a test that was executed and not judged",
       [](Json& report) { first(report)["outcome"] = "not_applicable"; }, 1, "nothing was judged"},
      {"the plugin twice, once with a failure",
       [](Json& report) {
         Json second = subject(report);
         second["tests"][0]["outcome"] = "failed";
         report["subjects"].push_back(second);
       },
       1, "FAIL: "},
      {"a backend without a name", [](Json& report) { subject(report)["backends"].push_back(""); },
       1, "the report lacks the test"},
      {"a backend that the plugin has not",
       [](Json& report) { subject(report)["backends"].push_back("Sub"); }, 1,
       "the report lacks the test"},
      {"a hash in capitals", set_hash([&] {
         std::string out = sha256;
         for (char& each : out) each = each >= 'a' ? static_cast<char>(each - 'a' + 'A') : each;
         return out;
       }()),
       1, "not about this plugin"},
      {"a hash and a NUL", set_hash(sha256 + std::string(1, '\0')), 1, "not about this plugin"},
      {"a hash and a blank", set_hash(sha256 + " "), 1, "not about this plugin"},
      {"a version and a NUL",
       set("kit_version", std::string(TENON_VERSION_STRING) + std::string(1, '\0')), 1,
       "expected version"},
      {"a level below zero", set("level", -1), 2,
       "level: expected an integer from 0 to 2147483647"},
      {"a level that is no whole number", set("level", 5.0), 2,
       "level: expected an integer from 0 to 2147483647"},
      {"a level beyond an int", set("level", std::uint64_t{1} << 31), 2,
       "level: expected an integer from 0 to 2147483647"},
      {"a level as a text", set("level", "5"), 2,
       "level: expected an integer from 0 to 2147483647"},
      {"a seed below zero", set("seed", -1), 2, "seed: expected an integer from 0 on"},
      {"no subjects", set("subjects", Json::array()), 1, "found no plugin"},
      {"subjects that are none", set("subjects", nullptr), 2, "subjects: expected an array"},
  };
  const TemporaryDirectory directory;
  for (const auto& each : cases) {
    INFO(each.what);
    Json report = good_report();
    each.change(report);
    const Outcome outcome = check(TENON_TEST_HELLO, directory.write("report.json", report.dump()));
    INFO(outcome.err);
    CHECK(outcome.exit_code == each.exit_code);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, ContainsSubstring(each.why));
  }
}

TEST_CASE("a text that readers of JSON read in different ways is no report") {
  const std::string good = good_report().dump();
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string out = good;
    return out.replace(out.find(from), from.size(), to);
  };
  const struct {
    std::string text;
    const char* why;
  } cases[] = {
      {replaced("\"level\":5,\"machine\"", "\"level\":1e999,\"machine\""), "number overflow"},
      {replaced("nothing to judge", "nothing \xff\xc0\x80"), "invalid string"},
      {"\xef\xbb\xbf" + good, "begins with a byte order mark"},
      {good + "{}", "unexpected '{'"},
      {replaced("\"outcome\"", R"("outc\u006fme": "failed", "outcome")"),
       "the key 'outcome' is written twice"},
      {std::string(1 << 20, '['), "not JSON"},
  };
  const TemporaryDirectory directory;
  for (const auto& each : cases) {
    INFO(each.why);
    const Outcome outcome = check(TENON_TEST_HELLO, directory.write("report.json", each.text));
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, ContainsSubstring(each.why));
  }
}

TEST_CASE(
    "a certificate for a file that is no plugin, or of a plugin whose backends it leaves out, "
    "does not vouch") {
  const TemporaryDirectory directory;
  std::string hello = tenon::test::content_of(TENON_TEST_HELLO);
  const auto report_of = [&](const std::string& bytes) {
    Json report = good_report();
    subject(report)["sha256"] = tenon::sha256_of(std::as_bytes(std::span(bytes))).to_hex();
    return report;
  };
  const fs::path text = directory.write("text.so", "no plugin");
  const Outcome of_text = check(text, directory.write("text.json", report_of("no plugin").dump()));
  CHECK(of_text.exit_code == 3);
  CHECK(of_text.out.empty());
  // A library for another processor, whose record this machine reads as well.
  constexpr std::size_t machine = 18;
  hello[machine] = hello[machine] == '\xb7' ? '\x3e' : '\xb7';
  const fs::path other = directory.write("other.so", hello);
  Json report = report_of(hello);
  CHECK(check(other, directory.write("other.json", report.dump())).exit_code == 0);
  subject(report)["backends"] = {"Sub"};
  for (Json& each : subject(report)["tests"]) {
    if (each["backend"] == "Add") each["backend"] = "Sub";
  }
  const Outcome left_out = check(other, directory.write("other.json", report.dump()));
  INFO(left_out.err);
  CHECK(left_out.exit_code == 1);
  CHECK_THAT(left_out.err, ContainsSubstring("does not name backend 'Add', which the plugin has"));
}

TEST_CASE("files of a certificate that have no end, or are no files, are refused soon") {
  const TemporaryDirectory directory;
  const fs::path report = directory.write("report.json", good_report().dump());
  make_sparse(directory / "sparse");
  make_fifo(directory / "fifo");
  const struct {
    fs::path plugin, report;
    int exit_code;
    const char* why;
  } cases[] = {
      {TENON_TEST_HELLO, "/dev/zero", 2, "has more than 268435456 bytes"},
      {TENON_TEST_HELLO, directory / "sparse", 2, "has more than 268435456 bytes"},
      {TENON_TEST_HELLO, directory.path(), 2, "Is a directory"},
      {directory / "fifo", report, 3, "is a FIFO"},
      {directory.path(), report, 3, "is a directory"},
      {"/dev/zero", report, 3, "is not a regular file"},
  };
  for (const auto& each : cases) {
    INFO(each.plugin << " " << each.report);
    const Outcome outcome = check(each.plugin, each.report);
    CHECK(outcome.exit_code == each.exit_code);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, ContainsSubstring(each.why));
  }
}

TEST_CASE("signatures and lists of publishers that are hostile do not make a report vouch") {
  TENON_TEST_NEEDS_SIGNER();
  const tenon::test::Signer signer;
  const TemporaryDirectory directory;
  const fs::path report = directory.write("report.json", good_report().dump());
  const fs::path signature = directory / "report.json.minisig";
  const fs::path list = directory / "publishers.json";
  const std::string good_list = tenon::concat(
      R"({"publishers_version": 1, "publishers": [{"name": "Acme", "keys": [{"minisign": ")",
      signer.public_key(), R"("}]}]})");
  signer.sign_file(report);
  const std::string good_signature = tenon::test::content_of(signature);
  const auto write = [](const fs::path& path, std::string text) {
    return [path, text] {
      std::ofstream(path, std::ios::binary) << text;
      fs::permissions(path, fs::perms(0644));
    };
  };
  const auto put = [](const fs::path& path, void (*make)(const fs::path&)) {
    return [path, make] { make(path); };
  };
  const auto line = [&](std::size_t number) {
    std::string_view rest = good_signature;
    for (; number > 1; --number) rest.remove_prefix(rest.find('\n') + 1);
    return std::string(rest.substr(0, rest.find('\n')));
  };
  const auto with_line = [&](std::size_t number, const std::string& text) {
    std::string out;
    for (std::size_t i = 1; i <= 4; ++i) out += (i == number ? text : line(i)) + "\n";
    return out;
  };
  const std::string zeros = line(2).substr(0, 14) + std::string(85, 'A') + "=";
  const struct {
    const char* what;
    std::function<void()> make;
    int exit_code;
    const char* why;
  } cases[] = {
      {"the right ones", [] {}, 0, ""},
      {"ends of lines as on Windows",
       write(signature, line(1) + "\r\n" + line(2) + "\r\n" + line(3) + "\r\n" + line(4) + "\r\n"),
       0, ""},
      {"no end of the last line",
       write(signature, good_signature.substr(0, good_signature.size() - 1)), 0, ""},
      {"a signature that is a FIFO", put(signature, &make_fifo), 2, "is a FIFO"},
      {"a signature that is a directory", [&] { fs::create_directory(signature); }, 2,
       "is a directory"},
      {"a signature without end", [&] { fs::create_symlink("/dev/zero", signature); }, 2, "device"},
      {"a signature of 5 GiB", put(signature, &make_sparse), 2, "expected at most"},
      {"an empty signature", write(signature, ""), 1, "is not there"},
      {"two signatures", write(signature, good_signature + good_signature), 1, "line 5"},
      {"a signature of zeros", write(signature, with_line(2, zeros)), 1, "not what was signed"},
      {"a trusted comment with a NUL",
       write(signature, with_line(3, line(3) + std::string(1, '\0'))), 1, "holds a NUL"},
      {"a trusted comment with another end", write(signature, with_line(3, line(3) + " ")), 1,
       "the trusted comment is not what was signed"},
      {"the signature of the plugin",
       [&] {
         const fs::path plugin = directory / "hello.so";
         fs::copy_file(TENON_TEST_HELLO, plugin, fs::copy_options::overwrite_existing);
         signer.sign_file(plugin);
         fs::copy_file(directory / "hello.so.minisig", signature);
       },
       1, "the file is not what was signed"},
      {"a key of the right number and other bytes",
       [&] {
         const tenon::test::Signer other(1);
         std::string key = other.public_key();
         write(list,
               tenon::concat(R"({"publishers_version": 1, "publishers": [{"name": "Acme", )",
                             R"("keys": [{"minisign": ")",
                             signer.public_key().substr(0, 14) + key.substr(14), R"("}]}]})"))();
       },
       1, "not what was signed"},
      {"a key of zeros, for which anyone can sign",
       write(list,
             tenon::concat(R"({"publishers_version": 1, "publishers": [{"name": "Acme", )",
                           R"("keys": [{"minisign": ")",
                           signer.public_key().substr(0, 14) + std::string(42, 'A'), R"("}]}]})")),
       1, "not what was signed"},
      {"a list that is a FIFO", put(list, &make_fifo), 2, "is a FIFO"},
      {"a list of 5 GiB", put(list, &make_sparse), 2, "expected at most 1048576"},
      {"a list that others can write to", [&] { fs::permissions(list, fs::perms(0666)); }, 2,
       "writable by every user"},
      {"a list of nested arrays",
       write(list, R"({"publishers_version": 1, "publishers": )" + std::string(500000, '[') + "}"),
       2, "publishers.json: "},
  };
  const ScopedEnvironment variable(Variables{{"TENON_PUBLISHERS", list.native()}});
  for (const auto& each : cases) {
    INFO(each.what);
    fs::remove_all(signature);
    fs::remove_all(list);
    write(list, good_list)();
    if (std::string_view(each.what).find("signature") == std::string_view::npos ||
        each.exit_code == 0) {
      write(signature, good_signature)();
    }
    const bool is_of_list = std::string_view(each.what).starts_with("a list that is a FIFO") ||
                            std::string_view(each.what).starts_with("a list of 5");
    if (is_of_list) fs::remove(list);
    each.make();
    const Outcome outcome = check(TENON_TEST_HELLO, report);
    INFO(outcome.err);
    CHECK(outcome.exit_code == each.exit_code);
    CHECK((outcome.exit_code == 0) != outcome.out.empty());
    CHECK_THAT(outcome.err, ContainsSubstring(each.why));
  }
}

}}  // namespace hostile_certificate_test
