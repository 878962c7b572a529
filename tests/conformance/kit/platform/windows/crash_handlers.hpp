// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "kit/platform/crash_text.hpp"
#include "kit/platform/windows/shared_file.hpp"
#include "tenon/host/platform/windows/api.hpp"
#include "tenon/host/platform/windows/exception_name.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// Writes the libraries and the program that `addresses` are in as lines of /proc/PID/maps, each
/// after "!map " and once. Offsets in them are from the begin of the library in memory.
inline void write_maps(int descriptor, const ::DWORD64* addresses, std::size_t count) noexcept {
  std::array<::DWORD64, 48> written{};
  std::size_t num_written = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ::MEMORY_BASIC_INFORMATION facts{};
    const auto* const address = reinterpret_cast<const void*>(addresses[i]);
    if (!::VirtualQuery(address, &facts, sizeof facts) || facts.Type != MEM_IMAGE) continue;
    const auto begin = reinterpret_cast<::DWORD64>(facts.AllocationBase);
    bool known = false;
    for (std::size_t k = 0; k < num_written; ++k) known = known || written[k] == begin;
    if (known || num_written == written.size()) continue;
    written[num_written++] = begin;
    ::DWORD64 end = begin;
    while (::VirtualQuery(reinterpret_cast<const void*>(end), &facts, sizeof facts) &&
           reinterpret_cast<::DWORD64>(facts.AllocationBase) == begin) {
      end += facts.RegionSize;
    }
    wchar_t wide[1024];
    char path[3 * std::size(wide)];
    const ::DWORD length = ::GetModuleFileNameW(reinterpret_cast<::HMODULE>(begin), wide,
                                                static_cast<::DWORD>(std::size(wide)));
    const int size = ::WideCharToMultiByte(CP_UTF8, 0, wide, static_cast<int>(length), path,
                                           static_cast<int>(std::size(path)), nullptr, nullptr);
    CrashText text;
    ((text << "!map ").digits(begin) << "-").digits(end)
        << " r-xp 0 00:00 0 " << std::string_view(path, static_cast<std::size_t>(size)) << "\n";
    write(descriptor, text.view().data(), text.view().size());
  }
}

/// Writes the frames, innermost first, one a line, each after '!', from the instruction that
/// failed on, as addresses.
inline void write_backtrace(int descriptor, const CrashFacts& facts) noexcept {
  std::array<::DWORD64, 48> frames;
  std::size_t count = 0;
  ::CONTEXT context;
  if (facts.context) {
    context = *static_cast<const ::CONTEXT*>(facts.context);
  } else {
    ::RtlCaptureContext(&context);
  }
  while (count < frames.size() && context.Rip != 0) {
    frames[count++] = context.Rip;
    ::DWORD64 base = 0;
    const auto entry = ::RtlLookupFunctionEntry(context.Rip, &base, nullptr);
    if (entry) {
      void* handler_data = nullptr;
      ::DWORD64 frame = 0;
      ::RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context.Rip, entry, &context, &handler_data,
                         &frame, nullptr);
      continue;
    }
    // A function without an entry changes no register that is kept: the return address is on top.
    ::MEMORY_BASIC_INFORMATION stack{};
    const auto* const top = reinterpret_cast<const ::DWORD64*>(context.Rsp);
    if (!::VirtualQuery(top, &stack, sizeof stack) || stack.Protect != PAGE_READWRITE) break;
    context.Rip = *top;
    context.Rsp += sizeof *top;
  }
  for (std::size_t i = 0; i < count; ++i) {
    CrashText text;
    (text << "!").hex(frames[i]) << "\n";
    write(descriptor, text.view().data(), text.view().size());
  }
  write_maps(descriptor, frames.data(), count);
}

/// During its lifetime an exception that ends the process, and `abort`, are reported first; also an
/// overflow of the stack of the thread that made it. One at a time.
class CrashHandlers {
 public:
  explicit CrashHandlers(OnCrash on_crash) {
    reporter() = on_crash;
    main_thread() = ::GetCurrentThreadId();
    // What the handler needs of a stack that overflowed.
    ::ULONG stack = 64 << 10;
    ::SetThreadStackGuarantee(&stack);
    old_filter_ = ::SetUnhandledExceptionFilter(&report);
    old_abort_ = std::signal(SIGABRT, &report_abort);
  }
  CrashHandlers(const CrashHandlers&) = delete;
  CrashHandlers& operator=(const CrashHandlers&) = delete;
  ~CrashHandlers() {
    std::signal(SIGABRT, old_abort_);
    ::SetUnhandledExceptionFilter(old_filter_);
  }

 private:
  static std::atomic<OnCrash>& reporter() noexcept {
    static std::atomic<OnCrash> on_crash = nullptr;
    return on_crash;
  }
  static std::atomic<::DWORD>& main_thread() noexcept {
    static std::atomic<::DWORD> id = 0;
    return id;
  }
  static ::LONG WINAPI report(::EXCEPTION_POINTERS* crash) noexcept {
    const ::EXCEPTION_RECORD& record = *crash->ExceptionRecord;
    CrashFacts facts;
    facts.name = host::platform::exception_name(record.ExceptionCode);
    facts.has_address = record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION ||
                        record.ExceptionCode == EXCEPTION_IN_PAGE_ERROR;
    if (facts.has_address) facts.address = record.ExceptionInformation[1];
    facts.is_on_main_thread = ::GetCurrentThreadId() == main_thread();
    facts.instruction = record.ExceptionAddress;
    facts.context = crash->ContextRecord;
    reporter().load()(facts);
    return EXCEPTION_EXECUTE_HANDLER;  // Ends the process with the code of the exception.
  }
  static void report_abort(int /*signal*/) noexcept {
    CrashFacts facts;
    facts.name = "abort";
    facts.is_on_main_thread = ::GetCurrentThreadId() == main_thread();
    reporter().load()(facts);
    ::TerminateProcess(::GetCurrentProcess(), 3);  // As `abort`, without its text.
  }

  ::LPTOP_LEVEL_EXCEPTION_FILTER old_filter_ = nullptr;
  void (*old_abort_)(int) = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
