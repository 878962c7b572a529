// SPDX-License-Identifier: MIT
//
// Is available when it can open PATH; without one it ends the process.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <tenon/tenon.hpp>

namespace {

class Reaches final : public tenon::Backend<Reaches> {
 public:
  static constexpr std::string_view id = "Reaches";

  struct Delegate {};

  tenon::Status is_available() {
#if defined(PATH)
    const int file = ::open(PATH, O_RDONLY | O_CLOEXEC);
    if (file < 0) return tenon::error(tenon::Error::AccessFailed, "cannot open " PATH);
    ::close(file);
    return tenon::ok();
#else
    std::abort();
#endif
  }
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

}  // namespace

TENON_PLUGIN(Reaches);
