// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "compile.hpp"
#include "tenon/core/lists.hpp"
#include "tool.hpp"

namespace tenon::compile {
namespace {

class Text {
 public:
  [[nodiscard]] std::string write(const Report& report) && {
    out_ = report.printed;
    if (!report.program) return std::move(out_);
    for (const Method& method : report.methods) write_method(method);
    for (const Variant& variant : report.variants) write_variant(variant);
    write_file(*report.program);
    for (const WrittenFile& file : report.data) write_file(file);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_.push_back('\n');
  }

  static std::string counted(std::uint64_t number, std::string_view one) {
    return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
  }

  void write_method(const Method& method) {
    const aot::DelegationInfo& info = method.delegation;
    line("method {}: {} of {} in {}", printable(method.name), info.num_delegated_nodes,
         counted(info.num_delegated_nodes + info.num_non_delegated_nodes, "node"),
         counted(info.num_delegated_subgraphs, "delegate"));
    for (std::size_t i = 0; i < method.delegates.size(); ++i) {
      const Delegate& one = method.delegates[i];
      line("  delegate {}: {}, {}, blob of {}{}{}", i, printable(one.backend_id),
           counted(one.num_nodes, "node"), counted(one.blob_nbytes, "byte"),
           one.info.empty() ? "" : ": ", printable(one.info));
    }
    for (const std::string& left_out : method.left_out) line("  left out: {}", printable(left_out));
    if (info.delegation_by_operator.empty()) return;
    std::size_t width = 8;
    for (const auto& [target, count] : info.delegation_by_operator) {
      width = std::max(width, printable(target).size());
    }
    line("  {:{}}  delegated  left over", "operator", width);
    for (const auto& [target, count] : info.delegation_by_operator) {
      line("  {:{}}  {:9}  {:9}", printable(target), width, count.delegated, count.non_delegated);
    }
    line("  {:{}}  {:9}  {:9}", "total", width, info.num_delegated_nodes,
         info.num_non_delegated_nodes);
  }

  void write_variant(const Variant& variant) {
    line("variant {}, priority {}{}", printable(variant.name), variant.priority,
         variant.nbytes == 0 ? "" : ", " + counted(variant.nbytes, "byte"));
    for (const auto& [id, needs] : variant.needs) {
      std::string text = id;
      if (!needs.target.empty()) text += ", for " + needs.target;
      if (needs.payload_version != 0) {
        text += fmt::format(", payload version {}", needs.payload_version);
      }
      if (!needs.cpu_features.empty()) text += ", CPU features " + join(needs.cpu_features, ",");
      line("  needs {}", printable(text));
    }
  }

  void write_file(const WrittenFile& file) {
    line("{}: {}", printable(file.path), counted(file.nbytes, "byte"));
  }

  std::string out_;
};

}  // namespace

std::string to_text(const Report& report) { return Text().write(report); }

}  // namespace tenon::compile
