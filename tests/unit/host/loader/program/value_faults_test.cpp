// SPDX-License-Identifier: MIT
#include "rich_program.hpp"

using namespace tenon;
using namespace tenon::test;

namespace value_faults_test { namespace {

constexpr auto invalid = Error::InvalidProgram;

schema::objects::TensorT& tensor_at(ProgramBuilder& builder, std::int32_t index) {
  return *forward(builder).values.at(static_cast<std::size_t>(index))->val.AsTensor();
}

/// A fault in one tensor.
Fault in_tensor(std::int32_t index, std::string name, std::string text,
                std::function<void(schema::objects::TensorT&)> edit, Error error = invalid) {
  const auto where = "plan 0 'forward': value " + std::to_string(index) + " (Tensor): ";
  return {std::move(name), error, where + std::move(text),
          [=](ProgramBuilder& builder) { edit(tensor_at(builder, index)); }};
}

/// A fault made by replacing one value.
template <class Payload>
Fault in_value(std::int32_t index, std::string name, std::string text, Payload payload) {
  return {std::move(name), invalid,
          "plan 0 'forward': value " + std::to_string(index) + " (" + std::move(text),
          [=](ProgramBuilder& builder) {
            forward(builder).values.at(static_cast<std::size_t>(index))->val.Set(Payload(payload));
          }};
}

/// A fault made by leaving a field of a value's table out.
template <class Table>
Fault without(std::int32_t index, std::string name, std::string text,
              flatbuffers::voffset_t field) {
  return {std::move(name),
          invalid,
          "plan 0 'forward': value " + std::to_string(index) + " (" + std::move(text),
          {},
          [=](AlignedBytes& file) {
            const auto& value = *forward(file).values()->Get(static_cast<std::uint32_t>(index));
            remove_field(*static_cast<const Table*>(value.val()), field);
          }};
}

TEST_CASE("the rich program is valid") {
  const auto file = rich_program().build();
  const auto program = host::Program::from_bytes(file.bytes(), nullptr, "rich.pte");
  INFO(program.text());
  REQUIRE(program.ok());
}

TEST_CASE("a program with a lying tensor is refused") {
  using schema::objects::TensorT;
  const auto memory = [](std::uint32_t id, std::uint64_t offset) {
    return [=](TensorT& tensor) {
      tensor.allocation_info->memory_id = id;
      tensor.allocation_info->memory_offset_low = static_cast<std::uint32_t>(offset);
      tensor.allocation_info->memory_offset_high = static_cast<std::uint32_t>(offset >> 32);
    };
  };
  const std::vector<Fault> faults = {
      in_tensor(
          rich::input, "a storage offset", "storage_offset is 1, only 0 is supported",
          [](TensorT& t) { t.storage_offset = 1; }, Error::NotSupported),
      in_tensor(rich::input, "a scalar type above the end",
                "scalar_type is 30, expected a known type, 0 to 29",
                [](TensorT& t) { t.scalar_type = static_cast<schema::ScalarType>(30); }),
      in_tensor(rich::input, "a negative scalar type", "scalar_type is -1, expected a known type",
                [](TensorT& t) { t.scalar_type = static_cast<schema::ScalarType>(-1); }),
      in_tensor(rich::input, "a rank above the limit", "rank is 17, expected at most 16",
                [](TensorT& t) {
                  t.sizes.assign(17, 1);
                  t.dim_order.assign(17, 0);
                }),
      in_tensor(rich::input, "a negative size", "sizes[1] is -3, expected 0 or more",
                [](TensorT& t) { t.sizes[1] = -3; }),
      in_tensor(rich::input, "a short dim order", "dim_order has 1 entries, expected the rank, 2",
                [](TensorT& t) { t.dim_order.pop_back(); }),
      in_tensor(rich::input, "a long dim order", "dim_order has 3 entries, expected the rank, 2",
                [](TensorT& t) { t.dim_order.push_back(2); }),
      in_tensor(rich::input, "a dimension above the rank",
                "dim_order[1] is 2, expected below the rank, 2",
                [](TensorT& t) { t.dim_order[1] = 2; }),
      in_tensor(rich::input, "a repeated dimension", "dim_order[1] is 0, which appeared before",
                [](TensorT& t) { t.dim_order[1] = 0; }),
      in_tensor(rich::input, "too many elements",
                "sizes: the number of bytes overflows at dimension 1",
                [](TensorT& t) {
                  t.sizes.assign(3, 0x7fffffff);
                  t.dim_order = {0, 1, 2};
                }),
      in_tensor(rich::input, "too many bytes, though not too many elements",
                "sizes: the number of bytes overflows at dimension 1",
                [](TensorT& t) { t.sizes.assign(2, 0x7fffffff); }),
      in_tensor(rich::input, "as many bytes as can be counted",
                "allocation_info: 4611686014132420609 bytes at offset 0 are expected",
                [](TensorT& t) {
                  t.scalar_type = schema::ScalarType::BYTE;
                  t.sizes.assign(2, 0x7fffffff);
                }),
      in_tensor(rich::input, "too many elements behind a size of 0",
                "sizes: the number of bytes overflows at dimension 2",
                [](TensorT& t) {
                  t.sizes = {0, 0x7fffffff, 0x7fffffff, 0x7fffffff};
                  t.dim_order = {0, 1, 2, 3};
                }),
      in_tensor(
          rich::input, "an unbounded shape", "shape_dynamism is DYNAMIC_UNBOUND",
          [](TensorT& t) { t.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_UNBOUND; },
          Error::NotSupported),
      in_tensor(rich::input, "an unknown dynamism", "shape_dynamism is 3, expected 0 to 2",
                [](TensorT& t) { t.shape_dynamism = static_cast<schema::TensorShapeDynamism>(3); }),
      in_tensor(rich::state, "an unknown device type", "device_type is 2, expected 0 (CPU) or 1",
                [](TensorT& t) {
                  t.extra_tensor_info->device_type = static_cast<schema::DeviceType>(2);
                }),
      in_tensor(rich::state, "a negative device index", "device_index is -1, expected 0 or more",
                [](TensorT& t) { t.extra_tensor_info->device_index = -1; }),
      in_tensor(rich::state, "an unknown location", "location is 2, expected 0 (SEGMENT) or 1",
                [](TensorT& t) {
                  t.extra_tensor_info->location = static_cast<schema::TensorDataLocation>(2);
                }),
      in_tensor(
          rich::external, "external data without a name",
          "fully_qualified_name is missing, but the data is external",
          [](TensorT& t) { t.extra_tensor_info->fully_qualified_name = ""; },
          Error::InvalidExternalData),
      in_tensor(rich::constant, "a constant above the end",
                "data_buffer_idx: constant_segment.offsets[2] does not exist: it has 2",
                [](TensorT& t) { t.data_buffer_idx = 2; }),
      in_tensor(rich::constant, "a constant that is too short",
                "data_buffer_idx: constant_segment.offsets[1]: 20 bytes at 0 are expected in "
                "segment 0, which has 16",
                [](TensorT& t) { t.sizes = {5}; }),
      in_tensor(rich::state, "an initial state above the end",
                "data_buffer_idx: mutable_data_segments.offsets[2] does not exist: it has 2",
                [](TensorT& t) { t.data_buffer_idx = 2; }),
      in_tensor(rich::state, "an initial state in a segment above the end",
                "data_buffer_idx: mutable_data_segments[1] does not exist: the program has 1",
                [](TensorT& t) { t.extra_tensor_info->mutable_data_segments_idx = 1; }),
      in_tensor(rich::state, "a huge mutable data segment",
                "data_buffer_idx: mutable_data_segments[18446744073709551615] does not exist",
                [](TensorT& t) { t.extra_tensor_info->mutable_data_segments_idx = UINT64_MAX; }),
      in_tensor(rich::input, "the reserved planned buffer",
                "allocation_info: memory_id is 0, which is reserved", memory(0, 0)),
      in_tensor(rich::input, "a planned buffer above the end",
                "allocation_info: memory_id is 3, expected below 3", memory(3, 0)),
      in_tensor(rich::input, "data behind the planned buffer",
                "allocation_info: 24 bytes at offset 44 are expected in planned buffer 1, which "
                "has 64",
                memory(1, 44)),
      in_tensor(rich::input, "an offset that overflows",
                "allocation_info: 24 bytes at offset 18446744073709551612 are expected",
                memory(1, UINT64_MAX - 3)),
      in_tensor(rich::input, "an offset above 32 bits",
                "allocation_info: 24 bytes at offset 4294967296 are expected",
                memory(1, std::uint64_t{1} << 32)),
      in_tensor(rich::input, "an unaligned offset",
                "allocation_info: offset 2 is not a multiple of the element size, 4", memory(1, 2)),
      without<schema::Tensor>(rich::input, "no sizes", "Tensor): sizes is missing",
                              schema::Tensor::VT_SIZES),
      without<schema::Tensor>(rich::input, "no dim order", "Tensor): dim_order is missing",
                              schema::Tensor::VT_DIM_ORDER),
      without<schema::Tensor>(rich::external, "a tensor that was made external",
                              "Tensor): sizes is missing", schema::Tensor::VT_SIZES),
  };
  for (const auto& fault : faults) check_refused(fault);
}

TEST_CASE("a constant that is not aligned to its element size is refused") {
  check_refused({"offset 2 in the constant segment", invalid,
                 "value 12 (Tensor): data_buffer_idx: the data of constant 1 is not aligned to the "
                 "element size, 4",
                 [](ProgramBuilder& builder) {
                   builder.program.constant_segment->offsets[1] = 2;
                   tensor_at(builder, rich::constant).sizes = {3};
                 }});
}

TEST_CASE("an initial state need not be aligned, because it is copied") {
  auto builder = rich_program();
  builder.program.mutable_data_segments[0]->offsets[1] = 3;
  tensor_at(builder, rich::state).sizes = {3};
  const auto file = builder.build();
  CHECK(host::Program::from_bytes(file.bytes(), nullptr, "x").ok());
}

TEST_CASE("a tensor without elements needs no bytes") {
  auto builder = rich_program();
  tensor_at(builder, rich::constant).sizes = {0};
  tensor_at(builder, rich::input).sizes = {0, 0x7fffffff};
  const auto file = builder.build();
  CHECK(host::Program::from_bytes(file.bytes(), nullptr, "x").ok());
}

TEST_CASE("an external tensor's buffer index means nothing") {
  auto builder = rich_program();
  tensor_at(builder, rich::external).data_buffer_idx = 77;
  const auto file = builder.build();
  CHECK(host::Program::from_bytes(file.bytes(), nullptr, "x").ok());
}

TEST_CASE("a program with a lying list is refused") {
  const std::vector<Fault> faults = {
      in_value(rich::int_items, "an item above the end",
               "IntList): items[1] is 15, expected an index of one of 15 values",
               int_list({rich::integer, rich::count})),
      in_value(rich::int_items, "a negative item", "IntList): items[0] is -1, expected an index",
               int_list({-1})),
      in_value(rich::int_items, "an item whose low half is an index",
               "IntList): items[0] is 4294967298, expected an index",
               int_list({(std::int64_t{1} << 32) + rich::integer})),
      in_value(rich::int_items, "an item that is not an integer",
               "IntList): items[0] is value 4 of kind Double, expected Int",
               int_list({rich::real})),
      in_value(rich::tensor_items, "an item above the end",
               "TensorList): items[0] is 15, expected an index of one of 15 values",
               tensor_list({rich::count})),
      in_value(rich::tensor_items, "no tensor in a list that needs one",
               "TensorList): items[1] is -1, expected an index", tensor_list({rich::input, -1})),
      in_value(rich::tensor_items, "an item that is not a tensor",
               "TensorList): items[0] is value 6 of kind Null, expected Tensor",
               tensor_list({rich::none})),
      in_value(rich::optional_items, "an item above the end",
               "OptionalTensorList): items[0] is 15, expected an index",
               optional_tensor_list({rich::count})),
      in_value(rich::optional_items, "a negative item that is not none",
               "OptionalTensorList): items[0] is -2, expected an index",
               optional_tensor_list({-2})),
      in_value(rich::optional_items, "an item that is neither tensor nor none",
               "OptionalTensorList): items[0] is value 2 of kind Int, expected Tensor or Null",
               optional_tensor_list({rich::integer})),
      without<schema::IntList>(rich::int_items, "no items", "IntList): items is missing",
                               schema::IntList::VT_ITEMS),
      without<schema::DoubleList>(rich::double_items, "no items", "DoubleList): items is missing",
                                  schema::DoubleList::VT_ITEMS),
      without<schema::BoolList>(rich::bool_items, "no items", "BoolList): items is missing",
                                schema::BoolList::VT_ITEMS),
      without<schema::TensorList>(rich::tensor_items, "no items", "TensorList): items is missing",
                                  schema::TensorList::VT_ITEMS),
      without<schema::OptionalTensorList>(rich::optional_items, "no items",
                                          "OptionalTensorList): items is missing",
                                          schema::OptionalTensorList::VT_ITEMS),
      without<schema::String>(rich::text, "no text", "String): string_val is missing",
                              schema::String::VT_STRING_VAL),
      {"a boolean list with a byte of 2",
       invalid,
       "value 9 (BoolList): items[1]: boolean is 2, expected 0 or 1",
       {},
       [](AlignedBytes& file) {
         const auto* items =
             forward(file).values()->Get(rich::bool_items)->val_as_BoolList()->items();
         const_cast<std::uint8_t*>(items->data())[1] = 2;
       }},
      {"a boolean of 255",
       invalid,
       "value 3 (Bool): boolean is 255, expected 0 or 1",
       {},
       [](AlignedBytes& file) {
         const auto& value = *forward(file).values()->Get(rich::boolean)->val_as_Bool();
         patch(file, place_of_field(file, value, schema::Bool::VT_BOOL_VAL), std::uint8_t{255});
       }},
      {"unaligned integers", invalid, "value 7 (IntList): items is not aligned to 8 bytes",
       [](ProgramBuilder& builder) {
         forward(builder).values[rich::int_items]->val.Set(int_list({1, 2}));
         forward(builder).values[1]->val.Set(int_value(1));
         forward(builder).outputs.clear();
       },
       [](AlignedBytes& file) {
         misalign(file, *forward(file).values()->Get(rich::int_items)->val_as_IntList(),
                  schema::IntList::VT_ITEMS);
       }},
      {"unaligned doubles", invalid, "value 8 (DoubleList): items is not aligned to 8 bytes",
       [](ProgramBuilder& builder) {
         const std::uint64_t bits = 1;
         double one = 0;
         std::memcpy(&one, &bits, sizeof one);
         forward(builder).values[rich::double_items]->val.Set(double_list({one, one}));
       },
       [](AlignedBytes& file) {
         misalign(file, *forward(file).values()->Get(rich::double_items)->val_as_DoubleList(),
                  schema::DoubleList::VT_ITEMS);
       }},
  };
  for (const auto& fault : faults) check_refused(fault);
}

TEST_CASE("a value of an unknown kind is refused") {
  const auto with_kind = [](int kind, std::string text) {
    return Fault{"kind " + std::to_string(kind),
                 invalid,
                 "value 6 (" + std::move(text),
                 {},
                 [=](AlignedBytes& file) {
                   const auto& value = *forward(file).values()->Get(rich::none);
                   patch(file, place_of_field(file, value, schema::EValue::VT_VAL_TYPE),
                         static_cast<std::uint8_t>(kind));
                 }};
  };
  check_refused(with_kind(0, "NONE): kind is 0, expected 1 to 11"));
  check_refused(with_kind(12, "): kind is 12, expected 1 to 11"));
  check_refused(with_kind(255, "): kind is 255, expected 1 to 11"));
}

TEST_CASE("a value without its table is refused") {
  for (std::int32_t index = 0; index < rich::count; ++index) {
    check_refused({"value " + std::to_string(index),
                   invalid,
                   "value " + std::to_string(index) + " (",
                   {},
                   [=](AlignedBytes& file) {
                     remove_field(*forward(file).values()->Get(static_cast<std::uint32_t>(index)),
                                  schema::EValue::VT_VAL);
                   }});
  }
}

}}  // namespace value_faults_test
