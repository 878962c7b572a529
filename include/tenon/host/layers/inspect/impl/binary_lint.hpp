// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/inspect/binary_lint.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/visible.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The first names of a list that may be long: "a, b, c and 7 more".
inline std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    out += concat(i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > most) out += concat(" and ", names.size() - most, " more");
  return out;
}

class BinaryLint {
 public:
  explicit BinaryLint(const ElfLibrary& library) : library_(library) {}

  [[nodiscard]] std::vector<LintResult> run() && {
    check_exports();
    check_constructors();
    check_unloading();
    check_foreign_abi();
    check_run_path();
    check_hardening();
    check_contents();
    return std::move(results_);
  }

 private:
  void add(std::string_view id, std::string_view title, Verdict verdict, std::string text) {
    results_.push_back({id, title, verdict, tenon::detail::visible(std::move(text))});
  }
  /// Adds a check that passes when `good`.
  void expect(bool good, std::string_view id, std::string_view title, Verdict otherwise,
              std::string_view found, std::string_view instead) {
    add(id, title, good ? Verdict::pass : otherwise, std::string(good ? found : instead));
  }

  void check_exports() {
    std::vector<std::string> others, unique;
    bool plugin = false;
    for (const LibrarySymbol& symbol : library_.exported) {
      if (symbol.name == TENON_PLUGIN_SYMBOL) {
        plugin = true;
      } else {
        others.push_back(symbol.name);
      }
      if (symbol.binding == LibrarySymbol::Binding::gnu_unique) unique.push_back(symbol.name);
    }
    const std::string_view map =
        "link with -Wl,--version-script=$(pkg-config --variable=plugin_map tenon), or with all of "
        "$(pkg-config --variable=plugin_ldflags tenon)";
    // Without PT_GNU_RELRO nothing is protected, which check "relro" reports.
    const bool writable = plugin && library_.relro && library_.writable_object;
    expect(plugin && others.empty() && !writable, "TN-BIN-1", "exports one object and nothing else",
           Verdict::fail, "exports " TENON_PLUGIN_SYMBOL,
           others.empty() && writable
               ? concat("exports " TENON_PLUGIN_SYMBOL
                        ", which stays writable: is it declared without const?")
           : plugin ? concat("also exports ", some_of(others),
                             ": other plugins' code may bind to "
                             "it; ",
                             map)
                    : concat("does not export " TENON_PLUGIN_SYMBOL
                             ": is TENON_PLUGIN there, and not in an anonymous namespace?"));
    expect(unique.empty(), "no-gnu-unique", "has no STB_GNU_UNIQUE symbol", Verdict::fail, "none",
           concat(some_of(unique), ": such a symbol keeps the library in memory for ever; ", map,
                  ", or compile with -fno-gnu-unique"));
  }

  void check_constructors() {
    // frame_dummy of the C runtime's crtbeginS.o is in every library that gcc or clang link, but
    // not in a library that is linked with -nostartfiles. On arm64, libgcc's functions for atomics
    // ask which instructions there are (lse-init.c), by this function of glibc's, which hardly
    // anything else calls.
    constexpr std::uint32_t arm64 = 183;
    const bool has_atomics = library_.machine == arm64 && library_.needs_symbol("__getauxval");
    const std::uint64_t of_the_c_runtime =
        std::uint64_t{library_.has_start_files} + std::uint64_t{has_atomics};
    const std::uint64_t ours =
        library_.num_constructors - std::min(library_.num_constructors, of_the_c_runtime);
    if (library_.own_init_function) {
      add("TN-BIN-2", "runs no code when it is loaded", Verdict::fail,
          "DT_INIT calls a function that is not the C runtime's: link without -Wl,-init");
      return;
    }
    expect(ours == 0, "TN-BIN-2", "runs no code when it is loaded", Verdict::fail,
           library_.num_constructors == 0 ? "no entry of .init_array"
           : library_.num_constructors == 1
               ? "one entry of .init_array, the C runtime's own"
               : "two entries of .init_array, the C runtime's own and its atomics'",
           concat(library_.num_constructors, library_.num_constructors == 1 ? " entry" : " entries",
                  " of .init_array, expected at most ", of_the_c_runtime,
                  of_the_c_runtime == 0 ? "" : " (the C runtime's)",
                  ": make globals constinit, and let nothing register itself; a header like "
                  "<iostream> may be why. In Rust the standard library has such an entry: build "
                  "with no_std, panic=abort and lto=fat"));
  }

  void check_unloading() {
    expect(!library_.no_delete, "no-nodelete", "can be unloaded", Verdict::fail,
           "DF_1_NODELETE is not set", "DF_1_NODELETE is set: link without -Wl,-z,nodelete");
    const bool destructors = library_.needs_symbol("__cxa_thread_atexit_impl") ||
                             library_.needs_symbol("__cxa_thread_atexit");
    expect(!destructors, "no-tls-destructors", "has no thread_local object with a destructor",
           Verdict::warning, "none",
           "uses __cxa_thread_atexit: a thread that touched such an object keeps the library in "
           "memory until it ends; keep per-thread state in the delegate");
    expect(!library_.static_tls, "no-static-tls", "needs no static thread-local memory",
           Verdict::warning, "DF_STATIC_TLS is not set",
           "DF_STATIC_TLS is set: loading it late may fail; compile without "
           "-ftls-model=initial-exec");
  }

  /// Whether a mangled name is in a namespace of ExecuTorch or libtorch, whose C++ ABI changes
  /// from release to release.
  static bool is_of_foreign_abi(std::string_view name) {
    const auto skip = [&name](std::string_view prefix) {
      const bool found = name.starts_with(prefix);
      if (found) name.remove_prefix(prefix.size());
      return found;
    };
    if (!skip("_Z")) return false;
    // A vtable, a type's information or its name; then a nested name, of a const member perhaps.
    if (!skip("TV") && !skip("TI")) skip("TS");
    if (!skip("N")) return false;
    skip("K");
    return name.starts_with("10executorch") || name.starts_with("5torch") ||
           name.starts_with("2at") || name.starts_with("3c10");
  }

  void check_foreign_abi() {
    std::vector<std::string> found;
    for (const LibrarySymbol& symbol : library_.undefined) {
      if (is_of_foreign_abi(symbol.name)) found.push_back(symbol.name);
    }
    expect(found.empty(), "no-foreign-c++-abi", "needs no C++ symbols of ExecuTorch or libtorch",
           Verdict::warning, "none",
           concat(some_of(found), ": it then works with one release of them only"));
  }

  void check_run_path() {
    const auto& dependencies = library_.dependencies;
    const std::string path = dependencies.run_path.value_or(dependencies.rpath.value_or(""));
    std::vector<std::string> bad;
    // An entry without characters is the current working directory, at the end, too.
    const auto entries = path.empty() ? std::vector<std::string_view>() : split(path, ':');
    for (const std::string_view entry : entries) {
      const std::string_view first = entry.substr(0, entry.find('/'));
      if (first != "$ORIGIN" && first != "${ORIGIN}") {
        bad.emplace_back(entry.empty() ? "(empty)" : entry);
      }
    }
    expect(bad.empty(), "run-path", "looks for libraries in its own directory only", Verdict::fail,
           path.empty() ? "no run path" : concat("run path ", path),
           concat("the run path names ", some_of(bad),
                  ": a user who can write there runs code in the host, and elsewhere it does not "
                  "exist; link with -Wl,-rpath,'$ORIGIN', or without a run path"));
    std::vector<std::string> paths;
    for (const std::string& name : dependencies.needed) {
      if (name.find('/') != std::string::npos) paths.push_back(name);
    }
    expect(paths.empty(), "needed-names", "needs libraries by name, not by path", Verdict::fail,
           "no DT_NEEDED with a slash",
           concat("needs ", some_of(paths),
                  ": a relative path is looked up in the current working directory, and an "
                  "absolute one does "
                  "not exist elsewhere; link with libraries that have a DT_SONAME"));
    if (!dependencies.rpath) return;
    expect(dependencies.run_path.has_value(), "no-old-rpath", "uses DT_RUNPATH", Verdict::warning,
           "DT_RUNPATH is present too, so DT_RPATH has no effect",
           "DT_RPATH comes before LD_LIBRARY_PATH, so it cannot be overridden; link with "
           "-Wl,--enable-new-dtags");
  }

  void check_hardening() {
    expect(library_.has_stack_note && !library_.executable_stack, "nx-stack",
           "does not make the stack executable", Verdict::fail, "PT_GNU_STACK without execution",
           library_.has_stack_note
               ? "PT_GNU_STACK asks for an executable stack: link without -z execstack, and mark "
                 "assembly files with .note.GNU-stack"
               : "there is no PT_GNU_STACK, which means an executable stack");
    expect(!library_.writable_code, "no-writable-code", "has no writable code", Verdict::fail,
           "no segment is writable and executable",
           "a segment is writable and executable: link without -N (--omagic), and give no section "
           "both flags in assembly or in a linker script");
    expect(!library_.text_relocations, "no-textrel", "needs no change to its code to be loaded",
           Verdict::fail, "no text relocations",
           "DF_TEXTREL is set: compile everything with -fPIC");
    expect(library_.relro, "relro", "protects its tables after loading", Verdict::warning,
           "PT_GNU_RELRO", "there is no PT_GNU_RELRO: link with -Wl,-z,relro");
    add("bind-now", "asks to be bound at once", Verdict::information,
        library_.bind_now ? "yes" : "no; this host binds at once in any case");
    add("stack-protector", "checks the stack for overflows", Verdict::information,
        library_.needs_symbol("__stack_chk_fail")
            ? "yes"
            : "no function of it does, or -fstack-protector-strong was not given");
    const auto fortified =
        std::ranges::count_if(library_.undefined, [](const LibrarySymbol& symbol) {
          return symbol.name.ends_with("_chk") && symbol.name.starts_with("__");
        });
    add("fortify", "calls checked functions of the C library", Verdict::information,
        concat(fortified, " of them"));
  }

  void check_contents() {
    expect(!library_.interpreter, "no-interpreter", "is a library and not a program",
           Verdict::warning, "no PT_INTERP", "PT_INTERP is there: it can be run as a program");
    add("symbols", "says what it was made of", Verdict::information,
        library_.debug_information ? "with debug information"
        : library_.symbol_table    ? "with a symbol table"
                                   : "stripped");
  }

  const ElfLibrary& library_;
  std::vector<LintResult> results_;
};

}  // namespace detail

std::vector<LintResult> lint_plugin(const ElfLibrary& library) {
  return detail::BinaryLint(library).run();
}

}}}  // namespace tenon::TENON_RELEASE::host
