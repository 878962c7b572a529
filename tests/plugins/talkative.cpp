// SPDX-License-Identifier: MIT
// Reports to the host's log when it is opened and closed.
#include <tenon/tenon.hpp>

#include "support/idle_backend.hpp"

namespace {

class Talkative final : public tenon::Backend<Talkative>, public tenon::test::IdleDelegates {
 public:
  static constexpr std::string_view id = "TalkativeBackend";

  ~Talkative() { host().log(tenon::LogLevel::Info, "closed"); }

  tenon::Status open() {
    host().log(tenon::LogLevel::Info, "opened by ", host().name(), " from ", host().plugin_path());
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(Talkative);
