// SPDX-License-Identifier: MIT
#include "sandbox/filter.hpp"

#include <linux/seccomp.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include "sandbox/direct_call.hpp"
#include "sandbox/native_architecture.hpp"
#include "sandbox/system_call_names.hpp"
#include "sandbox/system_calls.hpp"

namespace tenon::isolated {
namespace {

static_assert(std::endian::native == std::endian::little,
              "offsets of halves are for little endian");

using Code = std::vector<sock_filter>;

constexpr std::size_t argument_offset(std::size_t argument) {
  return offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t);
}

std::uint32_t verdict(Answer answer, const FilterOptions& options) {
  switch (answer) {
    case Answer::allow:
      return SECCOMP_RET_ALLOW;
    case Answer::absent:
      return SECCOMP_RET_ERRNO | ENOSYS;
    case Answer::refuse:
      // A signal would end a program that was started, which has no handler.
      if (options.programs || options.profile == Profile::open) return SECCOMP_RET_ERRNO | EPERM;
      [[fallthrough]];
    default:
      return SECCOMP_RET_TRAP | static_cast<std::uint32_t>(answer);
  }
}

void load(Code& code, std::size_t offset) {
  code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
}

void finish(Code& code, std::uint32_t value) { code.push_back(BPF_STMT(BPF_RET | BPF_K, value)); }

void jump(Code& code, int kind, std::uint32_t value, std::size_t if_true, std::size_t if_false) {
  code.push_back(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | kind | BPF_K), value,
                          static_cast<std::uint8_t>(if_true), static_cast<std::uint8_t>(if_false)));
}

/// Ends with the answer of a condition that does not hold; otherwise the code after it runs.
void append_condition(Code& code, const SystemCallCondition& condition,
                      const FilterOptions& options) {
  const std::size_t low = argument_offset(condition.argument);
  const auto high_mask = static_cast<std::uint32_t>(condition.mask >> 32);
  const std::uint32_t otherwise = verdict(condition.otherwise, options);
  if (high_mask != 0) {
    // All values have 32 bits.
    load(code, low + sizeof(std::uint32_t));
    code.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, high_mask));
    jump(code, BPF_JEQ, 0, 1, 0);
    finish(code, otherwise);
  }
  load(code, low);
  code.push_back(
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, static_cast<std::uint32_t>(condition.mask & low_half)));
  for (std::size_t i = 0; i < condition.count; ++i) {
    const std::uint32_t value =
        condition.values[i] == own_process ? options.process : condition.values[i];
    const std::size_t comparisons_after = condition.count - 1 - i;
    // For "one of": jumps over the failure that follows. For "none of": jumps to the failure, and
    // after the last comparison over it.
    if (condition.is_one_of) {
      jump(code, BPF_JEQ, value, comparisons_after + 1, 0);
    } else {
      jump(code, BPF_JEQ, value, comparisons_after, comparisons_after == 0 ? 1 : 0);
    }
  }
  finish(code, otherwise);
}

/// The answer to a call that the handler makes again from an address of its own.
void append_made_by_handler(Code& code, Answer answer, const FilterOptions& options) {
  const auto address = std::bit_cast<std::uintptr_t>(&tenon_sandbox_call_made[0]);
  load(code, offsetof(seccomp_data, instruction_pointer));
  jump(code, BPF_JEQ, static_cast<std::uint32_t>(address & low_half), 1, 0);
  finish(code, verdict(answer, options));
  load(code, offsetof(seccomp_data, instruction_pointer) + sizeof(std::uint32_t));
  jump(code, BPF_JEQ, static_cast<std::uint32_t>(address >> 32), 1, 0);
  finish(code, verdict(answer, options));
  finish(code, SECCOMP_RET_ALLOW);
}

bool starts_programs(std::string_view call) {
  return call == "fork" || call == "vfork" || call == "execve";
}

Code code_of(std::string_view call, Answer answer, const FilterOptions& options) {
  Code code;
  if (options.programs) {
    if (starts_programs(call)) answer = Answer::allow;
    // A new program has no handler.
    if (answer == Answer::open || answer == Answer::mask) answer = Answer::allow;
  }
  if (answer == Answer::open) {
    append_made_by_handler(code, answer, options);
    return code;
  }
  if (answer == Answer::allow) {
    for (const SystemCallCondition& condition : system_call_conditions) {
      if (condition.call != call) continue;
      if (!condition.applies_to(options.profile, options.signals_are_scoped)) continue;
      const bool asks_for_thread = condition.call == "clone" && condition.mask == clone_thread;
      if (asks_for_thread && options.programs) continue;
      append_condition(code, condition, options);
    }
  }
  finish(code, verdict(answer, options));
  return code;
}

void append_call(Code& code, std::string_view call, Answer answer, const FilterOptions& options) {
  const std::optional<int> number = system_call_number(call);
  if (!number) return;
  const Code part = code_of(call, answer, options);
  jump(code, BPF_JEQ, static_cast<std::uint32_t>(*number), 0, part.size());
  code.insert(code.end(), part.begin(), part.end());
}

}  // namespace

std::vector<sock_filter> make_filter(const FilterOptions& options) {
  Code code;
  load(code, offsetof(seccomp_data, arch));
  jump(code, BPF_JEQ, native_architecture, 1, 0);
  finish(code, verdict(Answer::end, options));
  load(code, offsetof(seccomp_data, nr));
  jump(code, BPF_JEQ, static_cast<std::uint32_t>(ending_call), 0, 1);
  finish(code, SECCOMP_RET_KILL_PROCESS);
  // System calls of x32 have this bit.
  jump(code, BPF_JSET, 0x40000000, 0, 1);
  finish(code, verdict(Answer::end, options));
  jump(code, BPF_JGT, static_cast<std::uint32_t>(last_system_call()), 0, 1);
  finish(code, verdict(Answer::absent, options));
  for (const SystemCallGroup& group : system_call_groups) {
    std::string_view names = group.names;
    while (!names.empty()) {
      const std::size_t end = names.find(' ');
      append_call(code, names.substr(0, end), group.of(options.profile), options);
      names = end == std::string_view::npos ? std::string_view() : names.substr(end + 1);
    }
  }
  finish(code, verdict(options.profile == Profile::open ? Answer::allow : Answer::end, options));
  return code;
}

}  // namespace tenon::isolated
