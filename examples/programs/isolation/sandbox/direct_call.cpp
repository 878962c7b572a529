// SPDX-License-Identifier: MIT
#include "sandbox/direct_call.hpp"

#if defined(__x86_64__)
asm(R"(
  .text
  .globl tenon_sandbox_call
  .hidden tenon_sandbox_call
  .type tenon_sandbox_call, @function
  .globl tenon_sandbox_call_made
  .hidden tenon_sandbox_call_made
tenon_sandbox_call:
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  syscall
tenon_sandbox_call_made:
  ret
  .size tenon_sandbox_call, . - tenon_sandbox_call
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .balign 4
  .globl tenon_sandbox_call
  .hidden tenon_sandbox_call
  .type tenon_sandbox_call, %function
  .globl tenon_sandbox_call_made
  .hidden tenon_sandbox_call_made
tenon_sandbox_call:
  mov x8, x0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  mov x3, x4
  svc 0
tenon_sandbox_call_made:
  ret
  .size tenon_sandbox_call, . - tenon_sandbox_call
)");
#endif
