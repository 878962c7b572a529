// SPDX-License-Identifier: MIT
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "include/stand_in_threads.hpp"
#include "tenon/core/result.hpp"

namespace tenon::metal_stand_in {

/// What kernels that are counted did, of all their threads.
struct Work {
  std::uint64_t device_read = 0;  ///< Bytes, also those that a cache would have.
  std::uint64_t device_written = 0;
  std::uint64_t multiplied = 0;          ///< Multiplications of numbers.
  std::uint64_t threadgroup_nbytes = 0;  ///< The most that one threadgroup has.
};

/// Runs the threads of one grid, a threadgroup at a time, each thread as a fiber of the calling
/// thread: it runs until it waits for others at a barrier or gives its simdgroup a value.
///
/// Threads of a simdgroup that wait for one another are assumed to be at the same point of the
/// program. A thread that ends while others wait at a barrier is an error, because it hangs a real
/// GPU.
///
/// With AddressSanitizer it needs `detect_stack_use_after_return=0`: a fiber that is reused keeps
/// the stack of fake frames that is made for it otherwise, and that is never freed.
class GridRunner {
 public:
  GridRunner() = default;
  GridRunner(const GridRunner&) = delete;
  GridRunner& operator=(const GridRunner&) = delete;
  ~GridRunner();

  /// errors: InvalidState when the threads of a group do not meet, or do what is undefined.
  [[nodiscard]] Status run(tenon_stand_in::Kernel kernel, void* const* buffers,
                           const std::array<std::uint64_t, 3>& threads,
                           const std::array<std::uint64_t, 3>& group);

  /// Memory of the device, of which accesses are counted, and where to; null for none.
  void count(std::span<const std::span<const std::byte>> buffers, Work* work) {
    counted_.assign(buffers.begin(), buffers.end());
    work_ = work;
  }

  /// The functions that kernels call.
  static const tenon_stand_in::Host host;

 private:
  enum class State : std::uint8_t { fresh, at_barrier, at_exchange, runnable, done, failed };
  /// Where a thread is when another one runs. Switching contexts asks the system for the mask of
  /// signals each time, which is most of its cost; jumps do not, and sanitizers know contexts
  /// alone.
  struct Place {
    ucontext_t context;
    jmp_buf jump;
    bool is_made = false;
    bool has_jump = false;
    /// Returns when another thread switches back to this place.
    void switch_to(Place& other);
  };
  struct Fiber {
    Place at;
    tenon_stand_in::Thread place;
    State state;
    void* fake_stack;  // AddressSanitizer's.
  };
  struct SimdGroup {
    tenon_stand_in::Exchange given;
    tenon_stand_in::Exchange taken;
  };

  Status run_group(std::size_t count);
  void resume(std::size_t index);
  void suspend(State state);
  bool release_exchanges(std::size_t first, std::size_t end);
  static void start() noexcept;
  static void barrier();
  static const tenon_stand_in::Exchange* exchange(const void* value, unsigned nbytes,
                                                  unsigned* lane);
  static void fail(const char* text);
  static void access(const void* address, unsigned long nbytes, bool is_write);
  static void multiply(unsigned count);

  static constexpr std::size_t stack_size = std::size_t{128} << 10;

  std::byte* stack(std::size_t index) const noexcept { return stacks_ + index * stack_size; }

  std::byte* stacks_ = nullptr;
  std::size_t num_stacks_ = 0;
  std::vector<Fiber> fibers_;
  std::vector<SimdGroup> simd_groups_;
  Place scheduler_{};
  void* scheduler_fake_stack_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_size_ = 0;
  std::size_t current_ = 0;
  tenon_stand_in::Kernel kernel_ = nullptr;
  void* const* buffers_ = nullptr;
  const char* failure_ = nullptr;
  std::vector<std::span<const std::byte>> counted_;
  Work* work_ = nullptr;
};

}  // namespace tenon::metal_stand_in
