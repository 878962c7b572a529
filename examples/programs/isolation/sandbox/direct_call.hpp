// SPDX-License-Identifier: MIT
#pragma once

extern "C" {

/// Makes a system call from an address that filters know. The handler of SIGSYS uses it, as the
/// filter would otherwise refuse the handler's calls as well. Returns what the kernel does, -errno
/// for a failure. Code of a plugin can jump here, too, which gains nothing: what calls from here
/// are allowed to do is decided elsewhere, by Landlock.
[[gnu::visibility("hidden")]] long tenon_sandbox_call(long number, long first, long second,
                                                      long third, long fourth) noexcept;

/// The address that the kernel reports for those calls.
[[gnu::visibility("hidden")]] extern const char tenon_sandbox_call_made[];
}
