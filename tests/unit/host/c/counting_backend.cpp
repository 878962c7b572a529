// SPDX-License-Identifier: MIT
//
// A plugin for tests of the C interface: "Counting". Its blob says what a delegate does: "count"
// adds the number of the run to its input, times the option `step`; "fail" fails; "wait" ends only
// when the run is cancelled. Each session counts by itself. Its kernel "counting::increase_" adds 1
// to its only argument.
#include <array>
#include <string>
#include <string_view>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/tenon.hpp>
#include <thread>

namespace {

using tenon::Error;

class CountingBackend final : public tenon::Backend<CountingBackend>,
                              public tenon::WithKernels<CountingBackend>,
                              public tenon::WithMemoryInfo<CountingBackend>,
                              public tenon::WithOptions<CountingBackend>,
                              public tenon::WithSessions<CountingBackend> {
 public:
  static constexpr std::string_view id = "Counting";
  static constexpr std::string_view description = "counts its runs";
  static constexpr std::array options{tenon::OptionSpec{"step", 1.0, "what each run adds"},
                                      tenon::OptionSpec{"label", "none", "for logs"}};
  static constexpr std::array<std::string_view, 1> operators{"counting::increase_"};

  struct Kernel {
    tenon::Status run(tenon::ExecutionContext&, tenon::Args args) {
      TENON_TRY(const auto x, args.tensor<float>(0));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += 1;
      return tenon::ok();
    }
  };
  tenon::Result<Kernel> create_kernel(std::string_view, tenon::Args) { return Kernel{}; }

  struct Delegate {
    std::string what;
    float step = 1;
    int runs = 0;
  };

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    const std::string what(processed.text());
    if (what == "refuse") return tenon::error(Error::DelegateInvalidCompatibility, "a bad blob");
    host().log(tenon::LogLevel::Info, "loads ", what);
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const double step, values.get<double>("step"));
    return Delegate{what, static_cast<float>(step)};
  }

  tenon::Result<Delegate> create_session(const Delegate& delegate) {
    return Delegate{delegate.what, delegate.step};
  }

  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    if (delegate.what == "fail") return tenon::error(Error::InvalidState, "failed as it was asked");
    if (delegate.what == "wait") {
      const tenon::CancelFlag cancelled(*this, context);
      while (!cancelled.is_set()) std::this_thread::yield();
      return cancelled.check();
    }
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    ++delegate.runs;
    const float added = delegate.step * static_cast<float>(delegate.runs);
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] + added;
    return tenon::ok();
  }

  tenon::MemoryUses memory_info(const Delegate*) { return {{.weights = 5, .workspace = 3}}; }
};

}  // namespace

TENON_PLUGIN(CountingBackend);
