// SPDX-License-Identifier: MIT
//
// A backend that prepares a number from its blob, the sum of the blob's bytes, and keeps it: its
// output is the input and that number. It logs "prepared" or "found N bytes". Compile specs: "at"
// with the value "destroy" (stores then), "broken" (asks after the blob was released).
// The option "identity" is what its bytes depend on.
#include <cstring>
#include <string>
#include <tenon/backend/prepared.hpp>
#include <tenon/tenon.hpp>

namespace {

using tenon::Bytes;
using tenon::Status;

class Prepares final : public tenon::Backend<Prepares>, public tenon::WithOptions<Prepares> {
 public:
  static constexpr std::string_view id = "Prepares";
  static constexpr std::string_view tags = "debug";
  static constexpr std::array options{tenon::OptionSpec{"identity", "", "of the bytes"}};

  struct Delegate {
    Delegate() = default;
    Delegate(Delegate&&) = default;
    ~Delegate() {
      if (stores_late) kept.store(number_bytes());
    }
    [[nodiscard]] Bytes number_bytes() const { return std::as_bytes(std::span(&number, 1)); }

    tenon::Prepared kept;
    float number = 0;
    bool stores_late = false;
  };

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob blob,
                               tenon::CompileSpecs specs) {
    const auto at = specs.find("at");
    const std::string_view when = at ? tenon::as_text(*at) : "";
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const auto identity, values.get<std::string>("identity"));
    Delegate out;
    for (const std::byte each : blob.bytes())
      out.number += static_cast<float>(std::to_integer<unsigned>(each));
    if (when == "broken") blob.release();
    out.kept = tenon::Prepared(*this, context, identity);
    const Bytes found = out.kept.bytes();
    if (found.size() == sizeof out.number) {
      std::memcpy(&out.number, found.data(), sizeof out.number);
      host().log(tenon::LogLevel::Info, "found ", found.size(), " bytes");
      return out;
    }
    host().log(tenon::LogLevel::Info, "prepared");
    out.stores_late = when == "destroy";
    if (!out.stores_late) out.kept.store(out.number_bytes());
    return out;
  }

  Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_TRY(auto input, args.tensor<const float>(0));
    TENON_TRY(auto output, args.tensor<float>(1));
    for (std::size_t i = 0; i < output.numel(); ++i) {
      output.data()[i] = input.data()[i] + delegate.number;
    }
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(Prepares);
