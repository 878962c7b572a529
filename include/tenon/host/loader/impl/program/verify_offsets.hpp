// SPDX-License-Identifier: MIT
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "tenon/abi/version.h"
#include "tenon/host/schema/program_generated.h"

/// A check of the offsets of a flatbuffer that is made from the reflection that flatc generates
/// (--cpp-static-reflection), and so follows the schema by itself. It reads the vtable of each kind
/// of table once and compares the others with it, which takes little more than half of what the
/// verifier of flatbuffers does where there are many tables of a kind.
///
/// It only ever accepts: what it does not accept is given to flatbuffers' own verifier
/// (`verify_flatbuffer`), so no file is refused by it.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

template <class... Tables>
struct TableList {};

/// The tables of a union, in the order of its enumerators from 1 on.
template <class Enum>
struct UnionTables;
template <>
struct UnionTables<schema::KernelTypes> {
  using List = TableList<schema::Null, schema::Int, schema::Bool, schema::Double, schema::Tensor,
                         schema::String, schema::IntList, schema::DoubleList, schema::BoolList,
                         schema::TensorList, schema::OptionalTensorList>;
  template <class Table>
  static constexpr auto number = schema::KernelTypesTraits<Table>::enum_value;
};
template <>
struct UnionTables<schema::InstructionArguments> {
  using List = TableList<schema::KernelCall, schema::DelegateCall, schema::MoveCall,
                         schema::JumpFalseCall, schema::FreeCall>;
  template <class Table>
  static constexpr auto number = schema::InstructionArgumentsTraits<Table>::enum_value;
};

template <class Enum, class List = typename UnionTables<Enum>::List>
inline constexpr bool has_all_tables = false;
template <class Enum, class... Tables>
inline constexpr bool has_all_tables<Enum, TableList<Tables...>> = [] {
  std::uint8_t last = 0;
  const bool in_order =
      ((static_cast<std::uint8_t>(UnionTables<Enum>::template number<Tables>) == ++last) && ...);
  return in_order && last == static_cast<std::uint8_t>(Enum::MAX);
}();

enum class FieldKind { scalar, string, scalars, tables, table, union_value };

template <class Stored>
struct FieldOf {
  static_assert(std::is_arithmetic_v<Stored> || std::is_enum_v<Stored>,
                "a kind of field that no schema had");
  static constexpr FieldKind kind = FieldKind::scalar;
  static constexpr std::uint8_t nbytes = sizeof(Stored);
};
template <FieldKind Kind>
struct OffsetField {
  static constexpr FieldKind kind = Kind;
  static constexpr std::uint8_t nbytes = sizeof(flatbuffers::uoffset_t);
};
template <>
struct FieldOf<const flatbuffers::String*> : OffsetField<FieldKind::string> {};
template <>
struct FieldOf<const void*> : OffsetField<FieldKind::union_value> {};
template <class Element>
struct FieldOf<const flatbuffers::Vector<Element>*> : OffsetField<FieldKind::scalars> {
  static_assert(std::is_arithmetic_v<Element>, "a kind of vector that no schema had");
  static constexpr std::size_t element = sizeof(Element);
};
template <class Table>
struct FieldOf<const flatbuffers::Vector<flatbuffers::Offset<Table>>*>
    : OffsetField<FieldKind::tables> {
  using Child = Table;
};
template <class Table>
struct FieldOf<const Table*> : OffsetField<FieldKind::table> {
  using Child = Table;
};

template <class Table, std::size_t I>
using StoredField = typename Table::Traits::template FieldType<I>;
template <class Table, std::size_t I>
using FieldAt = FieldOf<StoredField<Table, I>>;

/// The layout that the latest vtable of one kind of tables says.
struct TableShape {
  std::size_t vtable = 0;      ///< Position.
  std::uint32_t extent = ~0u;  ///< Bytes up to the end of its fields; of none known, no table.
  std::uint32_t mask = 0;      ///< The lower bits of the position of a table
  std::uint32_t residue = 0;   ///< and what they have to be for aligned fields.
};

template <class Table>
using FieldNumbers = std::make_index_sequence<Table::Traits::fields_number>;

template <class Table, std::size_t... I>
constexpr auto widths_of(std::index_sequence<I...>) {
  return std::array<std::uint8_t, sizeof...(I)>{FieldAt<Table, I>::nbytes...};
}

template <class Table>
struct KnownTable;

/// The known layouts of the tables of a union.
template <class List>
struct KnownUnion;
template <class Table>
struct KnownMember {
  KnownTable<Table> known;
};
template <class... Tables>
struct KnownUnion<TableList<Tables...>> : KnownMember<Tables>... {};

/// The known layouts of the tables below a field.
template <class Table, std::size_t I, FieldKind = FieldAt<Table, I>::kind>
struct BelowField {};
template <class Table, std::size_t I>
struct BelowField<Table, I, FieldKind::table> {
  KnownTable<typename FieldAt<Table, I>::Child> known;
};
template <class Table, std::size_t I>
struct BelowField<Table, I, FieldKind::tables> : BelowField<Table, I, FieldKind::table> {};
template <class Table, std::size_t I>
struct BelowField<Table, I, FieldKind::union_value> {
  using Enum = StoredField<Table, I - 1>;
  static_assert(has_all_tables<Enum>);
  KnownUnion<typename UnionTables<Enum>::List> known;
};

template <class Table, class Numbers = FieldNumbers<Table>>
struct BelowFields;
template <class Table, std::size_t... I>
struct BelowFields<Table, std::index_sequence<I...>> : BelowField<Table, I>... {};

/// The layout of one kind of tables at its place in the schema, and of those below it.
template <class Table>
struct KnownTable : TableShape, BelowFields<Table> {
  static constexpr std::size_t num_fields = Table::Traits::fields_number;
  static constexpr auto widths = widths_of<Table>(FieldNumbers<Table>());

  std::array<std::uint16_t, num_fields> places{};  ///< From the start of a table; 0: absent.
};

/// One check of one flatbuffer.
class OffsetCheck {
 public:
  /// `bytes` is smaller than 2 GiB. With more than `max_tables` tables, counted at each reference,
  /// nothing is accepted.
  OffsetCheck(std::span<const std::byte> bytes, std::uint32_t max_tables) noexcept
      : bytes_(bytes.data()), size_(bytes.size()), tables_left_(max_tables) {}

  /// Whether every offset stays inside the bytes, every field is aligned, and every string ends
  /// with a NUL.
  template <class Root>
  [[nodiscard, gnu::flatten]] bool accepts(const char* identifier) {
    constexpr std::size_t smallest = 2 * sizeof(flatbuffers::uoffset_t);
    if (size_ <= smallest) return false;
    if (std::memcmp(bytes_ + sizeof(flatbuffers::uoffset_t), identifier, 4) != 0) return false;
    KnownTable<Root> known;
    const std::size_t root = follow(0);
    return root != 0 && table<Root>(root, known);
  }

 private:
  template <class Number>
  [[nodiscard]] Number load(std::size_t at) const noexcept {
    Number number;
    std::memcpy(&number, bytes_ + at, sizeof number);
    return flatbuffers::EndianScalar(number);
  }

  /// The position that the offset at `at` leads to, with at least four bytes; 0 when there is none.
  /// The four bytes at `at` exist.
  [[nodiscard]] std::size_t follow(std::size_t at) const noexcept {
    const std::size_t offset = load<std::uint32_t>(at);
    return offset - 1 < size_ - 4 - at ? at + offset : 0;
  }

  /// Whether the vector at `at` has all its elements and `behind` bytes more.
  [[nodiscard]] bool vector(std::size_t at, std::size_t element, std::size_t behind,
                            std::size_t& count) const noexcept {
    count = load<std::uint32_t>(at);
    return at % 4 == 0 && std::uint64_t{count} * element + behind <= size_ - 4 - at;
  }

  /// Reads the vtable at `at` of a table whose fields have `widths`.
  [[nodiscard, gnu::noinline]] bool learn(std::size_t at, TableShape& shape,
                                          std::span<const std::uint8_t> widths,
                                          std::span<std::uint16_t> places) const noexcept {
    shape.extent = ~0u;
    if (at % 2 != 0 || at > size_ - 2) return false;
    const std::size_t nbytes = load<std::uint16_t>(at);
    if (nbytes % 2 != 0 || nbytes > size_ - at) return false;
    // A table begins with its offset to the vtable, and that with two sizes.
    std::uint32_t extent = 4, mask = 3, residue = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::size_t slot = 4 + 2 * i;
      const std::uint32_t place = slot < nbytes ? load<std::uint16_t>(at + slot) : 0u;
      places[i] = static_cast<std::uint16_t>(place);
      if (place == 0) continue;
      extent = std::max(extent, place + widths[i]);
      const std::uint32_t bits = widths[i] - 1u, wanted = (0u - place) & bits;
      if (((wanted ^ residue) & bits & mask) != 0) return false;
      if (bits <= mask) continue;
      mask = bits;
      residue = wanted;
    }
    shape = {at, extent, mask, residue};
    return true;
  }

  template <class Table>
  [[nodiscard]] bool table(std::size_t at, KnownTable<Table>& known) noexcept {
    const auto back = static_cast<std::size_t>(std::ptrdiff_t{load<std::int32_t>(at)});
    if (at - back != known.vtable) [[unlikely]] {
      if (!learn(at - back, known, known.widths, known.places)) return false;
    }
    if (known.extent > size_ - at || (at & known.mask) != known.residue) return false;
    if (tables_left_-- == 0) return false;
    return all_fields<Table>(at, known, FieldNumbers<Table>());
  }

  template <class Table, std::size_t... I>
  [[nodiscard]] bool all_fields([[maybe_unused]] std::size_t at,
                                [[maybe_unused]] KnownTable<Table>& known,
                                std::index_sequence<I...>) noexcept {
    return (field<Table, I>(at, known) && ...);
  }

  template <class Table, std::size_t I>
  [[nodiscard]] bool field([[maybe_unused]] std::size_t at,
                           [[maybe_unused]] KnownTable<Table>& known) noexcept {
    using Field = FieldAt<Table, I>;
    if constexpr (Field::kind == FieldKind::scalar) {
      return true;
    } else {
      if (known.places[I] == 0) return true;
      const std::size_t to = follow(at + known.places[I]);
      if (to == 0) return false;
      [[maybe_unused]] std::size_t count = 0;
      [[maybe_unused]] BelowField<Table, I>& below = known;
      if constexpr (Field::kind == FieldKind::string) {
        return vector(to, 1, 1, count) && load<std::uint8_t>(to + 4 + count) == 0;
      } else if constexpr (Field::kind == FieldKind::scalars) {
        return vector(to, Field::element, 0, count);
      } else if constexpr (Field::kind == FieldKind::table) {
        return table(to, below.known);
      } else if constexpr (Field::kind == FieldKind::tables) {
        if (!vector(to, 4, 0, count)) return false;
        for (std::size_t entry = to + 4; count != 0; --count, entry += 4) {
          const std::size_t element = follow(entry);
          if (element == 0 || !table(element, below.known)) return false;
        }
        return true;
      } else {
        const std::uint8_t type = known.places[I - 1] == 0
                                      ? std::uint8_t{0}
                                      : load<std::uint8_t>(at + known.places[I - 1]);
        return one_of(to, type, below.known);
      }
    }
  }

  /// The table at `at`, which is number `type` of a union. There is nothing to know of a type that
  /// the schema does not have; flatbuffers accepts it, too.
  template <class... Tables>
  [[nodiscard]] bool one_of(std::size_t at, std::uint8_t type,
                            KnownUnion<TableList<Tables...>>& below) noexcept {
    bool good = true;
    std::uint8_t number = 0;
    (void)((type == ++number &&
            (good = table(at, static_cast<KnownMember<Tables>&>(below).known), true)) ||
           ...);
    return good;
  }

  const std::byte* bytes_;
  std::size_t size_;
  std::uint32_t tables_left_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
