// SPDX-License-Identifier: MIT
//
// The backend of docs/hosts/prepared.md.
#include <cstring>
#include <string>
#include <string_view>
#include <tenon/backend/prepared.hpp>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

/// In place of a vendor's library.
class Network {
 public:
  tenon::Status compile(tenon::Bytes blob) {
    bytes_.assign(blob.begin(), blob.end());
    return tenon::ok();
  }
  tenon::Status import(tenon::Bytes compiled) { return compile(compiled); }
  [[nodiscard]] tenon::Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

std::string_view device() { return "acme-1"; }
std::string_view driver() { return "7.2"; }

class AcmePrepares final : public tenon::Backend<AcmePrepares> {
 public:
  static constexpr std::string_view id = "AcmePrepares";

  struct Delegate {
    tenon::Prepared kept;
    Network network{};
  };

  // [backend]
  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob blob, tenon::CompileSpecs) {
    Delegate out{.kept = tenon::Prepared(*this, context, tenon::concat(device(), driver()))};
    const tenon::Bytes found = out.kept.bytes();
    if (!found.empty() && out.network.import(found).ok()) return out;
    TENON_RETURN_IF_ERROR(out.network.compile(blob.bytes()));
    out.kept.store(out.network.bytes());
    return out;
  }
  // [backend]

  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

}  // namespace

TENON_PLUGIN(AcmePrepares);
