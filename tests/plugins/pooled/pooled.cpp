// SPDX-License-Identifier: MIT
//
// Two backends that compute on the application's threads, and on the calling one where it gave
// none.
//
// Blobs: "rows N" (out = in + the number of 64 rows, each computed in N steps), "nested N" (the
// same, each row by a `parallel_for` of its own), "fail" (fails in the third row), "throw" (throws
// there). One input and one output of float32.
#include "plugins/pooled/pooled.hpp"

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tenon/backend/threads.hpp>
#include <tenon/tenon.hpp>

namespace {

using tenon::Status;
using tenon::test::pooled_record;

constexpr std::uint64_t num_rows = 64;

/// 1, in so many steps that no compiler leaves out.
float one_in_steps(std::int64_t steps) {
  volatile float out = 1;
  for (std::int64_t i = 0; i < steps; ++i) out = out * 1.0f;
  return out;
}

template <class Derived>
class Pooled {
 public:
  struct Delegate {
    std::string kind;
    std::int64_t steps = 0;
  };

  Status open() {
    threads_ = tenon::Threads(static_cast<Derived&>(*this).host());
    return tenon::ok();
  }

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    pooled_record().at_init = number_of(threads_.of(context));
    pooled_record().scheduling = context.scheduling();
    const std::string_view text = processed.text();
    Delegate out{std::string(text.substr(0, text.find(' ')))};
    if (const auto space = text.find(' '); space != std::string_view::npos) {
      std::from_chars(text.data() + space + 1, text.data() + text.size(), out.steps);
    }
    return out;
  }

  Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    const tenon::ThreadPool pool = threads_.of(context);
    pooled_record().at_run = number_of(pool);
    TENON_TRY(auto input, args.tensor<const float>(0));
    TENON_TRY(auto output, args.tensor<float>(1));
    float rows[num_rows] = {};
    const auto compute = [&](std::uint64_t begin, std::uint64_t end) {
      pooled_record().begin();
      for (std::uint64_t row = begin; row < end; ++row) rows[row] = one_in_steps(delegate.steps);
      pooled_record().end();
    };
    const auto work = [&](std::uint64_t begin, std::uint64_t end) -> Status {
      if (delegate.kind == "nested") {
        for (std::uint64_t row = begin; row < end; ++row) {
          TENON_RETURN_IF_ERROR(pool.parallel_for(2, 1, [&](std::uint64_t from, std::uint64_t) {
            if (from == 0) compute(row, row + 1);
          }));
        }
        return tenon::ok();
      }
      if (begin <= 2 && end > 2) {
        if (delegate.kind == "fail") return tenon::error(tenon::Error::AccessFailed, "row 2");
        if (delegate.kind == "throw") throw std::runtime_error("row 2");
      }
      compute(begin, end);
      return tenon::ok();
    };
    TENON_RETURN_IF_ERROR(pool.parallel_for(num_rows, 2, work));
    float sum = 0;
    for (const float row : rows) sum += row;
    for (std::size_t i = 0; i < output.numel(); ++i) output.data()[i] = input.data()[i] + sum;
    return tenon::ok();
  }

 private:
  static int number_of(const tenon::ThreadPool& pool) {
    return pool.exists() ? static_cast<int>(pool.num_threads()) : 0;
  }

  tenon::Threads threads_;
};

/// Follows hints between runs, too; refuses little power.
class PooledLeft final : public Pooled<PooledLeft>,
                         public tenon::Backend<PooledLeft>,
                         public tenon::WithScheduling<PooledLeft> {
 public:
  static constexpr tenon::SchedulingUse scheduling_use{.priority = "recorded", .power = "recorded"};
  Status set_scheduling(Delegate&, const tenon::Scheduling& scheduling) {
    ++pooled_record().num_set;
    if (scheduling.power == tenon::Power::Low) {
      return tenon::error(tenon::Error::InvalidState, "little power");
    }
    pooled_record().scheduling = scheduling;
    return tenon::ok();
  }

  static constexpr std::string_view id = "PooledLeft";
  static constexpr std::string_view tags = "debug";
};

/// Follows hints of a load alone.
class PooledRight final : public Pooled<PooledRight>,
                          public tenon::Backend<PooledRight>,
                          public tenon::WithScheduling<PooledRight> {
 public:
  static constexpr tenon::SchedulingUse scheduling_use{.goal = "recorded"};

  static constexpr std::string_view id = "PooledRight";
  static constexpr std::string_view tags = "debug";
};

}  // namespace

namespace tenon::test {

PooledRecord& pooled_record() {
  static PooledRecord record;
  return record;
}

}  // namespace tenon::test

TENON_PLUGIN(PooledLeft, PooledRight);
