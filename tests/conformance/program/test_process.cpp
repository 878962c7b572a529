// SPDX-License-Identifier: MIT
#include "test_process.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "kit/platform/system.hpp"
#include "kit/process/backtrace.hpp"
#include "kit/process/breadcrumbs.hpp"
#include "kit/process/channel.hpp"
#include "temporary_directory.hpp"
#include "tenon/host/platform/file_descriptor.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_at.hpp"
#include "tenon/host/platform/write_at.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_output = std::size_t{64} << 10;

/// The text that a test wrote, up to `most` bytes. In pieces, as most tests write little. A failure
/// is of this machine, and none of the test.
Result<std::string> read_all(int descriptor, std::size_t most) {
  constexpr std::size_t piece = std::size_t{16} << 10;
  std::string out;
  for (std::size_t used = 0; used < most;) {
    out.resize(used + std::min(piece, most - used));
    const auto rest = std::as_writable_bytes(std::span(out).subspan(used));
    const std::ptrdiff_t size = host::read_at(descriptor, rest, used);
    if (size < 0) {
      return error(Error::AccessFailed,
                   "the output of a test cannot be read: ", std::generic_category().message(errno));
    }
    used += static_cast<std::size_t>(size);
    out.resize(used);
    if (size == 0) break;
  }
  return out;
}

/// The files and the empty directories in `directory`, sorted, with their paths relative to it.
std::vector<std::string> content_of(const std::filesystem::path& directory) {
  std::vector<std::string> out;
  std::error_code failed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory, failed)) {
    std::error_code unknown;
    const bool has_content = entry.is_directory(unknown) && !entry.is_symlink(unknown) &&
                             !std::filesystem::is_empty(entry.path(), unknown) && !unknown;
    if (has_content) continue;
    const std::filesystem::path relative = entry.path().lexically_relative(directory);
    out.push_back(host::path_text(relative.generic_string()));
  }
  std::ranges::sort(out);
  return out;
}

/// A test that did not come to its end: the broken rule, and what is known of the crash.
/// `end`: how the process ended, in words.
void describe_end(const TestCommand& command, const std::string& end, const ChannelContent& content,
                  const Breadcrumbs& crumbs, TestResult& result) {
  Crash crash;
  crash.in = crumbs.running();
  Finding finding;
  const std::string rule(crumbs.rule_of_a_crash());
  if (content.crashed) {
    finding = content.crash_finding;
    if (finding.rule == "TN-BCK-7") finding.rule = rule;
  } else {
    finding = {rule, end};
  }
  // `is_available` has a rule of its own.
  if (finding.rule == "TN-BCK-7" && crash.in.starts_with("is_available ")) {
    finding.rule = "TN-BCK-6";
  }
  crash.what = finding.text;
  finding.text +=
      crash.in.empty() ? ", while no function of the plugin was called" : concat(", in ", crash.in);
  crash.last_calls = crumbs.last(20);
  static const SourceLineOptions lines{find_addr2line()};
  crash.backtrace = name_frames(content.backtrace, content.maps, command.plugin, lines);
  result.findings.push_back(std::move(finding));
  result.crashes.push_back(std::move(crash));
}

void describe_hang(const TestCommand& command, const Breadcrumbs& crumbs, TestResult& result) {
  const auto seconds = static_cast<std::int64_t>(command.timeout.count());
  Crash crash;
  crash.in = crumbs.running();
  crash.what = concat("no answer in ", seconds, " s");
  crash.last_calls = crumbs.last(20);
  if (crash.in.empty()) {
    result.outcome = Outcome::kit_error;
    result.reason = concat("no end in ", seconds, " s, while no function of the plugin was called");
  } else {
    result.findings.push_back({"TN-BCK-8", concat(crash.in, ": ", crash.what)});
  }
  result.crashes.push_back(std::move(crash));
}

}  // namespace

Status run_in_process_of_its_own(platform::TestServer& server, const TestCommand& command,
                                 TestResult& result) {
  TENON_TRY(const TemporaryDirectory directory, TemporaryDirectory::at(command.directory));
  const host::FileDescriptor channel = platform::make_shared_file("tenon-channel");
  const host::FileDescriptor output = platform::make_shared_file("tenon-output");
  TENON_TRY(const Breadcrumbs shared, Breadcrumbs::create());
  TENON_TRY(const std::string secret, make_channel_secret());
  if (!channel.valid() || !output.valid() ||
      !host::write_at(channel.get(), std::as_bytes(std::span(secret)), 0)) {
    return error(Error::AccessFailed, "no memory for the output of a test");
  }
  platform::ProcessCommand process;
  process.option = command.option;
  process.value = command.value;
  process.files = {{"--channel=", channel.get()}, {"--crumbs=", shared.descriptor()}};
  process.output = output.get();
  process.directory = command.directory;

  const Clock::time_point start = Clock::now();
  TENON_TRY(auto group, server.start(process));
  const std::optional<platform::ProcessEnd> ended =
      group.wait_until(start + std::chrono::duration_cast<Clock::duration>(command.timeout));
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const bool others = group.end();

  // What the plugin could write to is copied before anything in it is looked at.
  TENON_TRY(const Breadcrumbs crumbs, shared.copy());
  TENON_TRY(const std::string written, read_all(channel.get(), std::size_t{16} << 20));
  TENON_TRY(result.output, read_all(output.get(), max_output));
  ChannelContent content = read_channel(written, secret);
  result.findings = std::move(content.findings);
  result.measurements = std::move(content.measurements);
  result.outcome = content.outcome;
  result.reason = std::move(content.reason);
  result.executed = content.executed;
  if (!ended) {
    describe_hang(command, crumbs, result);
  } else if (!content.done || ended->server_ended) {
    describe_end(command, ended->how, content, crumbs, result);
  } else {
    // A plugin that empties the file also removes the blank that replaced the secret.
    const bool was_emptied = !written.starts_with(std::string(channel_secret_size, '\n'));
    if (content.changed || was_emptied) {
      result.findings.push_back(
          {"TN-PRC-5", "wrote to a descriptor that it did not open: the kit's own was changed"});
    }
    if (others) result.findings.push_back({"TN-BCK-5", "a process of the plugin still runs"});
    result.left_files = content_of(directory.path());
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
