// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/core/file_bytes.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/impl/program/flatbuffer_root.hpp"
#include "tenon/host/loader/program/key_index.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Whether the last named data of a program is the table of variants, as this compiler writes it:
/// the key is right behind its entry. For a copy of the first bytes of a file, which need not hold
/// it, before anything of it is checked.
[[nodiscard]] inline bool seems_to_have_variants(std::span<const std::byte> bytes) noexcept {
  const FileBytes start(bytes);
  const auto target = [&](std::uint64_t place) { return place + start.u32(place); };
  const std::uint64_t root = start.u32(0);
  const std::int64_t to_entries = static_cast<std::int32_t>(start.u32(root));
  const std::uint16_t offset =
      start.u16(root - static_cast<std::uint64_t>(to_entries) + schema::Program::VT_NAMED_DATA);
  if (offset == 0) return false;
  const std::uint64_t list = target(root + offset);
  const std::uint64_t count = start.u32(list);
  constexpr std::uint64_t entry_size = 64;  // More than it has.
  return count != 0 && start.part(target(list + 4 * count), entry_size).text().find(variants_key) !=
                           std::string_view::npos;
}

/// Whether two values of methods are alike for an application that sets or reads them.
[[nodiscard]] inline bool is_alike(const schema::EValue& a, const schema::EValue& b) noexcept {
  if (a.val_type() != b.val_type()) return false;
  const auto* first = a.val_as_Tensor();
  const auto* second = b.val_as_Tensor();
  if (first == nullptr || second == nullptr) return first == second;
  const auto x = layout_of(*first);
  const auto y = layout_of(*second);
  return x.scalar_type == y.scalar_type && std::ranges::equal(x.sizes, y.sizes) &&
         std::ranges::equal(x.dim_order, y.dim_order) &&
         first->shape_dynamism() == second->shape_dynamism();
}

/// Checks that two verified plans take and give the same.
[[nodiscard]] inline Status verify_alike(const schema::ExecutionPlan& plan,
                                         const schema::ExecutionPlan& method) {
  using Indices = flatbuffers::Vector<std::int32_t>;
  const auto check = [&](const Indices& found, const Indices& expected, std::string_view what) {
    if (found.size() != expected.size()) {
      return error(Error::InvalidProgram, "it has ", found.size(), " ", what, "s, its method has ",
                   expected.size());
    }
    for (flatbuffers::uoffset_t i = 0; i < found.size(); ++i) {
      const auto value_of = [i](const schema::ExecutionPlan& of, const Indices& indices) {
        return of.values()->Get(static_cast<flatbuffers::uoffset_t>(indices.Get(i)));
      };
      if (is_alike(*value_of(plan, found), *value_of(method, expected))) continue;
      return error(Error::InvalidProgram, what, " ", i, " is not of the kind, type, sizes, order ",
                   "and dynamism of its method's");
    }
    return ok();
  };
  TENON_RETURN_IF_ERROR(check(*plan.inputs(), *method.inputs(), "input"));
  return check(*plan.outputs(), *method.outputs(), "output");
}

/// Takes the first line off `text`, without its end.
[[nodiscard]] inline std::string_view take_table_line(std::string_view& text) noexcept {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// The first fields of a line of the table of variants, as many as this version reads. A line may
/// have any number of other entries, for which no memory is taken.
struct TableFields {
  std::array<std::string_view, 5> at{};
  std::size_t count = 0;

  explicit TableFields(std::string_view line) noexcept {
    for (std::size_t begin = 0; count < at.size();) {
      const std::size_t end = line.find('\t', begin);
      at[count++] = line.substr(begin, end - begin);
      if (end == std::string_view::npos) return;
      begin = end + 1;
    }
  }
};

/// Reads the table of variants (variants.hpp) of a program that was verified.
class VariantsReader {
 public:
  /// `program` must outlive this object.
  explicit VariantsReader(const Program& program)
      : program_(program),
        plans_(*program.flatbuffer().execution_plan()),
        is_taken_(plans_.size(), false) {}

  /// Once.
  [[nodiscard]] Result<std::vector<ProgramVariant>> read(std::string_view text) && {
    std::size_t number = 0;
    while (!text.empty()) {
      const std::string_view line = take_table_line(text);
      ++number;
      TENON_RETURN_IF_ERROR(with_location(number == 1 ? check_first(line) : add(line),
                                          "the table of variants: line ", number));
    }
    if (number == 0) return refuse("the table of variants is empty");
    TENON_RETURN_IF_ERROR(with_location(end_variant(), "the table of variants"));
    TENON_RETURN_IF_ERROR(with_location(sort_and_check(), "the table of variants"));
    return std::move(variants_);
  }

 private:
  template <class... Pieces>
  static Status refuse(const Pieces&... pieces) {
    return error(Error::InvalidProgram, pieces...);
  }

  static Status check_first(std::string_view line) {
    if (line == variants_key) return ok();
    return refuse("found ", quoted(line), ", expected ", variants_key);
  }

  template <class Number>
  static std::optional<Number> number_of(std::string_view text) noexcept {
    Number out = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return out;
  }

  [[nodiscard]] std::string_view name_of(std::uint32_t plan) const noexcept {
    return plans_.Get(plan)->name()->string_view();
  }

  Status add(std::string_view line) {
    const TableFields fields(line);
    const bool is_variant = fields.at[0] == "variant";
    if (!is_variant && fields.at[0] != "needs") return ok();
    for (const std::string_view field : fields.at) TENON_RETURN_IF_ERROR(check_field(field));
    if (fields.count < 5) {
      return refuse(fields.at[0], " has ", fields.count - 1, " fields, expected 4");
    }
    return is_variant ? add_variant(fields.at) : add_need(fields.at);
  }

  /// Applications name a variant by a C string, as a method.
  Status check_field(std::string_view field) const {
    const std::uint64_t most = program_.limits().name_bytes;
    if (field.size() > most) {
      return over_limit("bytes of a field", field.size(), "name_bytes", most);
    }
    if (field.find('\0') == std::string_view::npos) return ok();
    return refuse(quoted(field), " holds a NUL byte");
  }

  using Fields = std::array<std::string_view, 5>;

  Status add_variant(const Fields& fields) {
    TENON_RETURN_IF_ERROR(end_variant());
    const auto plan = program_.find_method(fields[2]);
    if (!plan) return refuse("the program has no method ", quoted(fields[2]));
    const auto method = program_.find_method(fields[1]);
    if (!method) return refuse("the program has no method ", quoted(fields[1]));
    // Each plan once: so there are no more variants than plans, and none is a variant of two.
    if (is_taken_[*plan]) return refuse("method ", quoted(fields[2]), " is a variant already");
    is_taken_[*plan] = true;
    const auto priority = number_of<std::int32_t>(fields[3]);
    if (!priority) return refuse("the priority is ", quoted(fields[3]), ", expected a number");
    if (fields[4].empty()) return refuse("the name of the variant is empty");
    TENON_RETURN_IF_ERROR(with_location(verify_alike(*plans_.Get(*plan), *plans_.Get(*method)),
                                        "method ", quoted(fields[2])));
    variants_.push_back({name_of(*method), fields[4], *plan, *priority, *plan == *method, {}});
    method_of_.push_back(*method);
    ids_.clear();
    for (const auto* delegate : *plans_.Get(*plan)->delegates()) {
      ids_.push_back(delegate->id()->string_view());
    }
    std::ranges::sort(ids_);
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    has_line_.assign(ids_.size(), false);
    return ok();
  }

  Status add_need(const Fields& fields) {
    if (variants_.empty()) return refuse("needs before the first variant");
    VariantNeed need;
    need.backend_id = fields[1];
    const auto id = std::ranges::lower_bound(ids_, need.backend_id);
    if (id == ids_.end() || *id != need.backend_id) {
      return refuse("no delegate of the variant names backend ", quoted(need.backend_id));
    }
    const auto place = static_cast<std::size_t>(id - ids_.begin());
    if (has_line_[place]) return refuse("backend ", quoted(need.backend_id), " twice");
    has_line_[place] = true;
    const auto version = number_of<std::uint32_t>(fields[2]);
    if (!version)
      return refuse("the payload version is ", quoted(fields[2]), ", expected a number");
    need.payload_version = *version;
    need.target = fields[3];
    if (!fields[4].empty()) need.cpu_features = split(fields[4], ',');
    if (std::ranges::find(need.cpu_features, std::string_view()) != need.cpu_features.end()) {
      return refuse("the CPU features ", quoted(fields[4]), " hold an empty name");
    }
    variants_.back().needs.push_back(std::move(need));
    return ok();
  }

  /// Each backend of the variant has its line.
  Status end_variant() {
    const auto missing = std::ranges::find(has_line_, false);
    if (missing == has_line_.end()) return ok();
    return refuse("variant ", quoted(variants_.back().name), " has a delegate of backend ",
                  quoted(ids_[static_cast<std::size_t>(missing - has_line_.begin())]),
                  " and no needs of it");
  }

  Status sort_and_check() {
    std::vector<std::size_t> order(variants_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [this](std::size_t i) {
      return std::pair(method_of_[i], -std::int64_t{variants_[i].priority});
    });
    for (std::size_t begin = 0; begin < order.size();) {
      const std::uint32_t method = method_of_[order[begin]];
      std::size_t end = begin;
      bool has_default = false;
      for (; end < order.size() && method_of_[order[end]] == method; ++end) {
        has_default |= variants_[order[end]].is_default;
      }
      // Otherwise it is a variant of another one, or of nothing.
      if (!has_default)
        return refuse("method ", quoted(name_of(method)), " is no variant of itself");
      const auto name = [&](std::uint32_t i) { return variants_[order[begin + i]].name; };
      TENON_RETURN_IF_ERROR(KeyIndex::build(static_cast<std::uint32_t>(end - begin), name,
                                            Error::InvalidProgram, "variants"));
      begin = end;
    }
    std::vector<ProgramVariant> sorted;
    for (const std::size_t i : order) sorted.push_back(std::move(variants_[i]));
    variants_ = std::move(sorted);
    return ok();
  }

  const Program& program_;
  const flatbuffers::Vector<flatbuffers::Offset<schema::ExecutionPlan>>& plans_;
  std::vector<bool> is_taken_;  ///< By plan.
  std::vector<ProgramVariant> variants_;
  std::vector<std::uint32_t> method_of_;  ///< By variant.
  std::vector<std::string_view> ids_;     ///< Of the backends of the last one, sorted.
  std::vector<bool> has_line_;            ///< Whether it has needs of each of them.
};

/// The variants that `text`, the table, names. Methods are in the order of their plans, and the
/// variants of a method by falling priority. In time that grows with the lengths of the table and
/// of the plans.
///
/// Each plan and each method that the table names exists. A plan is one variant, of one method,
/// and has inputs and outputs like that method's; the method is a variant of itself, and so no
/// variant of another one. Names of the variants of a method differ. A variant has one line for
/// each backend that its delegates name. No field of these lines holds a NUL byte.
///
/// errors: InvalidProgram, and OutOfResources for a field longer than a name may be, with the line.
[[nodiscard]] inline Result<std::vector<ProgramVariant>> read_variants(const Program& program,
                                                                       std::string_view text) {
  return VariantsReader(program).read(text);
}

/// Calls `each(plan, key)` for the named data that the table states for each variant, by the name
/// of its plan. The table was read; a key need not be in the program.
template <class Each>
void for_each_key_of_variants(std::string_view text, const Each& each) {
  std::string_view plan;
  while (!text.empty()) {
    const TableFields fields(take_table_line(text));
    if (fields.at[0] == "variant") plan = fields.at[2];
    if (fields.at[0] == "data" && fields.count > 1) each(plan, fields.at[1]);
  }
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
