// SPDX-License-Identifier: MIT
// Throws where its blob says.
#include <new>
#include <stdexcept>
#include <tenon/tenon.hpp>

namespace {

class Throws final : public tenon::Backend<Throws> {
 public:
  static constexpr std::string_view id = "ThrowsBackend";

  struct Delegate {};

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    if (processed.text() == "init") throw std::runtime_error("thrown by init");
    if (processed.text() == "memory") throw std::bad_alloc();
    return Delegate{};
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args args) {
    if (args.size() == 0) throw 5;
    throw std::logic_error("thrown by execute");
  }
};

}  // namespace

TENON_PLUGIN(Throws);
