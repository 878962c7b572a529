// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/variants/variants.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/compiler/variants/read_program.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/core/aoti_names.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/layers/prove/golden.hpp"
#include "tenon/host/layers/trace/debug_handles.hpp"
#include "tenon/host/layers/variants/impl/read_variants.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// The program's own named data, by key.
class DataByKey {
 public:
  /// `program` must outlive this object.
  explicit DataByKey(const ProgramData& program) {
    for (const NamedEntry& one : program.named_data.pte_data) {
      by_key_.emplace(one.key, &program.named_data.buffers[one.entry.buffer_index]);
    }
  }

  /// Null when there is none.
  [[nodiscard]] const SharedBytes* find(std::string_view key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::string_view, const SharedBytes*> by_key_;
};

/// The entries of the program's own data, without those for which `is_dropped`, under new keys.
template <class IsDropped, class KeyOf>
[[nodiscard]] Status copy_data(const NamedDataStoreOutput& from, NamedDataStore& to,
                               const IsDropped& is_dropped, const KeyOf& key_of) {
  const auto add = [&](const NamedEntry& one, std::optional<std::string> tag) {
    return to.add_named_data(key_of(one.key), from.buffers[one.entry.buffer_index],
                             {one.entry.alignment, std::move(tag), one.entry.tensor_layout});
  };
  for (const NamedEntry& one : from.pte_data) {
    if (!is_dropped(one.key)) TENON_RETURN_IF_ERROR(add(one, std::nullopt));
  }
  for (const ExternalData& file : from.external_data) {
    for (const NamedEntry& one : file.entries) TENON_RETURN_IF_ERROR(add(one, file.tag));
  }
  return ok();
}

/// Fails for text that a line of the table cannot hold.
[[nodiscard]] inline Status check_field(std::string_view text, std::string_view what) {
  const bool has_control =
      std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (!has_control) return ok();
  return error(Error::InvalidArgument, what, " ", host::quoted(text),
               " has a control character, which the table of variants cannot hold");
}

/// Writes the table of variants (host/layers/variants/variants.hpp).
class VariantsTable {
 public:
  explicit VariantsTable(std::string_view text) : text_(text) {
    if (text_.empty()) text_ = concat(host::variants_key, "\n");
    if (!text_.ends_with('\n')) text_ += '\n';
  }

  [[nodiscard]] Status add(std::string_view method, const MethodData& plan,
                           const VariantToMerge& variant, const NeedsByBackend& needs) {
    TENON_RETURN_IF_ERROR(
        line({"variant", method, plan.name, concat(variant.priority), variant.name}));
    std::set<std::string_view> ids;
    for (const DelegateData& delegate : plan.delegates) {
      if (!ids.insert(delegate.id).second) continue;
      const VariantNeeds& need = needs.find(delegate.id)->second;
      TENON_RETURN_IF_ERROR(line({"needs", delegate.id, concat(need.payload_version), need.target,
                                  join(need.cpu_features, ",")}));
    }
    return ok();
  }
  [[nodiscard]] Status add_key(std::string_view key) { return line({"data", key}); }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  [[nodiscard]] Status line(const std::vector<std::string>& fields) {
    for (const std::string& field : fields) TENON_RETURN_IF_ERROR(check_field(field, "the text"));
    text_ += join(fields, "\t") + "\n";
    return ok();
  }
  [[nodiscard]] Status line(std::initializer_list<std::string_view> fields) {
    return line(std::vector<std::string>(fields.begin(), fields.end()));
  }

  std::string text_;
};

[[nodiscard]] inline bool is_alike(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  const auto* first = std::get_if<TensorValue>(&a);
  if (!first) return true;
  const auto& second = std::get<TensorValue>(b);
  return first->layout == second.layout && first->is_dynamic == second.is_dynamic;
}

[[nodiscard]] inline Status check_alike(const MethodData& found, const MethodData& expected) {
  const auto check = [&](const std::vector<ValueIndex>& a, const std::vector<ValueIndex>& b,
                         std::string_view what) {
    if (a.size() != b.size()) {
      return error(Error::InvalidArgument, "has ", a.size(), " ", what, "s, expected ", b.size(),
                   ", as the first program has");
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto value_of = [i](const MethodData& method, const std::vector<ValueIndex>& list) {
        return method.values[static_cast<std::size_t>(list[i])];
      };
      if (is_alike(value_of(found, a), value_of(expected, b))) continue;
      return error(Error::InvalidArgument, what, " ", i,
                   " differs in kind, type, sizes, order or dynamism from the first program's");
    }
    return ok();
  };
  TENON_RETURN_IF_ERROR(check(found.inputs, expected.inputs, "input"));
  return check(found.outputs, expected.outputs, "output");
}

/// Joins programs, one after the other.
class VariantsMerger {
 public:
  [[nodiscard]] Status begin(VariantToMerge first) {
    const SharedBytes* const table = DataByKey(first.program).find(host::variants_key);
    table_ = VariantsTable(table ? as_text(table->bytes()) : std::string_view());
    if (table) {
      TENON_RETURN_IF_ERROR(copy_data(
          first.program.named_data, named_,
          [](std::string_view key) { return key == host::variants_key; },
          [](std::string_view key) { return key; }));
      out_ = std::move(first.program);
      has_first_ = true;
      index_methods(read_names());
      return ok();
    }
    return add(std::move(first));
  }

  [[nodiscard]] Status add(VariantToMerge variant) {
    if (variant.name.empty()) variant.name = default_variant_name(variant.program);
    Status added = add_named(variant);
    return added.ok()
               ? ok()
               : std::move(added).with_context(concat("variant ", host::quoted(variant.name)));
  }

  [[nodiscard]] Result<ProgramData> end() && {
    TENON_RETURN_IF_ERROR(named_.add_named_data(
        host::variants_key, SharedBytes::copy_of(std::string_view(table_.text()))));
    out_.named_data = named_.get_named_data_store_output();
    return std::move(out_);
  }

 private:
  /// Reads the names of variants of the table that the first program has. Returns the plans that
  /// are no methods.
  std::set<std::string, std::less<>> read_names() {
    std::set<std::string, std::less<>> plans;
    for (const std::string_view line : split(table_.text(), '\n')) {
      const auto fields = split(line, '\t');
      if (fields[0] != "variant" || fields.size() < 5) continue;
      names_.insert(std::string(fields[4]));
      if (fields[1] != fields[2]) plans.insert(std::string(fields[2]));
    }
    return plans;
  }

  void index_methods(const std::set<std::string, std::less<>>& plans) {
    for (std::size_t i = 0; i < out_.methods.size(); ++i) {
      if (!plans.contains(out_.methods[i].name)) methods_.emplace(out_.methods[i].name, i);
    }
  }

  [[nodiscard]] Status add_named(VariantToMerge& variant) {
    if (DataByKey(variant.program).find(host::variants_key)) {
      return error(Error::InvalidArgument,
                   "has variants itself; strip them first, or give it first");
    }
    if (!names_.insert(variant.name).second) {
      return error(Error::InvalidArgument, "another variant has this name");
    }
    NeedsByBackend needs = variant.needs;
    needs.merge(find_needs(variant.program));
    const bool is_first = !std::exchange(has_first_, true);
    const auto shift_constants = static_cast<std::uint32_t>(out_.constants.size());
    const auto shift_states = static_cast<std::uint32_t>(out_.initial_states.size());
    std::vector<MethodData> added;
    for (MethodData& method : variant.program.methods) {
      const std::string name = method.name;
      if (!is_first) {
        const auto same = methods_.find(name);
        if (same == methods_.end()) {
          return error(Error::InvalidArgument, "method ", host::quoted(name),
                       " is not in the first program");
        }
        TENON_RETURN_IF_ERROR(check_alike(method, out_.methods[same->second])
                                  .with_context(concat("method ", host::quoted(name))));
        method.name = plan_name(name, variant.name);
      }
      for (Value& value : method.values) shift(value, shift_constants, shift_states);
      TENON_RETURN_IF_ERROR(table_.add(name, method, variant, needs));
      // Each has all of the data: which of its delegates use which keys they alone know.
      for (const NamedEntry& one : variant.program.named_data.pte_data) {
        if (!one.key.starts_with(host::debug_handles_key) && one.key != host::golden_key) {
          TENON_RETURN_IF_ERROR(table_.add_key(one.key));
        }
      }
      added.push_back(std::move(method));
    }
    const auto key_of = [&](std::string_view key) {
      if (is_first || !key.starts_with(host::debug_handles_key)) return std::string(key);
      return concat(host::debug_handles_key,
                    plan_name(key.substr(host::debug_handles_key.size()), variant.name));
    };
    TENON_RETURN_IF_ERROR(copy_data(
        variant.program.named_data, named_,
        // All variants are proven by the cases of the first.
        [&](std::string_view key) { return !is_first && key == host::golden_key; }, key_of));
    std::ranges::move(added, std::back_inserter(out_.methods));
    if (is_first) index_methods({});
    std::ranges::move(variant.program.constants, std::back_inserter(out_.constants));
    std::ranges::move(variant.program.initial_states, std::back_inserter(out_.initial_states));
    return ok();
  }

  static std::string plan_name(std::string_view method, std::string_view variant) {
    return concat(method, "@", variant);
  }

  static void shift(Value& value, std::uint32_t constants, std::uint32_t states) {
    auto* tensor = std::get_if<TensorValue>(&value);
    if (!tensor) return;
    if (auto* constant = std::get_if<storage::Constant>(&tensor->data)) {
      constant->index += constants;
    } else if (auto* state = std::get_if<storage::InitialState>(&tensor->data)) {
      state->index += states;
    }
  }

  ProgramData out_;
  NamedDataStore named_;
  VariantsTable table_{{}};
  std::set<std::string, std::less<>> names_;
  std::map<std::string, std::size_t, std::less<>> methods_;  ///< Methods of the first program.
  bool has_first_ = false;
};

/// Leaves out constants and states that no method uses any more.
inline void drop_unused(ProgramData& program) {
  ProgramData out;
  std::map<std::uint32_t, std::uint32_t> constants;
  std::map<std::uint32_t, std::uint32_t> states;
  const auto keep = [](std::uint32_t& index, std::map<std::uint32_t, std::uint32_t>& known,
                       std::vector<SharedBytes>& from, std::vector<SharedBytes>& to) {
    const auto [found, is_new] = known.try_emplace(index, static_cast<std::uint32_t>(to.size()));
    if (is_new) to.push_back(from[index]);
    index = found->second;
  };
  for (MethodData& method : program.methods) {
    for (Value& value : method.values) {
      auto* tensor = std::get_if<TensorValue>(&value);
      if (!tensor) continue;
      if (auto* constant = std::get_if<storage::Constant>(&tensor->data)) {
        keep(constant->index, constants, program.constants, out.constants);
      } else if (auto* state = std::get_if<storage::InitialState>(&tensor->data)) {
        keep(state->index, states, program.initial_states, out.initial_states);
      }
    }
  }
  program.constants = std::move(out.constants);
  program.initial_states = std::move(out.initial_states);
}

/// Keys of named data by plan, from the table of a program that was opened.
[[nodiscard]] inline std::map<std::string_view, std::vector<std::string_view>, std::less<>>
keys_by_plan(std::string_view table) {
  std::map<std::string_view, std::vector<std::string_view>, std::less<>> out;
  host::detail::for_each_key_of_variants(
      table, [&](std::string_view plan, std::string_view key) { out[plan].push_back(key); });
  return out;
}

}  // namespace detail

std::string default_variant_name(const ProgramData& program) {
  std::vector<std::string_view> ids;
  for (const MethodData& method : program.methods) {
    for (const DelegateData& delegate : method.delegates) {
      if (std::ranges::find(ids, delegate.id) == ids.end()) ids.push_back(delegate.id);
    }
  }
  return ids.empty() ? "kernels" : join(ids, "+");
}

NeedsByBackend find_needs(const ProgramData& program) {
  const detail::DataByKey data(program);
  NeedsByBackend out;
  for (const MethodData& method : program.methods) {
    for (const DelegateData& delegate : method.delegates) {
      VariantNeeds& needs = out[delegate.id];
      for (const CompileSpecData& spec : delegate.compile_specs) {
        if (spec.key == "device" || spec.key == "target_device") {
          needs.target = std::string(as_text(spec.value.bytes()));
        }
      }
      const std::string_view blob = as_text(delegate.processed.bytes());
      const std::string library = blob.empty() ? aoti::library_key(method.name)
                                               : std::string(blob.substr(0, blob.find('\n')));
      const SharedBytes* const features = data.find(aoti::cpu_features_key(library));
      if (!features || features->empty()) continue;
      for (const std::string_view one : split(as_text(features->bytes()), ',')) {
        if (std::ranges::find(needs.cpu_features, one) == needs.cpu_features.end()) {
          needs.cpu_features.emplace_back(one);
        }
      }
    }
  }
  return out;
}

Result<ProgramData> merge_variants(std::vector<VariantToMerge> variants) {
  if (variants.empty())
    return error(Error::InvalidArgument, "expected at least one program to merge, found none");
  detail::VariantsMerger merger;
  TENON_RETURN_IF_ERROR(merger.begin(std::move(variants.front())));
  for (std::size_t i = 1; i < variants.size(); ++i) {
    TENON_RETURN_IF_ERROR(merger.add(std::move(variants[i])));
  }
  return std::move(merger).end();
}

Result<ProgramData> strip_variants(std::shared_ptr<const host::Program> program,
                                   const std::map<std::string, std::string, std::less<>>& keep) {
  TENON_TRY(const host::Variants all, host::Variants::of(*program));
  for (const auto& [method, name] : keep) {
    TENON_RETURN_IF_ERROR(program->plan(method));
    const auto variants = all.of_method(method);
    if (std::ranges::find(variants, name, &host::ProgramVariant::name) != variants.end()) continue;
    return error(Error::InvalidArgument, "method ", host::quoted(method), " has no variant ",
                 host::quoted(name));
  }
  TENON_TRY(ProgramData out, read_program(program));
  const SharedBytes* const table = detail::DataByKey(out).find(host::variants_key);
  if (!table) return out;
  const auto keys = detail::keys_by_plan(as_text(table->bytes()));
  std::set<std::string_view> kept_keys;
  std::set<std::string_view> dropped{host::variants_key};
  std::vector<std::string> handles;  // Keys of debug handles of plans that are dropped.
  std::map<std::string, std::string, std::less<>> renamed;
  std::vector<MethodData> methods;
  for (MethodData& plan : out.methods) {
    const host::ProgramVariant* const variant = all.find(plan.name);
    if (variant) {
      const auto wanted = keep.find(variant->method);
      const bool is_kept =
          wanted == keep.end() ? variant->is_default : wanted->second == variant->name;
      if (const auto found = keys.find(plan.name); found != keys.end()) {
        (is_kept ? kept_keys : dropped).insert(found->second.begin(), found->second.end());
      }
      if (!is_kept) {
        handles.push_back(concat(host::debug_handles_key, plan.name));
        continue;
      }
      renamed[concat(host::debug_handles_key, plan.name)] =
          concat(host::debug_handles_key, variant->method);
      plan.name = std::string(variant->method);
    }
    methods.push_back(std::move(plan));
  }
  out.methods = std::move(methods);
  dropped.insert(handles.begin(), handles.end());
  NamedDataStore named;
  TENON_RETURN_IF_ERROR(detail::copy_data(
      out.named_data, named,
      [&](std::string_view key) { return dropped.contains(key) && !kept_keys.contains(key); },
      [&](std::string_view key) {
        const auto found = renamed.find(key);
        return found == renamed.end() ? std::string(key) : found->second;
      }));
  out.named_data = named.get_named_data_store_output();
  detail::drop_unused(out);
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aot
