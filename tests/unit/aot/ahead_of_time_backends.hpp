// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "support/idle_backend.hpp"

namespace tenon::test {

/// Takes every relu. The compile spec "do" of an option or a partition says what else happens.
class Able final : public Backend<Able>, public IdleDelegates, public aot::BackendDetails<Able> {
 public:
  static constexpr std::string_view id = "Able";

  static std::string mode_of(CompileSpecs specs) {
    const auto value = specs.find("do");
    return value ? std::string(reinterpret_cast<const char*>(value->data()), value->size()) : "";
  }

  static Result<aot::PartitionResult> partition(const aot::EdgeProgram& program,
                                                CompileSpecs options) {
    aot::PartitionResult out;
    const std::string what = mode_of(options);
    if (what == "throw") throw std::runtime_error("partition throws on request");
    aot::DelegationSpec spec{what == "name another" ? "Other"
                             : what == "name none"  ? ""
                                                    : "Able",
                             {}};
    spec.compile_specs.push_back({"do", aot::SharedBytes::copy_of(what)});
    spec.compile_specs.push_back({"empty", {}});
    out.partition_tags["p0"] = std::move(spec);
    for (std::size_t i = 0; i < program.num_nodes(); ++i) {
      if (program.node(i).target() == "aten.relu.default") out.tag_node(i, "p0");
    }
    return out;
  }

  static Result<std::vector<std::string>> ops_to_not_decompose(const aot::EdgeProgram& program) {
    if (program.num_nodes() == 0) return error(Error::NotSupported, "nothing to keep");
    return std::vector<std::string>{"aten.linear.default", "aten.gelu.default"};
  }

  static Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram& program,
                                                  CompileSpecs specs) {
    const std::string what = mode_of(specs);
    if (what == "throw") throw std::runtime_error("preprocess throws on request");
    if (what == "throw 5") throw 5;
    if (what == "fail") {
      return error(Error::NotSupported, "node '", program.node(0).name(), "': not for this one");
    }
    aot::PreprocessResult result;
    if (what == "empty") return result;
    result.processed_bytes = aot::SharedBytes::copy_of(
        concat(program.method_name(), ":", std::to_string(program.num_nodes())));
    result.delegate_info = "one kernel";
    if (what == "ids") {
      result.debug_handle_map.add(-4, std::array{1u, 2u});
    } else {
      result.debug_handle_map.add("relu", std::array{3u});
      result.debug_handle_map.add("nothing", {});
    }
    aot::NamedDataStoreOutput& named = result.data_store_output;
    named.buffers = {aot::SharedBytes::copy_of("weights!"), aot::SharedBytes::copy_of("table")};
    named.pte_data = {{"w", {0, 16, aot::DenseLayout{ScalarType::Float, {2, 1}, {1, 0}}}},
                      {"t", {1, 1, std::nullopt}}};
    named.external_data = {{"big", {{"w2", {0, 64, aot::DenseLayout{ScalarType::Byte, {8}}}}}}};
    if (what == "buffer 9") named.pte_data[1].entry.buffer_index = 9;
    if (what == "alignment 0") named.pte_data[1].entry.alignment = 0;
    if (what == "alignment 2^32") named.pte_data[1].entry.alignment = std::uint64_t{1} << 32;
    return result;
  }
};

/// Compiles all partitions at once, and wrongly on request.
class Sharing final : public Backend<Sharing>,
                      public IdleDelegates,
                      public aot::BackendDetails<Sharing> {
 public:
  static constexpr std::string_view id = "Sharing";

  static Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram&, CompileSpecs) {
    return error(Error::Internal, "not called: preprocess_multimethod is");
  }
  static Result<aot::ResultsByMethod> preprocess_multimethod(const aot::ProgramsByMethod& programs,
                                                             const aot::SpecsByMethod& specs) {
    aot::ResultsByMethod results;
    const std::string what = Able::mode_of(specs.begin()->second.front());
    int number = 0;
    for (const auto& [method, parts] : programs) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        aot::PreprocessResult result;
        result.processed_bytes =
            aot::SharedBytes::copy_of(concat(method, " ", std::to_string(number++), " of ",
                                             std::to_string(programs.size()), " methods"));
        results[method].push_back(std::move(result));
      }
    }
    if (what == "one too few") results.begin()->second.pop_back();
    if (what == "forget one") results.erase(results.begin());
    if (what == "one too many") results["unknown"].emplace_back();
    return results;
  }
};

/// Leaves out what may be left out, and has a table of its own.
class Plain final : public Backend<Plain>, public IdleDelegates, public aot::BackendDetails<Plain> {
 public:
  static constexpr std::string_view id = "Plain";
  static Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram&, CompileSpecs) {
    return aot::PreprocessResult{};
  }
  static const void* find_extension(std::string_view extension) noexcept {
    return extension == "acme.tuning/1" ? &tuning : nullptr;
  }
  static constexpr int tuning = 5;
};

/// Has no ahead-of-time half; its own table alone.
class Late final : public Backend<Late>, public IdleDelegates {
 public:
  static constexpr std::string_view id = "Late";
  static const void* find_extension(std::string_view extension) noexcept {
    return extension == "acme.tuning/1" ? &Plain::tuning : nullptr;
  }
};

}  // namespace tenon::test
