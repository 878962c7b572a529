// SPDX-License-Identifier: MIT
//
// Several plugins that take ExecuTorch's log, in one process, coming and going in any order.
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host.hpp"
#include "unit/host/loader/plugin/loaded_backend.hpp"

using namespace tenon;
namespace et = ::executorch::runtime;

namespace platform_hook_test {

std::atomic<int> num_lines = 0;  // Of our own function, which was there before any plugin.

void count_line(et_timestamp_t, et_pal_log_level_t, const char*, const char*, std::size_t,
                const char*, std::size_t) {
  ++num_lines;
}

et::PalImpl& platform() { return const_cast<et::PalImpl&>(*et::get_pal_impl()); }

/// While it lives, `count_line` is what ExecuTorch logs to.
class CountedLog {
 public:
  CountedLog() : before_(std::exchange(platform().emit_log_message, &count_line)) { num_lines = 0; }
  CountedLog(const CountedLog&) = delete;
  CountedLog& operator=(const CountedLog&) = delete;
  ~CountedLog() { platform().emit_log_message = before_; }

 private:
  pal_emit_log_message_method before_;
};

/// One of the two plugins, loaded and opened.
class Chatty {
 public:
  explicit Chatty(const std::string& id) {
    host::HostInfo info;
    info.log = [this](std::int32_t, std::string_view, std::string_view text) {
      lines.emplace_back(text);
    };
    auto loaded = host::Plugin::load(std::string(TENON_TEST_CHATTY) + "/" + id + ".so",
                                     host::all_layers(info));
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    auto opened = (*loaded)->backend(id);
    INFO(opened.text());
    REQUIRE(opened.ok());
    backend_ = host::BackendRef(*std::move(opened));
  }

  /// Why a blob was refused.
  [[nodiscard]] std::string refusal(const std::string& blob = "blob") const {
    return std::string(test::LoadedBlob(backend_, blob).init().text());
  }

  std::vector<std::string> lines;

 private:
  host::BackendRef backend_;
};

}  // namespace platform_hook_test
using namespace platform_hook_test;

TEST_CASE("plugins that hook ExecuTorch's log restore it, in any order of unloading",
          "[executorch]") {
  for (const bool first_goes_first : {true, false}) {
    const CountedLog counted;
    const auto abort_before = platform().abort;
    std::optional<Chatty> first("ChattyA");
    const auto emit_of_first = platform().emit_log_message;
    CHECK(emit_of_first != &count_line);
    CHECK(platform().abort != abort_before);
    std::optional<Chatty> second("ChattyB");
    CHECK(platform().emit_log_message == emit_of_first);  // It found the other one.

    // Each gets its own lines, whichever function is installed.
    for (int i = 0; i < 2; ++i) {
      CHECK_THAT(first->refusal(), ContainsSubstring("ChattyA says no"));
      CHECK_THAT(second->refusal(), ContainsSubstring("ChattyB says no"));
    }
    CHECK(first->lines.size() == 3);
    CHECK_THAT(second->lines.front(), ContainsSubstring("ChattyB is made"));
    CHECK_THAT(second->refusal("check"), ContainsSubstring("ChattyB checks"));
    CHECK_THAT(first->refusal("check"), ContainsSubstring("ChattyA checks"));
    CHECK(num_lines == 0);
    ET_LOG(Error, "of nobody's call");
    CHECK(num_lines == 1);

    std::optional<Chatty>& left = first_goes_first ? second : first;
    (first_goes_first ? first : second).reset();
    CHECK((platform().emit_log_message == emit_of_first) == !first_goes_first);
    CHECK_THAT(left->refusal(), ContainsSubstring("says no"));
    CHECK_THAT(left->refusal("check"), ContainsSubstring("checks"));
    ET_LOG(Error, "of nobody's call");
    CHECK(num_lines == 2);

    left.reset();
    CHECK(platform().emit_log_message == &count_line);
    CHECK(platform().abort == abort_before);
    ET_LOG(Error, "of nobody's call");
    CHECK(num_lines == 3);
  }
}

TEST_CASE("a function that an application installs over a plugin's may still call it",
          "[executorch]") {
  static pal_emit_log_message_method below = nullptr;
  const CountedLog counted;
  const auto abort_before = platform().abort;
  std::optional<Chatty> chatty("ChattyB");
  below = std::exchange(
      platform().emit_log_message,
      +[](et_timestamp_t timestamp, et_pal_log_level_t level, const char* file,
          const char* function, std::size_t line, const char* message,
          std::size_t length) { below(timestamp, level, file, function, line, message, length); });
  CHECK_THAT(chatty->refusal(), ContainsSubstring("ChattyB says no"));
  chatty.reset();
  // The plugin is closed; its function is still there and passes lines on.
  ET_LOG(Error, "of nobody's call");
  CHECK(num_lines == 1);
  chatty.emplace("ChattyB");
  CHECK_THAT(chatty->refusal(), ContainsSubstring("ChattyB says no"));
  CHECK(num_lines == 1);
  platform().emit_log_message = below;
  chatty.reset();
  CHECK(platform().emit_log_message == &count_line);
  CHECK(platform().abort == abort_before);
}

TEST_CASE("plugins are loaded and unloaded while other threads call theirs",
          "[executorch][threads]") {
  const CountedLog counted;
  const Chatty stays("ChattyA");
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread caller([&] {
    while (!done) {
      if (stays.refusal().find("ChattyA says no") == std::string::npos) ++wrong;
    }
  });
  for (int i = 0; i < 50; ++i) {
    const Chatty passing("ChattyB");
    if (passing.refusal().find("ChattyB says no") == std::string::npos) ++wrong;
  }
  done = true;
  caller.join();
  CHECK(wrong == 0);
  CHECK(num_lines == 0);
}
