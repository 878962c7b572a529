// SPDX-License-Identifier: MIT
#include "kit/process/channel.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "kit/platform/system.hpp"
#include "support/catch.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

using namespace tenon;
using namespace tenon::conformance;

namespace channel_test {
namespace {

const std::string secret(channel_secret_size, 'a');

std::string content_of(int descriptor) {
  std::string out(std::size_t{1} << 20, '\0');
  out.resize(static_cast<std::size_t>(::pread(descriptor, out.data(), out.size(), 0)));
  return out;
}

host::FileDescriptor memory_file() {
  host::FileDescriptor file(::memfd_create("test", MFD_CLOEXEC));
  REQUIRE(file.valid());
  return file;
}

}  // namespace

TEST_CASE("a channel gives the runner what a test reports", "[channel]") {
  const host::FileDescriptor file = memory_file();
  const auto made = make_channel_secret();
  REQUIRE(made.ok());
  REQUIRE(made->size() == channel_secret_size);
  CHECK(*made != *make_channel_secret());
  REQUIRE(::pwrite(file.get(), made->data(), made->size(), 0) ==
          static_cast<ssize_t>(channel_secret_size));
  auto taken = Channel::take_secret(file.get());
  REQUIRE(taken.ok());
  CHECK(*taken == *made);
  CHECK(content_of(file.get()).find(*made) == std::string::npos);

  Channel channel(file.get(), *taken);
  channel.finding({"TN-EXE-1", "a text \xff"});
  channel.measurement({"load", 2.5, "ms"});
  channel.outcome(Outcome::not_applicable, "no case", true);
  channel.done();
  const ChannelContent found = read_channel(content_of(file.get()), *made);
  CHECK(found.done);
  CHECK_FALSE(found.changed);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].rule == "TN-EXE-1");
  REQUIRE(found.measurements.size() == 1);
  CHECK(found.measurements[0].value == 2.5);
  CHECK(found.outcome == Outcome::not_applicable);
  CHECK(found.reason == "no case");
  CHECK(found.executed);
}

TEST_CASE("a crash that is reported while the test writes overwrites nothing", "[channel]") {
  constexpr std::size_t rounds = 2000;
  const host::FileDescriptor file = memory_file();
  REQUIRE(::pwrite(file.get(), secret.data(), secret.size(), 0) ==
          static_cast<ssize_t>(channel_secret_size));
  REQUIRE(Channel::take_secret(file.get()).ok());
  const std::string crash = secret + "!crash TN-BCK-5 SIGSEGV\n";
  std::jthread handler([&] {
    for (std::size_t i = 0; i < rounds; ++i) {
      platform::write(file.get(), crash.data(), crash.size());
    }
  });
  Channel channel(file.get(), secret);
  for (std::size_t i = 0; i < rounds; ++i) channel.measurement({"load", 2.5, "ms"});
  handler.join();
  channel.done();
  const ChannelContent found = read_channel(content_of(file.get()), secret);
  CHECK(found.crashed);
  CHECK(found.done);
  CHECK_FALSE(found.changed);
  CHECK(found.measurements.size() == rounds);
}

TEST_CASE("lines that the kit did not write count for nothing, and are noticed", "[channel]") {
  for (const char* line : {R"({"done":0})", R"({"finding":1})", R"({"outcome":"passed"})",
                           "!crash TN-BCK-1 forged", "!frame", "[[[[", "\x80\xff"}) {
    INFO(line);
    const ChannelContent found = read_channel(std::string(line) + "\n", secret);
    CHECK(found.changed);
    CHECK_FALSE(found.done);
    CHECK_FALSE(found.crashed);
    CHECK(found.findings.empty());
    CHECK(found.backtrace.empty());
  }
}

TEST_CASE("lines of other types than the kit's are left out", "[channel]") {
  std::string text;
  for (const char* line :
       {R"({"finding":1})", R"({"finding":{"rule":1,"text":[]}})", R"({"measurement":"x"})",
        R"({"measurement":{"value":"x"}})", R"({"finding":{"rule":"A"},"finding":{"rule":"B"}})",
        R"({"outcome":{}})", R"({"outcome":"passed","reason":7,"executed":1})", "[1]", "{"}) {
    text += secret + line + "\n";
  }
  const ChannelContent found = read_channel(text, secret);
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].rule.empty());
  CHECK(found.measurements.empty());
  CHECK(found.reason.empty());
  CHECK_FALSE(found.executed);
  CHECK_FALSE(found.done);
}

TEST_CASE("a line that was removed or overwritten is noticed", "[channel]") {
  const std::string finding = secret + R"({"finding":{"rule":"TN-EXE-1","text":""}})" + "\n";
  const std::string done = secret + R"({"done":1})" + "\n";
  CHECK_FALSE(read_channel(finding + done, secret).changed);
  CHECK(read_channel(done, secret).changed);
  CHECK(read_channel(std::string(finding.size(), '\0') + "\n" + done, secret).changed);
  CHECK(read_channel(finding + finding + done, secret).changed);
  CHECK(read_channel(secret + R"({"done":true})" + "\n", secret).changed);
}

TEST_CASE("a line that a crash cut is no sign of a plugin that writes", "[channel]") {
  const ChannelContent found = read_channel(secret.substr(0, 7), secret);
  CHECK_FALSE(found.changed);
  CHECK_FALSE(found.done);
}

TEST_CASE("the frames after a crash are its backtrace", "[channel]") {
  const ChannelContent found = read_channel(
      secret + "!crash TN-EXE-1 SIGSEGV at 0x0\n!one\n!two\n" + secret + "!crash TN-X again\n",
      secret);
  CHECK(found.crashed);
  CHECK(found.crash_finding.rule == "TN-EXE-1");
  CHECK(found.crash_finding.text == "SIGSEGV at 0x0");
  CHECK(found.backtrace == std::vector<std::string>{"one", "two"});
  CHECK(found.maps.empty());
}

TEST_CASE("mappings after a crash are no frames", "[channel]") {
  const std::string line = "1000-2000 r-xp 00000000 00:00 0 /a plugin.so";
  const ChannelContent found = read_channel(
      secret + "!crash TN-EXE-1 SIGSEGV at 0x0\n!0x1004\n!map " + line + "\n!map \n", secret);
  CHECK(found.backtrace == std::vector<std::string>{"0x1004"});
  CHECK(found.maps == std::vector<std::string>{line, ""});
  CHECK_FALSE(found.changed);
}

}  // namespace channel_test
