// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iomanip>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "changed_library.hpp"
#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::aoti;
using namespace tenon::test;

namespace {

#if defined(__x86_64__)
constexpr std::uint64_t indirect = R_X86_64_IRELATIVE, static_tls = R_X86_64_TPOFF64,
                        copy = R_X86_64_COPY;
#else
constexpr std::uint64_t indirect = R_AARCH64_IRELATIVE, static_tls = R_AARCH64_TLS_TPREL,
                        copy = R_AARCH64_COPY;
#endif

/// What /proc/self/maps says of the mapping that holds an address: "rw-p".
std::string rights_at(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string rights;
    fields >> std::hex >> begin >> dash >> end >> rights;
    if (begin <= wanted && wanted < end) return rights;
  }
  return {};
}

/// A thread that has a stack until it is destroyed.
class Sleeper {
 public:
  Sleeper()
      : thread_([this] {
          const int local = 0;
          std::unique_lock lock(mutex_);
          stack_ = &local;
          changed_.notify_all();
          changed_.wait(lock, [this] { return may_end_; });
        }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stack_ != nullptr; });
  }
  ~Sleeper() {
    {
      const std::lock_guard lock(mutex_);
      may_end_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  [[nodiscard]] const void* stack() const { return stack_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const void* stack_ = nullptr;
  bool may_end_ = false;
  std::thread thread_;
};

void ask_for_executable_stack(const Change& change) {
  change.segment(PT_GNU_STACK, [](ElfClass::Segment& stack) { stack.flags = PF_R | PF_W | PF_X; });
}

/// Loads a library and returns the rights of all stacks: of this thread, of an earlier thread, and
/// of a later thread.
std::vector<std::string> stacks_after_loading(Bytes code, const FindShim& find_shim) {
  const int local = 0;
  const Sleeper before;
  const auto library = ModelLibrary::load(code, find_shim);
  INFO(library.text());
  REQUIRE(library.ok());
  CHECK(ModelLibrary::check(code, find_shim).ok());
  const Sleeper after;
  return {rights_at(&local), rights_at(before.stack()), rights_at(after.stack())};
}

const std::vector<std::string> no_code(3, "rw-p");

}  // namespace

TEST_CASE("a library that asks for executable stacks is loaded, and no stack becomes executable",
          "[aoti]") {
  AlignedBytes file = changed(&ask_for_executable_stack);
  CHECK(stacks_after_loading(file.bytes(), &find_host_shim) == no_code);
}

TEST_CASE("no stack becomes executable with the library of a model that AOTInductor compiled",
          "[aoti]") {
  const AlignedBytes program = read_file(TENON_TEST_FIXTURES "/cpu_mlp/model.pte");
  const auto found = as_text(program.bytes()).find("\177ELF");
  REQUIRE(found != std::string_view::npos);
  AlignedBytes file(program.bytes().subspan(found));
  const auto library = ElfEditor::open(file.bytes());
#if defined(__x86_64__)
  REQUIRE(library.ok());
  CHECK((library->segments()[segment_of(*library, PT_GNU_STACK)].flags & PF_X) != 0);
  // No model is created: only static constructors, which ask for numbers of dtypes, are run.
  static constexpr auto shim = [] { return 0; };
  const auto find_shim = [](std::string_view name) -> const void* {
    const bool is_served = name.starts_with("aoti_torch_") || name.starts_with("Sleef_");
    return is_served ? reinterpret_cast<const void*>(+shim) : nullptr;
  };
  CHECK(stacks_after_loading(file.bytes(), find_shim) == no_code);
#else
  CHECK_FALSE(library.ok());
#endif
}

TEST_CASE("a library that says nothing of the stack is loaded without making it executable",
          "[aoti]") {
  // A type that the loader does not know.
  const auto hide = [](ElfClass::Segment& segment) { segment.type = PT_LOOS + 7; };
  AlignedBytes file = changed([&](const Change& change) { change.segment(PT_GNU_STACK, hide); });
  CHECK(stacks_after_loading(file.bytes(), &find_host_shim) == no_code);
#if defined(__x86_64__)
  AlignedBytes bare = changed([&](const Change& change) {
    change.segment(PT_GNU_STACK, hide);
    while (std::ranges::find(change.library.segments(), std::uint32_t{PT_NOTE},
                             &ElfClass::Segment::type) != change.library.segments().end()) {
      change.segment(PT_NOTE, hide);
    }
  });
  const Status checked = ModelLibrary::check(bare.bytes(), &find_host_shim);
  CHECK(checked.error() == Error::NotSupported);
  CHECK_THAT(std::string(checked.text()), ContainsSubstring("neither PT_GNU_STACK nor a note"));
#endif
}

TEST_CASE("what would change the process when a library is loaded is refused by name", "[aoti]") {
  struct Case {
    const char* name;
    std::function<void(const Change&)> change;
    const char* message;
  };
  const auto flags = [](std::uint64_t value) {
    return [=](const Change& change) { change.entry(DT_FLAGS, value); };
  };
  const auto flags_1 = [](std::uint64_t value) {
    return [=](const Change& change) { change.entry(DT_FLAGS_1, value); };
  };
  const auto type = [](std::uint64_t number) {
    return [=](const Change& change) {
      change.relocation([&](Elf64_Rela& relocation) { relocation.r_info = number; });
    };
  };
  const Case cases[] = {
      {"auditor", [](const Change& change) { change.entry(DT_AUDIT, 1); }, "as DT_AUDIT"},
      {"another program's auditor", [](const Change& change) { change.entry(DT_DEPAUDIT, 1); },
       "as DT_DEPAUDIT"},
      {"filter", [](const Change& change) { change.entry(DT_FILTER, 1); }, "as DT_FILTER"},
      {"auxiliary filter", [](const Change& change) { change.entry(DT_AUXILIARY, 1); },
       "as DT_AUXILIARY"},
      {"changed code", [](const Change& change) { change.entry(DT_TEXTREL, 0); }, "DT_TEXTREL"},
      {"changed code, by flag", flags(DF_TEXTREL), "DF_TEXTREL"},
      {"static storage", flags(DF_STATIC_TLS), "(DF_STATIC_TLS)"},
      {"static storage, by relocation", type(static_tls), "(a relocation to TPOFF)"},
      {"never unloaded", flags_1(DF_1_NODELETE), "DF_1_NODELETE"},
      {"program", flags_1(DF_1_PIE), "DF_1_PIE"},
      {"not to be opened", flags_1(DF_1_NOOPEN), "DF_1_NOOPEN"},
      {"chooses by code", type(indirect), "(IRELATIVE)"},
      {"copies from another library", type(copy), "its relocation of type "},
      {"chooses a function by code",
       [](const Change& change) {
         const auto& symbols = change.library.symbols();
         const auto symbol =
             std::ranges::find(symbols, "AOTInductorModelContainerRun", &DynamicSymbol::name);
         REQUIRE(symbol != symbols.end());
         const auto table = change.library.entries()[entry_of(change.library, DT_SYMTAB)];
         const auto place = change.library.place(table.value, 1, "symbols");
         REQUIRE(place.ok());
         change.bytes[*place + symbol->index * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_info)] =
             std::byte{STB_GLOBAL << 4 | STT_GNU_IFUNC};
       },
       "the function AOTInductorModelContainerRun (STT_GNU_IFUNC)"},
      {"data that are code",
       [](const Change& change) {
         change.segment(PT_LOAD,
                        [](ElfClass::Segment& first) { first.flags = PF_R | PF_W | PF_X; });
       },
       "both writable and executable"},
      {"much for each thread",
       [](const Change& change) {
         change.segment(PT_TLS,
                        [](ElfClass::Segment& tls) { tls.memory_size = std::uint64_t{1} << 40; });
       },
       "it wants 1099511627776 bytes of storage"},
  };
  for (const Case& each : cases) {
    DYNAMIC_SECTION(each.name) {
      AlignedBytes file = changed(each.change);
      const Status checked = ModelLibrary::check(file.bytes(), &find_host_shim);
      CHECK(checked.error() == Error::NotSupported);
      CHECK_THAT(
          std::string(checked.text()),
          ContainsSubstring("the model's library is refused: ") && ContainsSubstring(each.message));
      const auto library = ModelLibrary::load(file.bytes(), &find_host_shim);
      CHECK(library.error() == checked.error());
      CHECK(library.text() == checked.text());
    }
  }
}

TEST_CASE("headers that the dynamic loader would read otherwise, or crash at, are refused",
          "[aoti]") {
  struct Case {
    const char* name;
    std::function<void(const Change&)> change;
    const char* message;
  };
  const Case cases[] = {
      {"two dynamic sections",
       [](const Change& change) {
         const ElfClass::Segment first =
             change.library.segments()[segment_of(change.library, PT_DYNAMIC)];
         change.segment(PT_NOTE, [&](ElfClass::Segment& other) { other = first; });
       },
       "several dynamic segments"},
      {"a dynamic section elsewhere",
       [](const Change& change) {
         change.segment(PT_DYNAMIC, [](ElfClass::Segment& segment) { segment.address += 16; });
       },
       "by its address"},
      {"a dynamic section without an end",
       [](const Change& change) {
         const std::uint64_t nbytes =
             change.library.entries().size() * sizeof(ElfClass::DynamicEntry);
         change.segment(PT_DYNAMIC,
                        [=](ElfClass::Segment& segment) { segment.file_size = nbytes; });
       },
       "its dynamic section has no end"},
      {"a dynamic section that cannot be written to",
       [](const Change& change) {
         for (std::size_t i = 0; i < change.library.segments().size(); ++i) {
           ElfClass::Segment segment = change.library.segments()[i];
           if (segment.type == PT_LOAD) segment.flags &= ~std::uint32_t{PF_W};
           change.library.change_segment(i, segment);
         }
       },
       "its dynamic section is writable, and not inside"},
      {"other program headers",
       [](const Change& change) {
         change.segment(PT_NOTE, [](ElfClass::Segment& note) { note.type = PT_PHDR; });
       },
       "names other program headers"},
      {"two segments of thread-local storage",
       [](const Change& change) {
         const ElfClass::Segment first =
             change.library.segments()[segment_of(change.library, PT_TLS)];
         change.segment(PT_NOTE, [&](ElfClass::Segment& other) { other = first; });
       },
       "several segments of thread-local storage"},
      {"a note outside",
       [](const Change& change) {
         change.segment(PT_NOTE, [](ElfClass::Segment& note) { note.address = 1u << 30; });
       },
       "is outside its segments"},
      {"no rights on other memory",
       [](const Change& change) {
         change.segment(PT_GNU_RELRO,
                        [](ElfClass::Segment& relro) { relro.memory_size = 1u << 30; });
       },
       "which becomes read-only, is outside"},
      {"two segments on a page",
       [](const Change& change) {
         change.segment(PT_LOAD, [](ElfClass::Segment& first) { first.memory_size = 0x100000; });
       },
       "overlaps the one before it"},
      {"not aligned",
       [](const Change& change) {
         change.segment(PT_LOAD, [](ElfClass::Segment& first) { first.alignment = 3; });
       },
       "is not aligned to pages"},
      {"relocated code",
       [](const Change& change) {
         change.relocation([](Elf64_Rela& relocation) { relocation.r_offset = 0; });
       },
       "the relocation at address 0 is outside of its writable segments"},
      {"a symbol that it does not have",
       [](const Change& change) {
         change.relocation([](Elf64_Rela& relocation) {
           relocation.r_info = ELF64_R_INFO(std::uint64_t{0x7fffffff}, relative);
         });
       },
       "is of symbol 2147483647, of "},
      {"thread-local storage aligned to 3",
       [](const Change& change) {
         change.segment(PT_TLS, [](ElfClass::Segment& tls) { tls.alignment = 3; });
       },
       "has the alignment 3"},
  };
  for (const Case& each : cases) {
    DYNAMIC_SECTION(each.name) {
      AlignedBytes file = changed(each.change);
      const Status checked = ModelLibrary::check(file.bytes(), &find_host_shim);
      CHECK(checked.error() == Error::InvalidArgument);
      CHECK_THAT(std::string(checked.text()), ContainsSubstring(each.message));
      const auto library = ModelLibrary::load(file.bytes(), &find_host_shim);
      CHECK(library.text() == checked.text());
    }
  }
}

TEST_CASE("relative relocations in the compact form are followed", "[aoti]") {
  // The table is put where the notes are: an address, and a map of words after it.
  const auto with_table = [](std::uint64_t address, std::uint64_t map) {
    return changed([=](const Change& change) {
      const ElfClass::Segment note = change.library.segments()[segment_of(change.library, PT_NOTE)];
      const std::uint64_t table[] = {address, map};
      REQUIRE(note.file_size >= sizeof table);
      std::memcpy(change.bytes.data() + note.offset, table, sizeof table);
      change.entry(36, note.address);
      ElfClass::DynamicEntry size{};
      size.tag = 35;
      size.value = sizeof table;
      change.library.change_entry(entry_of(change.library, DT_FINI), size);
    });
  };
  AlignedBytes file = stand_in("good");
  const auto library = ElfEditor::open(file.bytes());
  REQUIRE(library.ok());
  const auto data = std::ranges::find_if(library->segments(), [](const ElfClass::Segment& segment) {
    return segment.type == PT_LOAD && (segment.flags & PF_W) != 0;
  });
  REQUIRE(data != library->segments().end());
  const std::uint64_t last = (data->address + data->memory_size) / 8 * 8 - 16;
  const auto check = [&](std::uint64_t address, std::uint64_t map) {
    AlignedBytes bytes = with_table(address, map);
    return ModelLibrary::check(bytes.bytes(), &find_host_shim);
  };
  CHECK(check(last, 0b11).ok());
  CHECK_THAT(std::string(check(last, 0b1001).text()),
             ContainsSubstring(concat("the relocation at address ", last + 24, " is outside")));
  CHECK_THAT(std::string(check(0, 1).text()),
             ContainsSubstring("the relocation at address 0 is outside"));
}

TEST_CASE("headers that change nothing are no reason to refuse a library", "[aoti]") {
  const std::function<void(const Change&)> changes[] = {
      [](const Change& change) {
        change.segment(PT_NOTE, [](ElfClass::Segment& note) { note.type = PT_INTERP; });
      },
      [](const Change& change) { change.entry(DT_SYMBOLIC, 0); },
      [](const Change& change) { change.entry(DT_PREINIT_ARRAY, 0); },
      [](const Change& change) { change.entry(DT_RPATH, 1); },
  };
  for (const auto& change : changes) {
    AlignedBytes file = changed(change);
    const auto library = ModelLibrary::load(file.bytes(), &find_host_shim);
    INFO(library.text());
    CHECK(library.ok());
  }
}

TEST_CASE("search paths, precedence and the name for others are removed from the private copy",
          "[aoti]") {
  AlignedBytes file = changed([](const Change& change) {
    change.entry(DT_RUNPATH, 1);
    ElfClass::DynamicEntry entry{};
    entry.tag = DT_FLAGS_1;
    entry.value = DF_1_NOW | DF_1_GLOBAL | DF_1_INITFIRST | DF_1_INTERPOSE;
    change.library.change_entry(entry_of(change.library, DT_FINI), entry);
  });
  auto library = ElfEditor::open(file.bytes());
  REQUIRE(library.ok());
  const Status contained = contain_loader_effects(*library);
  INFO(contained.text());
  REQUIRE(contained.ok());
  const auto again = ElfEditor::open(file.bytes());
  REQUIRE(again.ok());
  CHECK(std::ranges::find(again->entries(), std::uint64_t{DT_RUNPATH},
                          &ElfClass::DynamicEntry::tag) == again->entries().end());
  CHECK(again->entries()[entry_of(*again, DT_FLAGS_1)].value == DF_1_NOW);
}

TEST_CASE("a model that has the name of another library is not found in its place", "[aoti]") {
  const std::string_view name = "aoti_torch_empty_strided";
  AlignedBytes file = changed([&](const Change& change) {
    const auto& symbols = change.library.symbols();
    const auto symbol = std::ranges::find(symbols, name, &DynamicSymbol::name);
    REQUIRE(symbol != symbols.end());
    const auto strings = change.library.entries()[entry_of(change.library, DT_STRTAB)];
    const auto place = change.library.place(strings.value, 1, "strings");
    REQUIRE(place.ok());
    const auto* const begin = reinterpret_cast<const char*>(change.bytes.data() + *place);
    change.entry(DT_SONAME, static_cast<std::uint64_t>(symbol->name.data() - begin));
  });
  const auto library = ModelLibrary::load(file.bytes(), &find_host_shim);
  INFO(library.text());
  REQUIRE(library.ok());
  CHECK(::dlopen(std::string(name).c_str(), RTLD_NOLOAD | RTLD_LAZY) == nullptr);
}
