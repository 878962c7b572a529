// SPDX-License-Identifier: MIT
//
// Backends for tests of the host. What a delegate does is written in its blob.

#include "test_backend.hpp"

#include <array>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <tenon/tenon.hpp>

namespace tenon::test {

std::vector<std::string>& calls() {
  static std::vector<std::string> all;
  return all;
}

void record(std::string call) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  calls().push_back(std::move(call));
}

}  // namespace tenon::test

namespace {

using tenon::Error;
using tenon::test::record;

/// Blobs: "fail-init", "fail-execute", "throw", "scale" (out = in * 2, resizing the output),
/// "named KEY" (init reads named data), "release" (gives its blob back), "temp" (uses temporary
/// memory), "quiet" (records nothing); any other text records its calls and does nothing.
class TestBackend final : public tenon::Backend<TestBackend>,
                          public tenon::WithOptions<TestBackend> {
 public:
  static constexpr std::string_view id = "Test";
  static constexpr std::array options{
      tenon::OptionSpec{"factor", 2.0, "what `scale` multiplies with"},
      tenon::OptionSpec{"label", "none", "written to the record of calls", TENON_OPTION_AT_LOAD}};

  class Delegate {
   public:
    Delegate(std::string name, double factor) : name_(std::move(name)), factor_(factor) {}
    Delegate(Delegate&&) = default;
    Delegate& operator=(Delegate&&) = default;
    ~Delegate() {
      if (!name_.empty() && name_ != "quiet") record("destroy " + name_);
    }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] double factor() const { return factor_; }

   private:
    std::string name_;
    double factor_;
  };

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs specs) {
    const std::string name(processed.text());
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const double factor, values.get<double>("factor"));
    TENON_TRY(const std::string label, values.get<std::string>("label"));
    if (name == "quiet") return Delegate(name, factor);
    std::string call = "init " + name;
    if (label != "none") call += " label=" + label;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      call += tenon::concat(" ", specs[i].key, "=", tenon::as_text(specs[i].value));
    }
    record(std::move(call));
    if (name == "fail-init") {
      return tenon::error(Error::DelegateInvalidCompatibility, "payload 9, expected 1 to 3");
    }
    if (name == "release") processed.release();
    if (name.starts_with("named ")) {
      const auto map = context.named_data_map();
      if (!map) return tenon::error(Error::NotFound, "no named data map");
      TENON_TRY(const auto data, map->get_data(name.substr(6)));
      record("data " + std::string(tenon::as_text(data.bytes())));
    }
    return Delegate(name, factor);
  }

  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    if (delegate.name() == "quiet") return tenon::ok();
    if (delegate.name() == "temp") {
      if (!context.temp_allocator().allocate_list<float>(5000)) {
        return tenon::error(Error::MemoryAllocationFailed, "no temporary memory");
      }
      return tenon::ok();
    }
    if (delegate.name() == "scale") return scale(delegate, args);
    record("execute " + delegate.name());
    if (delegate.name() == "fail-execute") {
      return tenon::error(Error::OutOfResources, "the device is gone");
    }
    if (delegate.name() == "throw") throw std::runtime_error("thrown by the author");
    return tenon::ok();
  }

 private:
  static tenon::Status scale(const Delegate& delegate, const tenon::Args& args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i] = static_cast<float>(in[i] * delegate.factor());
    }
    return tenon::ok();
  }
};

class UnavailableBackend final : public tenon::Backend<UnavailableBackend> {
 public:
  static constexpr std::string_view id = "Unavailable";
  struct Delegate {};
  tenon::Status is_available() {
    return tenon::error(Error::AccessFailed, "no driver: libacme.so.1 not found");
  }
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    record("init of a backend that is not available");
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

/// Blob: five numbers. What `init` takes from the host, what each run takes from the temp
/// allocator, what is stated for the CPU (-1: nothing, with NOT_SUPPORTED; -2: unknown) and for
/// CUDA device 0, and for a session on the CPU.
class HungryBackend final : public tenon::Backend<HungryBackend>,
                            public tenon::WithEstimate<HungryBackend>,
                            public tenon::WithMemoryInfo<HungryBackend>,
                            public tenon::WithSessions<HungryBackend> {
 public:
  static constexpr std::string_view id = "Hungry";
  struct Delegate {
    std::uint64_t held = 0;
    std::uint64_t temp = 0;
  };

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    record("init of Hungry");
    const Numbers numbers = read(processed);
    const Delegate out{static_cast<std::uint64_t>(numbers[0]),
                       static_cast<std::uint64_t>(numbers[1])};
    if (out.held != 0 && !context.runtime_allocator().allocate(out.held, 64)) {
      return tenon::error(Error::MemoryAllocationFailed, "no memory from the host");
    }
    return out;
  }
  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args) {
    if (delegate.temp != 0 && !context.temp_allocator().allocate(delegate.temp, 16)) {
      return tenon::error(Error::MemoryAllocationFailed, "no temporary memory");
    }
    return tenon::ok();
  }
  /// Takes as much from the host as `init` does.
  tenon::Result<Delegate> create_session(const Delegate& delegate,
                                         const tenon::SessionContext<Delegate>& context) {
    if (delegate.held != 0 && !context.runtime_allocator().allocate(delegate.held, 64)) {
      return tenon::error(Error::MemoryAllocationFailed, "no memory from the host");
    }
    return Delegate(delegate);
  }

  tenon::Result<tenon::MemoryUses> estimate(tenon::InitContext&, tenon::Blob processed,
                                            tenon::CompileSpecs) {
    const Numbers numbers = read(processed);
    if (numbers[2] == -1) return tenon::error(Error::NotSupported, "only a run can show it");
    return tenon::MemoryUses{
        {.workspace =
             numbers[2] == -2 ? tenon::MemoryUse::unknown : static_cast<std::uint64_t>(numbers[2]),
         .session = static_cast<std::uint64_t>(numbers[4])},
        {.weights = static_cast<std::uint64_t>(numbers[3]), .device = {TENON_DL_CUDA, 0}}};
  }
  tenon::MemoryUses memory_info(const Delegate* delegate) {
    if (!delegate) return {{.workspace = 11}};
    return {{.workspace = delegate->held}, {.weights = 7, .device = {TENON_DL_CUDA, 0}}};
  }

 private:
  using Numbers = std::array<long long, 5>;
  static Numbers read(const tenon::Blob& processed) {
    Numbers out{};
    std::istringstream text{std::string(processed.text())};
    for (long long& number : out) text >> number;
    return out;
  }
};

}  // namespace

TENON_PLUGIN(TestBackend, UnavailableBackend, HungryBackend);
