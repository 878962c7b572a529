// SPDX-License-Identifier: MIT
//
// Adds two float32 tensors on the application's threads, and to each element of the sum 1000 when
// it found prepared bytes, and 10000 for each thread of the pool. The option "keeps" says when it
// stores bytes: "init", "destroy", or "never"; "compares" makes it add 500 when no argument has
// changed since the last call.
#include <sched.h>

#include <tenon/abi/private/changes.h>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tenon/backend/prepared.hpp>
#include <tenon/backend/threads.hpp>
#include <tenon/tenon.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace {

class UsesHost final : public tenon::Backend<UsesHost>, public tenon::WithOptions<UsesHost> {
 public:
  static constexpr std::string_view id = "Add";
  static constexpr std::array options{
      tenon::OptionSpec{"keeps", "never", "when it stores prepared bytes"},
      tenon::OptionSpec{"compares", false, "whether it looks for changes"},
      tenon::OptionSpec{"size", std::int64_t{16}, "number of prepared bytes"}};

  struct Delegate {
    Delegate() = default;
    Delegate(Delegate&&) = default;
    Delegate& operator=(Delegate&&) = default;
    ~Delegate() {
      if (keeps == "destroy") store();
    }
    void store() const {
      const std::vector<std::byte> first(size / 2, std::byte{1});
      const std::vector<std::byte> second(size - size / 2, std::byte{2});
      const std::array parts{tenon::Bytes(first), tenon::Bytes(second)};
      static_cast<void>(kept.store(parts));
    }
    [[nodiscard]] bool has_found() const {
      const tenon::Bytes bytes = kept.bytes();
      return bytes.size() == size && bytes.front() == std::byte{1} && bytes.back() == std::byte{2};
    }

    tenon::Prepared kept;
    std::string keeps;
    std::size_t size = 0;
    bool compares = false;
    const tenon_changes* changes = nullptr;
    std::uint64_t count = 0;
  };

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob, tenon::CompileSpecs) {
    TENON_TRY(auto values, option_values(context));
    Delegate out;
    TENON_TRY(out.keeps, values.get<std::string>("keeps"));
    TENON_TRY(const auto size, values.get<std::int64_t>("size"));
    out.size = static_cast<std::size_t>(size);
    TENON_TRY(out.compares, values.get<bool>("compares"));
    out.kept = tenon::Prepared(*this, context, "uses_host");
    if (out.keeps == "init" && !out.has_found()) out.store();
    return out;
  }

  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(3));
    TENON_TRY(auto a, args.tensor<const float>(0));
    TENON_TRY(auto b, args.tensor<const float>(1));
    TENON_RETURN_IF_ERROR(args.resize(2, a.sizes()));
    TENON_TRY(auto out, args.tensor<float>(2));
    const auto* table = host().extension<tenon_threads_v1>(TENON_EXTENSION_THREADS);
    const tenon_thread_pool* pool = table ? table->get_pool(&context.raw()) : nullptr;
    const auto* counts = host().extension<tenon_changes_v1>(TENON_EXTENSION_CHANGES);
    tenon_changes* const changes = counts ? counts->get_changes(&context.raw()) : nullptr;
    const bool is_same = changes && changes == delegate.changes && changes->count == delegate.count;
    delegate.changes = changes;
    delegate.count = changes ? changes->count : 0;
    const float more = (is_same && delegate.compares ? 500.0f : 0.0f) +
                       (delegate.has_found() ? 1000.0f : 0.0f) +
                       (pool ? 10000.0f * static_cast<float>(pool->num_threads) : 0.0f);
    std::atomic<bool> is_elsewhere = false;
    const auto caller = std::this_thread::get_id();
    TENON_RETURN_IF_ERROR(tenon::ThreadPool(pool).parallel_for(
        a.numel(), 1, [&](std::uint64_t begin, std::uint64_t end) {
          if (std::this_thread::get_id() != caller && !is_on_processor_of(*pool)) {
            is_elsewhere = true;
          }
          for (std::uint64_t i = begin; i < end; ++i) {
            out.data()[i] = a.data()[i] + b.data()[i] + more;
          }
        }));
    if (is_elsewhere) return tenon::error(tenon::Error::Internal, "a thread is elsewhere");
    return tenon::ok();
  }

 private:
  static bool is_on_processor_of(const tenon_thread_pool& pool) {
    const auto here = static_cast<std::uint32_t>(::sched_getcpu());
    for (std::uint32_t i = 0; i < pool.num_processors; ++i) {
      if (pool.processors[i] == here) return true;
    }
    return pool.num_processors == 0;
  }
};

}  // namespace

TENON_PLUGIN(UsesHost);
