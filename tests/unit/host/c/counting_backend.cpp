// SPDX-License-Identifier: MIT
//
// A plugin for tests of the C interface: "Counting". Its blob says what a delegate does: "count"
// adds the number of the run to its input, times the option `step`; "hints" adds the priority that
// it was given; "fail" fails; "wait" ends only when the run is cancelled. Each session counts by
// itself, from the number of another one where the application asks for that and the blob is not
// "hints". Its kernel "counting::increase_" adds 1 to its only argument.
#include <array>
#include <string>
#include <string_view>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/tenon.hpp>
#include <thread>
#include <utility>

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
    tenon::OptionValues<CountingBackend> options;
    tenon::Scheduling hints{};
    float step = 1;
    int runs = 0;
  };

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    const std::string what(processed.text());
    if (what == "refuse") return tenon::error(Error::DelegateInvalidCompatibility, "a bad blob");
    host().log(tenon::LogLevel::Info, "loads ", what);
    TENON_TRY(auto values, option_values(context));
    return make(what, std::move(values), context.scheduling());
  }

  tenon::Result<Delegate> create_session(const Delegate& of,
                                         const tenon::SessionContext<Delegate>& context) {
    for (std::size_t i = 0; i < context.num_runtime_specs(); ++i) {
      if (std::string_view(context.runtime_spec(i).key) == "label") {
        return tenon::error(Error::NotSupported, "the label is the load's");
      }
    }
    TENON_TRY(auto values, option_values(context, of.options));
    TENON_TRY(auto out, make(of.what, std::move(values), context.scheduling().value_or(of.hints)));
    const Delegate* const from = context.state();
    if (from && of.what == "hints") return tenon::error(Error::NotSupported, "there is no state");
    if (from) out.runs = from->runs;
    return out;
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
    const float added = delegate.what == "hints"
                            ? static_cast<float>(delegate.hints.priority)
                            : delegate.step * static_cast<float>(delegate.runs);
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] + added;
    return tenon::ok();
  }

  tenon::MemoryUses memory_info(const Delegate*) { return {{.weights = 5, .workspace = 3}}; }

 private:
  static tenon::Result<Delegate> make(std::string what, tenon::OptionValues<CountingBackend> values,
                                      const tenon::Scheduling& hints) {
    TENON_TRY(const double step, values.get<double>("step"));
    return Delegate{std::move(what), std::move(values), hints, static_cast<float>(step)};
  }
};

}  // namespace

TENON_PLUGIN(CountingBackend);
