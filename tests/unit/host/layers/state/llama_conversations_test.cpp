// SPDX-License-Identifier: MIT
//
// Conversations with a Llama of ExecuTorch's exporter, whose keys and values are planned memory:
// for XNNPACK, which ExecuTorch's wheel has, and for GraphBackend. The programs are made by
// examples/applications/decode/make_model.py with --steps 0 --layers 2 --width 16 --places 48.
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host.hpp"
#include "tenon/host/sequence.hpp"
#include "unit/host/layers/state/conversation_stress.hpp"

using namespace tenon;
using namespace tenon::test;
using host::Conversations;
using host::ConversationsOptions;
using host::Method;
using host::RewindBy;
using host::Sequence;

namespace llama_conversations_test {
namespace {

constexpr int characters = 96;

struct Llama {
  explicit Llama(const std::string& name) {
    for (const char* plugin : {TENON_TEST_KERNELS, TENON_TEST_XNNPACK, TENON_TEST_GRAPH_BACKEND}) {
      const Status added = registry.register_backend(plugin);
      INFO(added.text());
      REQUIRE(added.ok());
    }
    auto program = host::Program::open(std::filesystem::path(TENON_TEST_FIXTURES) / "llama" / name);
    INFO(program.text());
    REQUIRE(program.ok());
    auto loaded = Method::load(*std::move(program), "forward", {.registry = &registry});
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    method = *std::move(loaded);
  }

  host::BackendRegistry registry;
  std::unique_ptr<Method> method;
};

/// The outputs of single runs are of a `Sequence` of another method.
class LlamaSubject final : public StressSubject {
 public:
  explicit LlamaSubject(const std::string& alone) : llama_(alone) {
    auto made =
        Sequence::create(*llama_.method, {.rewind_by = RewindBy::Position, .position_input = 1});
    REQUIRE(made.ok());
    sequence_ = *std::move(made);
  }

  int random_token(std::mt19937& random) const override {
    return static_cast<int>(random() % characters);
  }
  host::InputTensor input(int token, std::vector<std::byte>& bytes) const override {
    static const std::vector<std::int64_t> sizes{1, 1};
    const std::int64_t value = token;
    const auto as_bytes = std::as_bytes(std::span(&value, 1));
    bytes.assign(as_bytes.begin(), as_bytes.end());
    return {ScalarType::Long, sizes, bytes};
  }
  std::vector<std::byte> expected(const std::vector<int>& tokens) override {
    const std::lock_guard lock(mutex_);
    const auto [ours, theirs] =
        std::mismatch(done_.begin(), done_.end(), tokens.begin(), tokens.end());
    // The last token is run again, for its output.
    const std::size_t same =
        std::min(static_cast<std::size_t>(ours - done_.begin()), tokens.size() - 1);
    if (!sequence_->rewind(done_.size() - same).ok()) return {std::byte{}};
    done_.resize(same);
    std::vector<std::byte> bytes, output(characters * sizeof(float));
    for (std::size_t i = same; i < tokens.size(); ++i) {
      if (!llama_.method->set_input(0, input(tokens[i], bytes)).ok() ||
          !sequence_->execute().ok()) {
        return {std::byte{}};
      }
      done_.push_back(tokens[i]);
    }
    if (!llama_.method->read_output(0, output).ok()) return {std::byte{}};
    return output;
  }

 private:
  Llama llama_;
  std::unique_ptr<Sequence> sequence_;
  std::vector<int> done_;
  std::mutex mutex_;
};

}  // namespace

TEST_CASE("64 conversations over one Llama equal single runs, in memory that does not grow",
          "[conversations]") {
  struct Row {
    const char* name;
    const char* alone;
    std::size_t rows;
    std::size_t in_memory;  // States, at most; 0: no limit.
    RewindBy by;
  };
  for (const Row& row : {Row{"xnnpack.pte", "xnnpack.pte", 1, 0, RewindBy::Journal},
                         Row{"graph.pte", "graph.pte", 1, 48, RewindBy::Position},
                         Row{"xnnpack_rows.pte", "xnnpack.pte", 4, 0, RewindBy::Position}}) {
    const Llama llama(row.name);
    LlamaSubject subject(row.alone);
    const TemporaryDirectory directory;
    CAPTURE(row.name);
    const auto conversations = [&](std::uint64_t memory_bytes) {
      ConversationsOptions options{
          .rows = row.rows, .memory_bytes = memory_bytes, .directory = directory.path()};
      options.sequence.rewind_by = row.by;
      options.sequence.position_input = 1;
      auto made = Conversations::create(*llama.method, options);
      INFO(made.text());
      REQUIRE(made.ok());
      return *std::move(made);
    };
    // Each has a state of its own and no more; the weights and plugins are there before.
    std::uint64_t state = 0;
    {
      const auto all = conversations(0);
      std::vector<std::unique_ptr<host::Conversation>> many;
      const std::size_t before = mallinfo2().uordblks;
      for (int i = 0; i < 64; ++i) {
        auto opened = all->open();
        REQUIRE(opened.ok());
        many.push_back(*std::move(opened));
      }
      state = all->memory().bytes / 64;
      const std::size_t each = (mallinfo2().uordblks - before) / 64;
      CHECK(each < state + 1024);
      std::cerr << "# " << row.name << ": a state of " << state << " bytes, each conversation "
                << each;
    }
    const auto all = conversations(row.in_memory * state);
    // The first round makes what stays.
    std::size_t bytes[2] = {};
    for (const unsigned round : {0u, 1u}) {
      const auto problems = stress(*all, subject,
                                   {.threads = 2,
                                    .steps = round == 0 ? 1000u : 10000u,
                                    .seed = round,
                                    .has_journal = row.by == RewindBy::Journal});
      CAPTURE(problems.empty() ? std::string() : problems.front());
      CHECK(problems.empty());
      bytes[round] = mallinfo2().uordblks;
    }
    CHECK(bytes[1] < bytes[0] + 64 * 1024);
    std::cerr << "; the process " << bytes[0] << " after 1,000 steps, " << bytes[1]
              << " after 11,000\n";
  }
}

}  // namespace llama_conversations_test
