// SPDX-License-Identifier: MIT
#include "kit/process/crash_reporter.hpp"

#include <array>
#include <string_view>

#include "kit/process/guarded_memory.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

std::atomic<int>& crash_descriptor() noexcept {
  static std::atomic<int> descriptor = -1;
  return descriptor;
}

std::array<char, channel_secret_size>& crash_secret() noexcept {
  static std::array<char, channel_secret_size> secret{};
  return secret;
}
std::atomic<std::size_t>& crash_secret_size() noexcept {
  static std::atomic<std::size_t> size = 0;
  return size;
}

void report_crash(const platform::CrashFacts& crash) noexcept {
  const int descriptor = crash_descriptor();
  const ForbiddenPages* pages = crash.has_address ? find_forbidden(crash.address) : nullptr;
  // The thread does not belong to the kit and no backend is open: the plugin left it behind, and
  // its code is unmapped.
  const bool was_left_behind = open_backends() == 0 && !crash.is_on_main_thread;
  platform::CrashText text;
  text << std::string_view(crash_secret().data(), crash_secret_size()) << "!crash "
       << (pages             ? pages->rule.load()
           : was_left_behind ? "TN-BCK-5"
                             : "TN-BCK-7")
       << " " << crash.name;
  if (pages) text << ": touched memory " << pages->what.load();
  if (crash.has_address) (text << " at ").hex(crash.address);
  text << "\n";
  platform::write(descriptor, text.view().data(), text.view().size());
  platform::write_backtrace(descriptor, crash);
}

}  // namespace

CrashReporter::CrashReporter(const Channel& channel) : target_(channel), handlers_(&report_crash) {}

CrashReporter::Target::Target(const Channel& channel) {
  crash_secret_size() = channel.secret().copy(crash_secret().data(), channel_secret_size);
  crash_descriptor() = channel.descriptor();
}

CrashReporter::Target::~Target() { crash_descriptor() = -1; }

}}}  // namespace tenon::TENON_RELEASE::conformance
