// SPDX-License-Identifier: MIT
// A backend that computes on the application's threads (docs/hosts/threads.md).
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tenon/backend/threads.hpp>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using tenon::Result;
using tenon::Status;

/// Uses the floats at `scratch`.
void use_scratch(float* scratch, std::uint64_t row) { *scratch = static_cast<float>(row); }

[[maybe_unused]] Status compute_rows(const tenon::ThreadPool& pool, std::uint64_t rows,
                                     std::size_t width) {
  // [workers]
  std::vector<float> partial(std::size_t{pool.num_threads()} * width);
  TENON_RETURN_IF_ERROR(pool.parallel_for(
      rows, 16, [&](std::uint32_t worker, std::uint64_t begin, std::uint64_t end) {
        float* const mine = &partial[worker * width];
        for (std::uint64_t row = begin; row < end; ++row) use_scratch(mine, row);
      }));
  // [workers]
  return tenon::ok();
}

/// out = 2 in.
class PooledDoubleBackend final : public tenon::Backend<PooledDoubleBackend> {
 public:
  static constexpr std::string_view id = "PooledDoubleBackend";
  struct Delegate {};

  Status execute(tenon::ExecutionContext& context, Delegate&, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    // [threads]
    const tenon::ThreadPool pool = tenon::threads_of(*this, context);
    return pool.parallel_for(in.numel(), 4096, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) out[i] = 2 * in[i];
    });
    // [threads]
  }

  Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
};

}  // namespace

TENON_PLUGIN(PooledDoubleBackend);
