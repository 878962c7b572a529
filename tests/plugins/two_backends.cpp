// SPDX-License-Identifier: MIT
// Two backends, of which the second cannot be opened and says so to a person.
#include <tenon/tenon.hpp>

#include "support/idle_backend.hpp"

namespace {

class Works final : public tenon::Backend<Works>, public tenon::test::IdleDelegates {
 public:
  static constexpr std::string_view id = "WorksBackend";
  tenon::Status is_available() {
    return tenon::error(tenon::Error::AccessFailed, "no device on this machine");
  }
};

class Locked final : public tenon::Backend<Locked>, public tenon::test::IdleDelegates {
 public:
  static constexpr std::string_view id = "LockedBackend";
  tenon::Status open() { return tenon::error(tenon::Error::AccessFailed, "no licence"); }
};

}  // namespace

TENON_PLUGIN(Works, Locked);
