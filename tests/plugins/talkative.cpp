// SPDX-License-Identifier: MIT
// Reports to the host's log when it is opened and closed.
#include <tenon/tenon.hpp>

namespace {

class Talkative final : public tenon::Backend<Talkative> {
 public:
  static constexpr std::string_view id = "TalkativeBackend";

  struct Delegate {};

  ~Talkative() { host().log(tenon::LogLevel::Info, "closed"); }

  tenon::Status open() {
    host().log(tenon::LogLevel::Info, "opened by ", host().name(), " from ", host().plugin_path());
    return tenon::ok();
  }
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

}  // namespace

TENON_PLUGIN(Talkative);
