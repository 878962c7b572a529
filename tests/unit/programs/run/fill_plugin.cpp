// SPDX-License-Identifier: MIT
// Serves the no-op programs of tests/fixtures/bench with a backend that has options: it fills the
// output with a number that is chosen for the load.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <tenon/tenon.hpp>

namespace {

class FillBackend final : public tenon::Backend<FillBackend>,
                          public tenon::WithOptions<FillBackend> {
 public:
  static constexpr std::string_view id = "NoopBackend";
  static constexpr std::array options{
      tenon::OptionSpec{"value", 0.5, "what the output is filled with"},
      tenon::OptionSpec{"chatty", false, "logs when a blob is loaded"}};

  struct Delegate {
    double value;
  };

  tenon::Status is_available() {
    if (std::getenv("TENON_TEST_NO_DEVICE") == nullptr) return tenon::ok();
    return tenon::error(tenon::Error::NotFound, "no device, says the environment");
  }

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob, tenon::CompileSpecs) {
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const double value, values.get<double>("value"));
    TENON_TRY(const bool chatty, values.get<bool>("chatty"));
    if (chatty) {
      host().log(tenon::LogLevel::Info, "not for the terminal");
      host().log(tenon::LogLevel::Error, "two\nlines");
    }
    return Delegate{value};
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_TRY(auto out, args.tensor<float>(args.size() - 1));
    std::fill(out.begin(), out.end(), static_cast<float>(delegate.value));
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(FillBackend);
