// SPDX-License-Identifier: MIT
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "inspect_support.hpp"
#include "support/elf_builder.hpp"
#include "tenon/abi/plugin.h"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace {

/// A library that is right in every respect.
ElfLibrary right() {
  ElfLibrary library;
  library.exported.push_back(
      {TENON_PLUGIN_SYMBOL, LibrarySymbol::Binding::global, LibrarySymbol::Kind::object});
  library.num_constructors = 1;
  library.has_start_files = true;
  library.num_destructors = 1;
  library.has_stack_note = true;
  library.relro = true;
  return library;
}

LintResult find(const ElfLibrary& library, std::string_view id) {
  for (LintResult& result : lint_plugin(library)) {
    if (result.id == id) return std::move(result);
  }
  FAIL("there is no check " << id);
  return {};
}

/// Ids of those that neither pass nor only inform.
std::set<std::string> complaints(const ElfLibrary& library) {
  std::set<std::string> ids;
  for (const LintResult& result : lint_plugin(library)) {
    if (result.verdict == Verdict::warning || result.verdict == Verdict::fail) {
      ids.emplace(result.id);
    }
  }
  return ids;
}

LibrarySymbol symbol(std::string name,
                     LibrarySymbol::Binding binding = LibrarySymbol::Binding::global) {
  return {std::move(name), binding, LibrarySymbol::Kind::function};
}

struct Row {
  const char* file;
  const char* id;
  Verdict verdict;
  const char* text;
  std::set<std::string> also;  ///< Checks that complain with it.
};

}  // namespace

TEST_CASE("a right library passes every check, and each check says what it found") {
  CHECK(complaints(right()).empty());
  std::set<std::string_view> ids;
  for (const LintResult& result : lint_plugin(right())) {
    INFO(result.id);
    CHECK(ids.insert(result.id).second);
    CHECK_FALSE(result.title.empty());
    CHECK_FALSE(result.text.empty());
  }
}

TEST_CASE("the constructor of libgcc's atomics on arm64 is the C runtime's too") {
  ElfLibrary library = right();
  library.num_constructors = 2;
  CHECK(find(library, "TN-BIN-2").verdict == Verdict::fail);
  library.undefined.push_back(symbol("__getauxval"));
  for (const std::uint32_t other : {62u, 40u}) {
    library.machine = other;
    CHECK(find(library, "TN-BIN-2").verdict == Verdict::fail);
    CHECK_THAT(find(library, "TN-BIN-2").text, ContainsSubstring("expected at most 1"));
  }
  library.machine = 183;
  CHECK(find(library, "TN-BIN-2").verdict == Verdict::pass);
  CHECK_THAT(find(library, "TN-BIN-2").text, ContainsSubstring("its atomics'"));
  library.num_constructors = 3;
  CHECK(find(library, "TN-BIN-2").verdict == Verdict::fail);
  CHECK_THAT(find(library, "TN-BIN-2").text,
             ContainsSubstring("3 entries of .init_array, expected at most 2"));
}

TEST_CASE("names of verdicts follow the enumeration") {
  CHECK(verdict_name(Verdict::pass) == "pass");
  CHECK(verdict_name(Verdict::information) == "information");
  CHECK(verdict_name(Verdict::warning) == "warning");
  CHECK(verdict_name(Verdict::fail) == "fail");
}

TEST_CASE("a plugin with one fault fails the check of that fault and no other") {
  if (TENON_TEST_SANITIZED) return;
  const Row rows[] = {
      {"exports", "TN-BIN-1", Verdict::fail, "also exports zoo_leaked: ", {}},
      {"exports",
       "TN-BIN-1",
       Verdict::fail,
       "link with -Wl,--version-script=$(pkg-config --variable=plugin_map tenon), or with all of "
       "$(pkg-config --variable=plugin_ldflags tenon)",
       {}},
      {"exports_weakly", "TN-BIN-1", Verdict::fail, "also exports zoo_leaked: ", {}},
      {"exports_much", "TN-BIN-1", Verdict::fail, " and 2 more: ", {}},
      {"constructor",
       "TN-BIN-2",
       Verdict::fail,
       "2 entries of .init_array, expected at most 1",
       {}},
      {"constructor_alone",
       "TN-BIN-2",
       Verdict::fail,
       "1 entry of .init_array, expected at most 0: ",
       {}},
      {"init_function", "TN-BIN-2", Verdict::fail, "link without -Wl,-init", {}},
      {"writable_object", "TN-BIN-1", Verdict::fail, "is it declared without const?", {}},
      {"global", "TN-BIN-2", Verdict::fail, "make globals constinit", {}},
      {"iostream", "TN-BIN-2", Verdict::fail, "a header like <iostream> may be why", {}},
      {"unique", "no-gnu-unique", Verdict::fail, "or compile with -fno-gnu-unique", {"TN-BIN-1"}},
      {"no_delete", "no-nodelete", Verdict::fail, "link without -Wl,-z,nodelete", {}},
      {"thread_local",
       "no-tls-destructors",
       Verdict::warning,
       "keep per-thread state in the delegate",
       {}},
      {"static_tls",
       "no-static-tls",
       Verdict::warning,
       "compile without -ftls-model=initial-exec",
       {}},
      {"foreign",
       "no-foreign-c++-abi",
       Verdict::warning,
       "_ZN2at15get_num_threadsEv",
       {"TN-BIN-1"}},
      {"run_path", "run-path", Verdict::fail, "the run path names /build/folder: ", {}},
      {"relative_run_path", "run-path", Verdict::fail, "the run path names libs: ", {}},
      {"old_rpath", "no-old-rpath", Verdict::warning, "link with -Wl,--enable-new-dtags", {}},
      {"old_rpath_elsewhere",
       "run-path",
       Verdict::fail,
       "link with -Wl,-rpath,'$ORIGIN', or without a run path",
       {"no-old-rpath"}},
      {"executable_stack", "nx-stack", Verdict::fail, "link without -z execstack", {}},
      {"writable_code", "no-writable-code", Verdict::fail, "link without -N", {}},
      {"text_relocation", "no-textrel", Verdict::fail, "compile everything with -fPIC", {}},
      {"without_relro", "relro", Verdict::warning, "link with -Wl,-z,relro", {}},
      {"interpreter", "no-interpreter", Verdict::warning, "PT_INTERP is there", {}},
  };
  std::set<std::string> seen;
  for (const Row& row : rows) {
    INFO(row.file << ": " << row.id);
    const ElfLibrary library = facts_of(built(row.file));
    const LintResult result = find(library, row.id);
    CHECK(result.verdict == row.verdict);
    CHECK_THAT(result.text, ContainsSubstring(row.text));
    std::set<std::string> expected = row.also;
    expected.emplace(row.id);
    CHECK(complaints(library) == expected);
    seen.merge(expected);
  }
  // Each check that can complain was seen to; the one of needed libraries has a test of its own.
  seen.emplace("needed-names");
  for (const LintResult& result : lint_plugin(facts_of(built("old_rpath")))) {
    INFO(result.id);
    CHECK((result.verdict == Verdict::information || seen.count(std::string(result.id)) == 1));
  }
}

TEST_CASE("plugins without a fault pass every check") {
  if (TENON_TEST_SANITIZED) return;
  for (const char* name : {"right", "right_in_cpp", "stripped", "debug", "gnu_hash", "sysv_hash",
                           "needs_maths", "soname", "without_start_files", "bind_now",
                           "bind_lazily", "stack_protector", "fortified", "origin"}) {
    INFO(name);
    CHECK(complaints(facts_of(built(name))).empty());
  }
}

TEST_CASE("the example plugins pass every check") {
  if (TENON_TEST_SANITIZED) return;
  for (const char* path : {TENON_TEST_HELLO, TENON_TEST_DEMO}) {
    INFO(path);
    CHECK(complaints(facts_of(std::string(path))).empty());
  }
}

TEST_CASE("neutral facts are reported") {
  if (TENON_TEST_SANITIZED) return;
  const auto text = [](const char* name, const char* id) {
    const LintResult result = find(facts_of(built(name)), id);
    CHECK(result.verdict == Verdict::information);
    return result.text;
  };
  CHECK(text("bind_now", "bind-now") == "yes");
  CHECK(text("bind_lazily", "bind-now").starts_with("no"));
  CHECK(text("stack_protector", "stack-protector") == "yes");
  CHECK(text("right", "stack-protector").starts_with("no"));
  CHECK(text("fortified", "fortify") == "1 of them");
  CHECK(text("right", "fortify") == "0 of them");
  CHECK(text("stripped", "symbols") == "stripped");
  CHECK(text("right", "symbols") == "with a symbol table");
  CHECK(text("debug", "symbols") == "with debug information");
}

TEST_CASE("a library without the plugin's object fails, and says what may be missing") {
  ElfLibrary library = right();
  library.exported.clear();
  const LintResult result = find(library, "TN-BIN-1");
  CHECK(result.verdict == Verdict::fail);
  CHECK_THAT(result.text,
             ContainsSubstring("does not export tenon_plugin_v1: is TENON_PLUGIN there"));
}

TEST_CASE("a constructor is no part of the C runtime without its start files") {
  ElfLibrary library = right();
  library.has_start_files = false;
  const LintResult result = find(library, "TN-BIN-2");
  CHECK(result.verdict == Verdict::fail);
  CHECK_THAT(result.text, ContainsSubstring("1 entry of .init_array, expected at most 0: "));
  library.num_constructors = 0;
  CHECK(find(library, "TN-BIN-2").verdict == Verdict::pass);
}

TEST_CASE("only the C runtime's constructor is allowed") {
  ElfLibrary library = right();
  for (const std::uint64_t few : {0u, 1u}) {
    library.num_constructors = few;
    CHECK(find(library, "TN-BIN-2").verdict == Verdict::pass);
  }
  for (const std::uint64_t many : {std::uint64_t{2}, ~std::uint64_t{0} / 8}) {
    library.num_constructors = many;
    CHECK(find(library, "TN-BIN-2").verdict == Verdict::fail);
  }
}

TEST_CASE("a run path may only begin at the library's own directory") {
  const auto verdict = [](const char* path) {
    ElfLibrary library = right();
    library.dependencies.run_path = path;
    return find(library, "run-path").verdict;
  };
  for (const char* good : {"", "$ORIGIN", "${ORIGIN}", "$ORIGIN/lib", "${ORIGIN}/../lib:$ORIGIN"}) {
    INFO(good);
    CHECK(verdict(good) == Verdict::pass);
  }
  for (const char* bad : {"/usr/lib", "lib", ".", ":", ":$ORIGIN", "$ORIGIN:", "$ORIGIN::$ORIGIN",
                          "$ORIGINAL/lib", "${ORIGIN}al", "$LIB", "$ORIGIN:/tmp"}) {
    INFO(bad);
    CHECK(verdict(bad) == Verdict::fail);
  }
}

TEST_CASE("a library may only be needed by its name") {
  for (const char* path : {"lib/other.so", "./other.so", "/opt/other.so"}) {
    INFO(path);
    ElfLibrary library = right();
    library.dependencies.needed.emplace_back(path);
    const LintResult result = find(library, "needed-names");
    CHECK(result.verdict == Verdict::fail);
    CHECK_THAT(result.text, ContainsSubstring(std::string("needs ") + path));
  }
}

TEST_CASE("DT_RPATH without DT_RUNPATH is judged, and has no effect with it") {
  ElfLibrary library = right();
  library.dependencies.rpath = "/build/folder";
  CHECK(find(library, "run-path").verdict == Verdict::fail);
  CHECK(find(library, "no-old-rpath").verdict == Verdict::warning);
  library.dependencies.run_path = "$ORIGIN";
  CHECK(find(library, "run-path").verdict == Verdict::pass);
  CHECK(find(library, "no-old-rpath").verdict == Verdict::pass);
}

TEST_CASE("a library that says nothing of its stack gets an executable one") {
  ElfLibrary library = right();
  library.has_stack_note = false;
  const LintResult result = find(library, "nx-stack");
  CHECK(result.verdict == Verdict::fail);
  CHECK_THAT(result.text, ContainsSubstring("there is no PT_GNU_STACK"));
}

TEST_CASE("names of ExecuTorch and libtorch are distinguished from similar ones") {
  ElfLibrary library = right();
  library.undefined = {symbol("_ZN5tenon5errorEv"),
                       symbol("_ZN9executors3runEv"),
                       symbol("at"),
                       symbol("torch_new"),
                       symbol("aoti_torch_empty_strided"),
                       symbol("_Z2atv"),
                       symbol("_ZTIPKc"),
                       symbol("_Z"),
                       symbol("_ZN")};
  CHECK(find(library, "no-foreign-c++-abi").verdict == Verdict::pass);
  for (const char* name :
       {"_ZN10executorch7runtime12runtime_initEv", "_ZNK10executorch1aEv", "_ZN5torch3jit4loadEv",
        "_ZN2at5emptyEv", "_ZN3c105ErrorC1Ev", "_ZNK2at6Tensor3dimEv", "_ZNK5torch1aEv",
        "_ZNK3c106Device3strEv", "_ZTIN10executorch7runtime16BackendInterfaceE", "_ZTVN2at6TensorE",
        "_ZTSN3c105ErrorE"}) {
    INFO(name);
    library.undefined = {symbol(name)};
    CHECK(find(library, "no-foreign-c++-abi").verdict == Verdict::warning);
  }
}

TEST_CASE("a thread-local destructor is seen by the name of either runtime") {
  for (const char* name : {"__cxa_thread_atexit", "__cxa_thread_atexit_impl"}) {
    ElfLibrary library = right();
    library.undefined = {symbol(name)};
    CHECK(complaints(library) == std::set<std::string>{"no-tls-destructors"});
  }
}

TEST_CASE("a unique symbol is a fault even when it is the plugin's own object") {
  ElfLibrary library = right();
  library.exported.front().binding = LibrarySymbol::Binding::gnu_unique;
  CHECK(complaints(library) == std::set<std::string>{"no-gnu-unique"});
}
