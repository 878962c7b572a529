// SPDX-License-Identifier: MIT
// Two backends, of which the second cannot be opened and says so to a person.
#include <tenon/tenon.hpp>

namespace {

template <class Derived>
class Parts : public tenon::Backend<Derived> {
 public:
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

class Works final : public Parts<Works> {
 public:
  static constexpr std::string_view id = "WorksBackend";
  tenon::Status is_available() {
    return tenon::error(tenon::Error::AccessFailed, "no device on this machine");
  }
};

class Locked final : public Parts<Locked> {
 public:
  static constexpr std::string_view id = "LockedBackend";
  tenon::Status open() { return tenon::error(tenon::Error::AccessFailed, "no licence"); }
};

}  // namespace

TENON_PLUGIN(Works, Locked);
