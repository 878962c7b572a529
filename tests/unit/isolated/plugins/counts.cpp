// SPDX-License-Identifier: MIT
//
// Adds two float32 tensors, and to each element of the sum 100 for each earlier run: a state of two
// parts, one of which has no address. Ends its process when it meets 666. With the option "refuses"
// it refuses a state that is written. A session may have a value of that option of its own, and
// hints: a high priority adds 10000, also to a load, and where it is set later.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using tenon::Result;
using tenon::Status;

class Counts final : public tenon::Backend<Counts>,
                     public tenon::WithOptions<Counts>,
                     public tenon::WithScheduling<Counts>,
                     public tenon::WithSessions<Counts>,
                     public tenon::WithSequence<Counts> {
 public:
  static constexpr std::string_view id = "Add";
  static constexpr std::array options{
      tenon::OptionSpec{"refuses", false, "whether a state cannot be written"}};

  static constexpr tenon::SchedulingUse scheduling_use{.priority = "10000 more"};

  /// Tens and ones of the number of runs.
  struct State {
    float tens = 0;
    float ones = 0;
  };
  struct Delegate {
    std::unique_ptr<State> state = std::make_unique<State>();
    bool refuses = false;
    bool is_urgent = false;
    float* mark = nullptr;
  };

  Result<Delegate> init(tenon::InitContext& context, tenon::Blob, tenon::CompileSpecs) {
    TENON_TRY(auto values, option_values(context));
    Delegate out;
    TENON_TRY(out.refuses, values.get<bool>("refuses"));
    TENON_RETURN_IF_ERROR(follow(context.scheduling(), context.runtime_allocator(), out));
    return out;
  }
  Result<Delegate> create_session(const Delegate& of,
                                  const tenon::SessionContext<Delegate>& context) {
    Delegate out;
    out.refuses = of.refuses;
    for (std::size_t i = 0; i < context.num_runtime_specs(); ++i) {
      out.refuses = context.runtime_spec(i).as.boolean != 0;
    }
    if (const Delegate* const from = context.state()) *out.state = *from->state;
    const tenon::Scheduling of_delegate{.priority = of.is_urgent ? tenon::Priority::High
                                                                 : tenon::Priority::Any};
    TENON_RETURN_IF_ERROR(
        follow(context.scheduling().value_or(of_delegate), context.runtime_allocator(), out));
    return out;
  }
  Status set_scheduling(Delegate& delegate, const tenon::Scheduling& hints) {
    delegate.is_urgent = hints.priority == tenon::Priority::High;
    return tenon::ok();
  }

  std::vector<tenon::StatePart> state(Delegate& delegate) {
    auto* const tens = reinterpret_cast<std::byte*>(&delegate.state->tens);
    return {{"tens", {tens, sizeof(float)}},
            {"ones", {static_cast<std::byte*>(nullptr), sizeof(float)}}};
  }
  Status read_state(Delegate& delegate, std::size_t part, std::size_t offset,
                    std::span<std::byte> to) {
    TENON_RETURN_IF_ERROR(check_range(offset, to.size()));
    std::memcpy(to.data(), bytes_of(delegate, part) + offset, to.size());
    return tenon::ok();
  }
  Status write_state(Delegate& delegate, std::size_t part, std::size_t offset,
                     std::span<const std::byte> from) {
    if (delegate.refuses) return tenon::error(tenon::Error::InvalidState, "no state is wanted");
    TENON_RETURN_IF_ERROR(check_range(offset, from.size()));
    std::memcpy(bytes_of(delegate, part) + offset, from.data(), from.size());
    return tenon::ok();
  }

  Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(3));
    TENON_TRY(auto a, args.tensor<const float>(0));
    TENON_TRY(auto b, args.tensor<const float>(1));
    TENON_RETURN_IF_ERROR(args.resize(2, a.sizes()));
    TENON_TRY(auto out, args.tensor<float>(2));
    if (std::ranges::find(a, 666.0f) != a.end()) std::abort();
    State& state = *delegate.state;
    const float more =
        100 * (10 * state.tens + state.ones) + (delegate.is_urgent ? *delegate.mark : 0);
    for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] + b[i] + more;
    state.ones += 1;
    if (state.ones == 10) state = {state.tens + 1, 0};
    return tenon::ok();
  }

 private:
  static Status follow(const tenon::Scheduling& hints, const tenon::Allocator& memory,
                       Delegate& out) {
    out.is_urgent = hints.priority == tenon::Priority::High;
    // Bytes of the host, for as long as the delegate.
    out.mark = memory.allocate_list<float>(1);
    if (!out.mark) return tenon::error(tenon::Error::MemoryAllocationFailed, "no mark");
    *out.mark = 10000;
    return tenon::ok();
  }
  static std::byte* bytes_of(Delegate& delegate, std::size_t part) {
    State& state = *delegate.state;
    return reinterpret_cast<std::byte*>(part == 0 ? &state.tens : &state.ones);
  }
  static Status check_range(std::size_t offset, std::size_t nbytes) {
    if (offset <= sizeof(float) && nbytes <= sizeof(float) - offset) return tenon::ok();
    return tenon::error(tenon::Error::InvalidArgument, "a range outside of the part");
  }
};

}  // namespace

TENON_PLUGIN(Counts);
