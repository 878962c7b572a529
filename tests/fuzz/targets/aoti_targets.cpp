// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string_view>

#include "fuzz/fuzz_target.hpp"
#include "parsers.hpp"
#include "tenon/aoti/library/elf_editor.hpp"
#include "tenon/aoti/library/loader_effects.hpp"
#include "tenon/aoti/library/model_requirements.hpp"
#include "tenon/aoti/library/symbol_versions.hpp"
#include "tenon/aoti/payload.hpp"

namespace tenon::fuzz {

namespace {

const int shim = 0;

/// Half of the functions are there, so that both cases are common.
const void* find_shim(std::string_view name) { return name.size() % 2 == 0 ? &shim : nullptr; }

bool never(std::string_view) noexcept { return false; }

}  // namespace

/// All that ModelLibrary::load does to the bytes before the dynamic loader gets them.
void model_library(std::span<std::byte> bytes) {
  auto editor = aoti::ElfEditor::open(bytes);
  use(editor);
  if (!editor.ok()) return;
  // The dynamic loader is asked for the others, which takes its time.
  static constexpr std::string_view served[] = {"libc.so",     "libm.so",    "libstdc++.so",
                                                "libgcc_s.so", "libgomp.so", "ld-linux-x86-64.so"};
  const Status contained = aoti::contain_loader_effects(*editor);
  if (!contained.ok() && contained.text().empty()) std::abort();
  const auto versions = aoti::needed_versions(*editor);
  use(versions);
  if (editor->needed().size() <= 16) {
    auto found = aoti::check_requirements(*editor, &find_shim, &never, served);
    use(found);
    if (found.ok() && versions.ok()) {
      static_cast<void>(
          aoti::find_missing_versions(*editor, *versions, &find_shim, served, *found));
    }
    if (found.ok() && !found->met() && found->text().empty()) std::abort();
  }
  if (versions.ok()) aoti::release_served_versions(*editor, *versions, served);
  for (const aoti::DynamicSymbol& symbol : editor->symbols()) {
    if (symbol.is_undefined) {
      editor->bind(symbol, &shim);
    } else if (symbol.is_unique || symbol.is_weak) {
      editor->make_own(symbol);
    }
  }
  for (std::size_t i = 0; i < editor->needed().size(); ++i) editor->drop_needed(i);
}

void payload(std::span<std::byte> bytes) {
  for (const bool named : {false, true}) {
    const auto parsed = aoti::parse_payload(text_of(bytes), "forward", named);
    use(parsed);
    if (!parsed.ok()) continue;
    for (const unsigned sm : {75u, 90u}) use(aoti::choose_for_sm(parsed->variants, sm));
  }
  use(aoti::parse_named_weights(text_of(bytes)));
}

}  // namespace tenon::fuzz
