// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/aligned_bytes.hpp"
#include "support/program_builder.hpp"
#include "tenon/aoti/payload.hpp"
#include "tenon/host.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::test {

/// A program of tests/live/exporters/export_cuda.py, or a program that ExecuTorch's exporter made:
/// generation 3, and the same packed as generations 1 and 2, as exporters did before.
class ExportedProgram {
 public:
  struct Weight {
    std::string name;
    std::span<const std::byte> bytes;
  };

  /// `directory` is the case's. Here and below, std::runtime_error for another program.
  explicit ExportedProgram(const std::filesystem::path& directory)
      : file_(read_file((directory / "model.pte").string())) {
    auto data = host::DataFile::open(directory / "aoti_cuda_blob.ptd");
    require(data.ok(), data.text());
    data_ = *std::move(data);
    for (const auto* plan : *program_in(file_).execution_plan()) {
      const auto& processed = *plan->delegates()->Get(0)->processed();
      require(processed.location() == schema::DataLocation::SEGMENT, "a blob outside of a segment");
      const auto& segment = *program_in(file_).segments()->Get(processed.index());
      const auto blob = file_.bytes().subspan(segment_base() + segment.offset(), segment.size());
      const std::string_view text(reinterpret_cast<const char*>(blob.data()), blob.size());
      auto payload = aoti::parse_payload(text, plan->name()->string_view(), true);
      require(payload.ok(), payload.text());
      methods_.push_back({plan->name()->str(), *std::move(payload)});
    }
  }

  [[nodiscard]] std::vector<std::string> methods() const {
    std::vector<std::string> out;
    for (const Method& method : methods_) out.push_back(method.name);
    return out;
  }

  /// Weights of a method, in the order of the model's constants.
  [[nodiscard]] std::vector<Weight> weights(std::string_view method) const {
    std::vector<Weight> out;
    for (const aoti::NamedWeight& weight : find(method).payload.weights) {
      const auto key = data_->find_key(weight.key);
      require(key.has_value(), "no data for " + weight.key);
      require(data_->key_data(*key).size() == weight.nbytes, "another size of " + weight.key);
      out.push_back({weight.name, data_->key_data(*key)});
    }
    return out;
  }

  /// Bytes that the host plans on the device and fills with zeroes.
  [[nodiscard]] std::uint64_t planned_on_device(std::size_t method) const {
    const auto& plan =
        *program_in(file_).execution_plan()->Get(static_cast<flatbuffers::uoffset_t>(method));
    std::uint64_t sum = 0;
    for (const auto* buffer : *plan.non_const_buffer_device()) {
      sum += static_cast<std::uint64_t>(plan.non_const_buffer_sizes()->Get(
          static_cast<flatbuffers::uoffset_t>(buffer->buffer_idx())));
    }
    return sum;
  }

  /// The program in that generation. The first two have their weights inside.
  [[nodiscard]] AlignedBytes packed(int generation) const {
    if (generation == 3) return AlignedBytes(file_.bytes());
    ProgramBuilder builder;
    schema::objects::GetProgram(file_.bytes().data())->UnPackTo(&builder.program);
    for (const auto& segment : std::exchange(builder.program.segments, {})) {
      builder.segment(file_.bytes().subspan(segment_base() + segment->offset, segment->size));
    }
    const auto named = std::exchange(builder.program.named_data, {});
    std::size_t number = 0;
    for (const Method& method : methods_) {
      std::vector<std::byte> blob;
      // All constants are the device's, so that nothing is between them (model_base.h, _to_bytes).
      for (const Weight& weight : weights(method.name)) {
        blob.insert(blob.end(), weight.bytes.begin(), weight.bytes.end());
      }
      const auto library = std::ranges::find_if(
          named, [&](const auto& entry) { return entry->key == method.payload.library_key; });
      require(library != named.end(), "no library " + method.payload.library_key);
      const std::string so_key =
          generation == 1 ? method.name + "_so_blob" : method.payload.library_key;
      const std::string weights_key =
          generation == 1 ? method.name + "_weights_blob" : "of_" + method.name + "_weights_blob";
      builder.named_data(so_key, (*library)->segment_index);
      if (!blob.empty()) builder.named_data(weights_key, builder.segment(blob, 1));
      const std::string payload = generation == 1 ? "" : so_key + "\n" + weights_key;
      auto& processed = *builder.program.execution_plan[number++]->delegates.front()->processed;
      processed.location = schema::DataLocation::INLINE;
      processed.index = builder.inline_blob(payload);
    }
    return builder.build();
  }

  [[nodiscard]] std::vector<std::shared_ptr<const host::DataFile>> data_files(
      int generation) const {
    if (generation != 3) return {};
    return {data_};
  }

 private:
  static void require(bool holds, std::string_view text) {
    if (!holds) throw std::runtime_error("an exported program: " + std::string(text));
  }

  struct Method {
    std::string name;
    aoti::Payload payload;
  };

  [[nodiscard]] const Method& find(std::string_view name) const {
    const auto found = std::ranges::find(methods_, name, &Method::name);
    require(found != methods_.end(), "no method " + std::string(name));
    return *found;
  }

  /// Where the extended header says that segments begin.
  [[nodiscard]] std::size_t segment_base() const {
    require(std::memcmp(file_.bytes().data() + 8, "eh00", 4) == 0, "no extended header");
    return flatbuffers::ReadScalar<std::uint64_t>(file_.bytes().data() + 24);
  }

  AlignedBytes file_;
  std::shared_ptr<const host::DataFile> data_;
  std::vector<Method> methods_;
};

}  // namespace tenon::test
