// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/aligned_bytes.hpp"
#include "support/program_builder.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/loader/program/file_header.hpp"
#include "tenon/host/schema/flat_tensor_generated.h"
#include "tenon/host/schema/flat_tensor_objects_generated.h"

namespace tenon::test {

/// Makes the bytes of a `.ptd` file. Everything in `root` may be edited until `build`.
class DataFileBuilder {
 public:
  flat_tensor_schema::objects::FlatTensorT root;

  /// The contents of a file that was opened without an error, to change them and to build it again.
  [[nodiscard]] static DataFileBuilder of(std::span<const std::byte> file) {
    DataFileBuilder out;
    flat_tensor_schema::objects::GetFlatTensor(file.data())->UnPackTo(&out.root);
    const auto parts = host::detail::read_data_file_header(FileBytes(file));
    if (!parts.ok()) return out;
    const auto segments = file.subspan(static_cast<std::size_t>(parts->segment_base),
                                       static_cast<std::size_t>(parts->segment_size));
    out.segments_.assign(reinterpret_cast<const char*>(segments.data()), segments.size());
    return out;
  }

  /// Adds named bytes in a segment of their own.
  flat_tensor_schema::objects::NamedDataT& data(std::string key, std::string_view bytes) {
    segments_.resize((segments_.size() + 127) / 128 * 128);
    auto& segment =
        *root.segments.emplace_back(std::make_unique<flat_tensor_schema::objects::DataSegmentT>());
    segment.offset = segments_.size();
    segment.size = bytes.size();
    segments_ += bytes;
    auto& entry =
        *root.named_data.emplace_back(std::make_unique<flat_tensor_schema::objects::NamedDataT>());
    entry.key = std::move(key);
    entry.segment_index = static_cast<std::uint32_t>(root.segments.size()) - 1;
    return entry;
  }

  /// Adds a named contiguous tensor.
  flat_tensor_schema::objects::NamedDataT& tensor(std::string key, ScalarType type,
                                                  std::vector<std::int32_t> sizes,
                                                  std::string_view bytes) {
    auto& entry = data(std::move(key), bytes);
    const auto shape = test::tensor(type, std::move(sizes));
    entry.tensor_layout = std::make_unique<flat_tensor_schema::objects::TensorLayoutT>();
    entry.tensor_layout->scalar_type = shape.scalar_type;
    entry.tensor_layout->sizes = shape.sizes;
    entry.tensor_layout->dim_order = shape.dim_order;
    return entry;
  }

  [[nodiscard]] AlignedBytes build() const {
    flatbuffers::FlatBufferBuilder builder;
    builder.DedupVtables(false);
    flat_tensor_schema::objects::FinishFlatTensorBuffer(
        builder, flat_tensor_schema::objects::CreateFlatTensor(builder, &root));
    constexpr std::size_t header = 48;
    const std::string flatbuffer(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                                 builder.GetSize());
    std::string file = flatbuffer.substr(0, 8) + std::string(header, '\0') + flatbuffer.substr(8);
    file.resize((file.size() + 127) / 128 * 128);
    const std::uint64_t base = file.size();
    file += segments_;

    AlignedBytes out(bytes_of(file));
    const auto root_offset = flatbuffers::ReadScalar<std::uint32_t>(file.data());
    patch(out, 0, root_offset + std::uint32_t{header});
    std::memcpy(&out.bytes()[8], "FH01", 4);
    patch(out, 12, std::uint32_t{40});
    patch(out, 16, std::uint64_t{header});
    patch(out, 24, std::uint64_t{flatbuffer.size()});
    patch(out, 32, base);
    patch(out, 40, std::uint64_t{segments_.size()});
    return out;
  }

 private:
  std::string segments_;
};

}  // namespace tenon::test
