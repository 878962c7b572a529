// SPDX-License-Identifier: MIT
//
// Fibers jump between stacks that are not signal stacks. The C library ends a program for that when
// it is compiled with this.
#undef _FORTIFY_SOURCE

#include "threadgroup.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>

#include "tenon/core/sanitizer.hpp"
#if TENON_DETAIL_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

// What runs on the stack of a fiber: ThreadSanitizer counts the calls of a thread, and a fiber does
// not return from them.
#if TENON_DETAIL_THREAD_SANITIZER && defined(__clang__)
#define STAND_IN_ON_FIBER __attribute__((disable_sanitizer_instrumentation))
#else
#define STAND_IN_ON_FIBER
#endif

namespace tenon::metal_stand_in {

namespace {

constinit thread_local GridRunner* current_runner = nullptr;

// AddressSanitizer must be notified of each change of stacks.
void leave([[maybe_unused]] void** save, [[maybe_unused]] const void* stack,
           [[maybe_unused]] std::size_t size) {
#if TENON_DETAIL_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(save, stack, size);
#endif
}
void enter([[maybe_unused]] void* saved, [[maybe_unused]] const void** from,
           [[maybe_unused]] std::size_t* size) {
#if TENON_DETAIL_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(saved, from, size);
#endif
}

}  // namespace

constinit const tenon_stand_in::Host GridRunner::host = {
    &GridRunner::barrier, &GridRunner::exchange, &GridRunner::fail, &GridRunner::access,
    &GridRunner::multiply};

GridRunner::~GridRunner() {
  if (stacks_) ::munmap(stacks_, num_stacks_ * stack_size);
}

Status GridRunner::run(tenon_stand_in::Kernel kernel, void* const* buffers,
                       const std::array<std::uint64_t, 3>& threads,
                       const std::array<std::uint64_t, 3>& group) {
  const std::size_t most = group[0] * group[1] * group[2];
  if (most > num_stacks_) {
    if (stacks_) ::munmap(stacks_, num_stacks_ * stack_size);
    stacks_ = nullptr;
    void* const made = ::mmap(nullptr, most * stack_size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
      num_stacks_ = 0;
      return error(Error::MemoryAllocationFailed, "no stacks for ", most, " threads");
    }
    stacks_ = static_cast<std::byte*>(made);
    num_stacks_ = most;
  }
  fibers_.clear();
  fibers_.resize(most);
  for (Fiber& fiber : fibers_) fiber.state = State::done;
  kernel_ = kernel;
  buffers_ = buffers;
  failure_ = nullptr;
  current_runner = this;
  std::array<std::uint64_t, 3> groups{};
  for (std::size_t d = 0; d < 3; ++d) groups[d] = (threads[d] + group[d] - 1) / group[d];
  for (std::uint64_t number = 0; number < groups[0] * groups[1] * groups[2]; ++number) {
    const std::array<std::uint64_t, 3> at = {number % groups[0], number / groups[0] % groups[1],
                                             number / groups[0] / groups[1]};
    std::array<std::uint64_t, 3> size{};
    for (std::size_t d = 0; d < 3; ++d) size[d] = std::min(group[d], threads[d] - at[d] * group[d]);
    const std::size_t count = size[0] * size[1] * size[2];
    for (std::size_t i = 0; i < count; ++i) {
      Fiber& fiber = fibers_[i];
      fiber.state = State::fresh;
      const std::array<std::uint64_t, 3> in = {i % size[0], i / size[0] % size[1],
                                               i / size[0] / size[1]};
      tenon_stand_in::Thread& place = fiber.place;
      for (std::size_t d = 0; d < 3; ++d) {
        place.thread_position_in_grid[d] = static_cast<unsigned>(at[d] * group[d] + in[d]);
        place.thread_position_in_threadgroup[d] = static_cast<unsigned>(in[d]);
        place.threadgroup_position_in_grid[d] = static_cast<unsigned>(at[d]);
        place.threads_per_grid[d] = static_cast<unsigned>(threads[d]);
        place.threads_per_threadgroup[d] = static_cast<unsigned>(size[d]);
        place.threadgroups_per_grid[d] = static_cast<unsigned>(groups[d]);
      }
      constexpr unsigned width = tenon_stand_in::simd_width;
      place.thread_index_in_threadgroup[0] = static_cast<unsigned>(i);
      place.thread_index_in_simdgroup[0] = static_cast<unsigned>(i) % width;
      place.simdgroup_index_in_threadgroup[0] = static_cast<unsigned>(i) / width;
      place.threads_per_simdgroup[0] = width;
      place.simdgroups_per_threadgroup[0] = (static_cast<unsigned>(count) + width - 1) / width;
    }
    Status status = run_group(count);
    if (!status.ok()) return status;
  }
  return ok();
}

Status GridRunner::run_group(std::size_t count) {
  simd_groups_.assign((count + tenon_stand_in::simd_width - 1) / tenon_stand_in::simd_width, {});
  const std::span fibers(fibers_.data(), count);
  for (;;) {
    // Each simdgroup runs alone as far as it gets, so that a missing barrier shows: the first one
    // is ahead of all others.
    for (std::size_t first = 0; first < count; first += tenon_stand_in::simd_width) {
      const std::size_t end = std::min<std::size_t>(first + tenon_stand_in::simd_width, count);
      do {
        for (std::size_t i = first; i < end; ++i) {
          if (fibers[i].state == State::fresh || fibers[i].state == State::runnable) resume(i);
          if (failure_) return error(Error::InvalidState, failure_);
        }
      } while (release_exchanges(first, end));
    }
    const auto waiting =
        static_cast<std::size_t>(std::ranges::count(fibers, State::at_barrier, &Fiber::state));
    if (waiting == 0) return ok();
    if (waiting != count) {
      return error(Error::InvalidState, count - waiting, " of ", count,
                   " threads of a threadgroup ended while the others wait at a barrier");
    }
    for (Fiber& fiber : fibers) fiber.state = State::runnable;
  }
}

/// Resumes the threads of a simdgroup, from `first` on, that gave a value. True when there are any.
/// None of them is runnable before.
bool GridRunner::release_exchanges(std::size_t first, std::size_t end) {
  bool any = false;
  for (std::size_t i = first; i < end; ++i) {
    if (fibers_[i].state != State::at_exchange) continue;
    SimdGroup& group = simd_groups_[i / tenon_stand_in::simd_width];
    if (group.given.active != 0) {
      group.taken = group.given;
      group.given.active = 0;
    }
    fibers_[i].state = State::runnable;
    any = true;
  }
  return any;
}

STAND_IN_ON_FIBER void GridRunner::Place::switch_to(Place& other) {
#if TENON_DETAIL_ADDRESS_SANITIZER || TENON_DETAIL_THREAD_SANITIZER
  ::swapcontext(&context, &other.context);
#else
  has_jump = true;
  if (::_setjmp(jump) != 0) return;
  if (other.has_jump) ::_longjmp(other.jump, 1);
  ::setcontext(&other.context);
#endif
}

void GridRunner::resume(std::size_t index) {
  Fiber& fiber = fibers_[index];
  current_ = index;
  if (!fiber.at.is_made) {
    fiber.at.is_made = true;
    ucontext_t& context = fiber.at.context;
    ::getcontext(&context);
    context.uc_stack.ss_sp = stack(index);
    context.uc_stack.ss_size = stack_size;
    context.uc_link = nullptr;
    ::makecontext(&context, &GridRunner::start, 0);
  }
  fiber.state = State::runnable;
  leave(&scheduler_fake_stack_, stack(index), stack_size);
  scheduler_.switch_to(fiber.at);
  enter(scheduler_fake_stack_, nullptr, nullptr);
}

STAND_IN_ON_FIBER void GridRunner::start() noexcept {
  GridRunner& self = *current_runner;
  enter(nullptr, &self.scheduler_stack_, &self.scheduler_stack_size_);
  // One fiber serves a thread of each threadgroup of a grid.
  for (;;) {
    self.kernel_(self.buffers_, self.fibers_[self.current_].place);
    self.suspend(State::done);
  }
}

STAND_IN_ON_FIBER void GridRunner::suspend(State state) {
  Fiber& fiber = fibers_[current_];
  fiber.state = state;
  leave(&fiber.fake_stack, scheduler_stack_, scheduler_stack_size_);
  fiber.at.switch_to(scheduler_);
  enter(fiber.fake_stack, &scheduler_stack_, &scheduler_stack_size_);
}

STAND_IN_ON_FIBER void GridRunner::barrier() { current_runner->suspend(State::at_barrier); }

STAND_IN_ON_FIBER const tenon_stand_in::Exchange* GridRunner::exchange(const void* value,
                                                                       unsigned nbytes,
                                                                       unsigned* lane) {
  GridRunner& self = *current_runner;
  const std::size_t index = self.current_;
  SimdGroup& group = self.simd_groups_[index / tenon_stand_in::simd_width];
  const auto place = static_cast<unsigned>(index % tenon_stand_in::simd_width);
  std::memcpy(group.given.values[place], value, nbytes);
  group.given.active |= 1ul << place;
  self.suspend(State::at_exchange);
  *lane = place;
  return &group.taken;
}

/// The fiber is in the middle of a kernel and is never resumed: the next grid has other fibers.
STAND_IN_ON_FIBER void GridRunner::fail(const char* text) {
  current_runner->failure_ = text;
  current_runner->suspend(State::failed);
}

void GridRunner::access(const void* address, unsigned long nbytes, bool is_write) {
  const GridRunner& self = *current_runner;
  const auto* const first = static_cast<const std::byte*>(address);
  for (const std::span<const std::byte> buffer : self.counted_) {
    if (std::less{}(first, buffer.data()) || !std::less{}(first, buffer.data() + buffer.size())) {
      continue;
    }
    (is_write ? self.work_->device_written : self.work_->device_read) += nbytes;
    return;
  }
}

void GridRunner::multiply(unsigned count) {
  if (current_runner->work_) current_runner->work_->multiplied += count;
}

}  // namespace tenon::metal_stand_in
