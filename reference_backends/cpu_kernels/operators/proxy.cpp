// SPDX-License-Identifier: MIT
#include "operators/proxy.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "operators/arguments.hpp"
#include "operators/found_call.hpp"
#include "operators/read_found_call.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/lists.hpp"

namespace tenon::cpu_aoti {
namespace {

/// A call that the operator's code here runs, or a kernel of another plugin.
struct PreparedCall {
  const OperatorKernel* kernel = nullptr;
  std::vector<PreparedArgument> arguments{};  ///< One for each parameter.
  std::size_t num_integers = 0;
  std::size_t num_inputs = 0;  ///< Tensors before the results.
  std::unique_ptr<const FoundCall> found{};
};

/// Reads one call. The model passes, in the order of the operator's schema, the tensors and the
/// integers; everything else is in the description (PyTorch: `OSSProxyExecutor`).
class CallReader {
 public:
  CallReader(const OperatorKernel& kernel, const JsonAt& node) : kernel_(kernel), node_(node) {}

  Result<PreparedCall> read() && {
    call_.kernel = &kernel_;
    call_.arguments.resize(kernel_.parameters.size());
    TENON_TRY(const JsonAt inputs, node_.array("inputs"));
    TENON_RETURN_IF_ERROR(
        inputs.each_element([&](const JsonAt& input) { return read_input(input); }));
    for (std::size_t i = 0; i < call_.arguments.size(); ++i) {
      const Parameter& parameter = kernel_.parameters[i];
      if (call_.arguments[i].is_given || parameter.may_be_missing) continue;
      return node_.wrong("has no argument '", parameter.name, "'");
    }
    TENON_TRY(const JsonAt outputs, node_.array("outputs"));
    bool all_tensors = true;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      all_tensors = all_tensors && outputs[i].find("as_tensor");
    }
    if (all_tensors && outputs.size() == kernel_.num_results) return std::move(call_);
    return node_.wrong("expected ", kernel_.num_results, " tensors as outputs, found ",
                       outputs.size(), all_tensors ? "" : ", not all of them tensors");
  }

 private:
  Status read_input(const JsonAt& input) {
    TENON_TRY(const std::string name, input.text("name"));
    TENON_TRY(const JsonAt arg, input.member("arg"));
    TENON_TRY(const auto value, arg.only_member());
    const auto found = std::ranges::find(kernel_.parameters, name, &Parameter::name);
    if (found == kernel_.parameters.end()) {
      return node_.not_supported("has an argument '", name, "', which is not known");
    }
    const auto index = static_cast<std::size_t>(found - kernel_.parameters.begin());
    // The model passes arguments in the order of the schema; another order would mix them up.
    if (index < next_) {
      return node_.wrong("argument '", name, "' is behind a later one, or there twice");
    }
    next_ = index + 1;
    return read_value(*found, call_.arguments[index], value.first, value.second.json());
  }

  Status read_value(const Parameter& parameter, PreparedArgument& out, const std::string& type,
                    const JsonAt::Json& value) {
    const bool is_integer = type == "as_int" || type == "as_sym_int";
    if (type == "as_none") {
      if (parameter.may_be_missing) return ok();
    } else if (parameter.type == ParameterType::tensor && type == "as_tensor") {
      return take(out, call_.num_inputs, 1);
    } else if (parameter.type == ParameterType::integer && is_integer) {
      return take(out, call_.num_integers, 1);
    } else if (parameter.type == ParameterType::integers &&
               (type == "as_ints" || type == "as_sym_ints") && value.is_array()) {
      return take(out, call_.num_integers, value.size());
    } else if (parameter.type == ParameterType::flag && type == "as_bool" && value.is_boolean()) {
      out.flag = value.get<bool>();
      return take(out, call_.num_integers, 0);
    } else if (parameter.type == ParameterType::number && type == "as_float" && value.is_number()) {
      out.number = value.get<double>();
      return take(out, call_.num_integers, 0);
    } else if (parameter.type == ParameterType::text && type == "as_string" && value.is_string()) {
      out.text = value.get<std::string>();
      return take(out, call_.num_integers, 0);
    }
    return node_.not_supported("argument '", parameter.name, "' has the type ", type,
                               ", for which there is no code here");
  }

  static Status take(PreparedArgument& out, std::size_t& total, std::size_t count) {
    out.is_given = true;
    out.first = total;
    out.count = count;
    total += count;
    return ok();
  }

  const OperatorKernel& kernel_;
  const JsonAt& node_;
  PreparedCall call_;
  std::size_t next_ = 0;  ///< The first parameter that may come.
};

class Proxy final : public aoti::ProxyExecutor {
 public:
  explicit Proxy(std::vector<PreparedCall> calls) noexcept : calls_(std::move(calls)) {}

  Status call(std::size_t index, std::span<const std::int64_t> integers,
              std::span<ModelTensor* const> tensors) const override {
    if (index >= calls_.size()) {
      return error(Error::InvalidProgram, "number ", index, ": the description has ",
                   calls_.size());
    }
    const PreparedCall& call = calls_[index];
    if (call.found) return call.found->run(integers, tensors);
    const OperatorKernel& kernel = *call.kernel;
    if (integers.size() != call.num_integers ||
        tensors.size() != call.num_inputs + kernel.num_results) {
      return error(Error::InvalidProgram, "number ", index, ", ", kernel.name, ": expected ",
                   call.num_integers, " integers and ", call.num_inputs, " + ", kernel.num_results,
                   " tensors, the model passes ", integers.size(), " and ", tensors.size());
    }
    std::array<OwnedTensor, max_results> own{OwnedTensor(nullptr), OwnedTensor(nullptr),
                                             OwnedTensor(nullptr), OwnedTensor(nullptr)};
    const OperatorResults results = std::span(own).first(kernel.num_results);
    TENON_RETURN_IF_ERROR(kernel.run(OperatorArguments(call.arguments, integers, tensors), results)
                              .with_context(kernel.name));
    const auto handles = tensors.subspan(call.num_inputs);
    // The handle gets the result, and what it had is released with the other object.
    for (std::size_t i = 0; i < results.size(); ++i) std::swap(*handles[i], *results[i]);
    return ok();
  }

 private:
  std::vector<PreparedCall> calls_;
};

/// Names of operators that have no code, each once, in the order of their first calls.
class MissingOperators {
 public:
  /// `answer` is the answer of other plugins; empty when they were not asked.
  void add(std::string name, std::string_view answer) {
    const auto [at, is_new] = all_.insert(std::move(name));
    if (is_new && listed_.size() < most_listed) {
      listed_.push_back(*at);
      add_answer(answer);
    }
    if (answer.empty()) is_undescribed_ = true;
  }

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

  [[nodiscard]] Status refusal() const {
    std::string names = tenon::join(listed_, ", "), answers;
    for (const std::string& answer : answers_) answers += concat("; ", answer);
    if (all_.size() > listed_.size()) {
      names += concat(" and ", all_.size() - listed_.size(), " more");
    }
    return error(Error::OperatorMissing, "no code here for ", all_.size(),
                 all_.size() == 1 ? " operator: " : " operators: ", names,
                 "; have them decomposed when the model is exported (docs/aoti/operators.md)",
                 is_undescribed_
                     ? ", or compile it with tenon.aoti.describe_calls, so that kernels "
                       "of other plugins can run them"
                     : "",
                 answers);
  }

 private:
  static constexpr std::size_t most_listed = 32;
  static constexpr std::size_t longest_answer = 512;

  void add_answer(std::string_view answer) {
    std::size_t end = std::min(answer.size(), longest_answer);
    // Characters of UTF-8 stay whole.
    while (end < answer.size() && end > 0 && (answer[end] & 0xc0) == 0x80) --end;
    std::string text = concat(answer.substr(0, end), end < answer.size() ? " ..." : "");
    if (!text.empty() && std::ranges::find(answers_, text) == answers_.end()) {
      answers_.push_back(std::move(text));
    }
  }

  std::unordered_set<std::string> all_;
  std::vector<std::string> listed_;
  std::vector<std::string> answers_;  // Of those listed, each text once.
  bool is_undescribed_ = false;
};

/// The call of an operator without code here, when a plugin has a kernel for it. OperatorMissing
/// has all reasons for which another operator may still be looked for.
Result<std::unique_ptr<const FoundCall>> find_call(const InitContext* context, const JsonAt& node,
                                                   const std::string& target, std::size_t number) {
  if (!context || !FoundKernel::is_offered_by(HostServices(context->raw().host))) {
    return error(Error::OperatorMissing, "the host has no kernels of other plugins");
  }
  auto plan = read_found_call(node, target);
  if (plan.error() == Error::NotSupported) return error(Error::OperatorMissing, plan.text());
  if (!plan.ok()) return std::move(plan).status();
  if (!*plan) return error(Error::OperatorMissing, "");
  auto found = FoundCall::find(*context, **std::move(plan), number);
  if (found.ok() || found.error() == Error::OperatorMissing) return found;
  return std::move(found).status().with_context(node.place());
}

}  // namespace

Result<std::unique_ptr<const aoti::ProxyExecutor>> make_proxy(std::string_view description,
                                                              const InitContext* context) {
  constexpr std::string_view name = "the description";
  TENON_TRY(const auto json,
            parse_json_object(description, name, Error::InvalidProgram, description_limits));
  TENON_TRY(const JsonAt nodes, JsonAt(json, name, Error::InvalidProgram).array("nodes"));
  constexpr std::size_t most_calls = std::size_t{1} << 16;
  if (nodes.size() > most_calls) {
    return error(Error::OutOfResources, "a description of ", nodes.size(),
                 " calls: expected at most ", most_calls);
  }
  std::vector<PreparedCall> calls;
  MissingOperators missing;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    TENON_TRY(const JsonAt described, nodes[i].member("node", "an object"));
    TENON_TRY(const JsonAt target_at, described.member("target", "a text"));
    TENON_TRY(const std::string_view name_of_operator, target_at.characters());
    std::string target(name_of_operator);
    if (!FoundKernel::is_operator_name(target)) {
      return target_at.wrong_type("the name of an operator");
    }
    // Errors name the operator, which says more than the path to it.
    const std::string call = concat("call ", i, ", ", target);
    const JsonAt node(described.json(), call, Error::InvalidProgram);
    const OperatorKernel* kernel = find_operator(target);
    if (!kernel) {
      auto found = find_call(context, node, target, i);
      if (found.ok()) {
        calls.push_back({.found = *std::move(found)});
      } else if (found.error() == Error::OperatorMissing) {
        missing.add(std::move(target), found.text());
      } else {
        return std::move(found).status();
      }
      continue;
    }
    if (kernel->load) TENON_RETURN_IF_ERROR(kernel->load().with_context(kernel->name));
    TENON_TRY(PreparedCall prepared, CallReader(*kernel, node).read());
    calls.push_back(std::move(prepared));
  }
  if (!missing.empty()) return missing.refusal();
  return std::make_unique<const Proxy>(std::move(calls));
}

}  // namespace tenon::cpu_aoti
