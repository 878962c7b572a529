// SPDX-License-Identifier: MIT
// Two conversations with one model, whose weights are loaded once: chat --help
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tenon/host.hpp>
#include <tenon/host/sequence.hpp>
#include <utility>
#include <vector>

#include "tokenizer.hpp"

namespace {

using tenon::Error;
using tenon::ok;
using tenon::Result;
using tenon::Status;
using Clock = std::chrono::steady_clock;
namespace host = tenon::host;

constexpr std::size_t num_conversations = 2;
constexpr const char* about =
    "Two conversations with one model, whose weights are loaded once.\n\n"
    "A line speaks in the conversation of the line before, or begins with the number of the other "
    "one: '2: Hello.' Each has its own state. '/undo' takes the last line and its reply back, "
    "'/new' begins anew.";

struct Arguments {
  std::string model, tokenizer, script;
  std::vector<std::string> plugins;
  bool tokens = false;
};

/// Loads the method, and draws a bar meanwhile, where someone sees it.
Result<std::unique_ptr<host::Method>> load(const std::shared_ptr<const host::Program>& program,
                                           const host::BackendRegistry& registry) {
  TENON_TRY(const auto meta, host::MethodMeta::of(*program, "forward"));
  // [progress]
  const host::LoadProgress progress;
  host::MethodOptions options{.registry = &registry};
  options.layers.add(progress);
  auto loading = std::async(std::launch::async, [&] {
    return host::Method::load(program, "forward", std::move(options));
  });
  // [progress]
  constexpr std::size_t width = 40;
  const auto draw = [&](const char* end) {
    const std::size_t total = meta.num_delegates(), loaded = progress.num_loaded();
    std::string bar(total == 0 ? width : width * loaded / total, '#');
    bar.resize(width, '.');
    std::fprintf(stderr, "\rloading [%s] %zu of %zu delegates%s", bar.c_str(), loaded, total, end);
  };
  if (::isatty(STDERR_FILENO) == 0) return loading.get();
  while (loading.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) draw("");
  draw("\n");
  return loading.get();
}

/// Refuses a program that does not make logits of `num_tokens` tokens from tokens and their places.
Status check(const host::Program& program, std::size_t num_tokens) {
  TENON_TRY(const auto meta, host::MethodMeta::of(program, "forward"));
  TENON_TRY(const auto logits, meta.output_tensor_meta(0));
  const auto& sizes = logits.layout.sizes;
  if (meta.num_inputs() == 2 && logits.layout.scalar_type == tenon::ScalarType::Float &&
      sizes.size() == 3 && sizes[0] == 1 && static_cast<std::size_t>(sizes[2]) == num_tokens) {
    return ok();
  }
  return tenon::error(Error::InvalidProgram, "method forward: expected logits of the ", num_tokens,
                      " tokens of the tokenizer, from tokens and places of one text");
}

/// An integer that a method without inputs returns, as ExecuTorch's programs of Llama have them.
Result<std::uint64_t> fact(const std::shared_ptr<const host::Program>& program, const char* name) {
  TENON_TRY(const auto method, host::Method::load(program, name));
  TENON_RETURN_IF_ERROR(method->execute());
  const tenon_value* const value = method->num_outputs() == 1 ? &method->output(0) : nullptr;
  if (value && value->kind == TENON_VALUE_INT && value->as.integer > 0) {
    return static_cast<std::uint64_t>(value->as.integer);
  }
  return tenon::error(Error::InvalidProgram, "method ", name, ": expected one integer above 0");
}

class Chat {
 public:
  static Result<Chat> open(const Arguments& arguments, const host::BackendRegistry& registry) {
    Chat out;
    out.shows_tokens_ = arguments.tokens;
    std::ifstream file(arguments.tokenizer, std::ios::binary);
    const std::string json{std::istreambuf_iterator(file), {}};
    if (!file) return tenon::error(Error::AccessFailed, arguments.tokenizer, ": cannot be read");
    TENON_TRY(out.tokenizer_, chat::Tokenizer::read(json, arguments.tokenizer));
    TENON_TRY(out.person_, out.tokenizer_.special("<|person|>"));
    TENON_TRY(out.reply_, out.tokenizer_.special("<|reply|>"));

    TENON_TRY(const auto program, host::Program::open(arguments.model));
    TENON_RETURN_IF_ERROR(check(*program, out.tokenizer_.num_tokens()));
    TENON_TRY(out.most_, fact(program, "get_max_seq_len"));
    TENON_TRY(out.places_, fact(program, "get_max_context_len"));
    TENON_TRY(out.method_, load(program, registry));
    // [conversations]
    // Keys and values are indexed by the place, so that a rewind need only count.
    const host::SequenceOptions counted{.rewind_by = host::RewindBy::Position,
                                        .capacity = out.places_};
    TENON_TRY(out.conversations_, host::Conversations::create(*out.method_, {.sequence = counted}));
    for (Talk& talk : out.talks_) {
      TENON_TRY(talk.text, out.conversations_->open());
    }
    // [conversations]
    return out;
  }

  /// Reads lines to the end. Returns whether all were answered.
  bool run(std::istream& lines, bool is_typed) {
    std::size_t number = 1;
    bool all = true;
    for (std::string line;;) {
      if (is_typed) std::printf("%zu> ", number);
      std::fflush(stdout);
      if (!std::getline(lines, line)) break;
      const Status status = answer(line, number, is_typed);
      if (status.ok()) continue;
      std::fprintf(stderr, "chat: %s\n", tenon::describe(status).c_str());
      all = false;
    }
    const double seconds = std::chrono::duration<double>(spent_).count();
    std::fprintf(stderr, "%s%llu tokens, %.0f a second\n", is_typed ? "\n" : "",
                 static_cast<unsigned long long>(num_tokens_),
                 num_tokens_ == 0 ? 0 : static_cast<double>(num_tokens_) / seconds);
    return all;
  }

 private:
  struct Talk {
    std::unique_ptr<host::Conversation> text;
    std::vector<std::uint64_t> begins;  // Where each line that was answered begins.
  };

  Chat() = default;

  Status answer(std::string_view line, std::size_t& number, bool is_typed) {
    const auto colon = line.find_first_not_of("0123456789");
    if (colon != 0 && colon != std::string_view::npos && line[colon] == ':') {
      std::size_t named = 0;
      std::from_chars(line.data(), line.data() + colon, named);
      if (named < 1 || named > talks_.size()) {
        return tenon::error(Error::InvalidArgument, "expected a conversation from 1 to ",
                            talks_.size(), ", found ", line.substr(0, colon));
      }
      number = named;
      line.remove_prefix(colon + 1);
    }
    constexpr const char* blanks = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    if (line.empty()) return ok();
    Talk& talk = talks_[number - 1];
    if (line == "/new") {
      TENON_TRY(talk.text, conversations_->open());
      talk.begins.clear();
      return ok();
    }
    if (line == "/undo") {
      if (talk.begins.empty()) return ok();
      TENON_RETURN_IF_ERROR(talk.text->rewind(talk.text->position() - talk.begins.back()));
      talk.begins.pop_back();
      return ok();
    }
    const auto begin = Clock::now();
    TENON_RETURN_IF_ERROR(turn(talk, number, line, is_typed));
    spent_ += Clock::now() - begin;
    return ok();
  }

  /// A line and its reply, which is printed as it comes.
  Status turn(Talk& talk, std::size_t number, std::string_view line, bool is_typed) {
    const std::uint64_t read = talk.text->position();
    std::vector<std::int64_t> asked;
    // Without encoding what cannot fit: that takes the square of a word's length.
    if (line.size() <= places_ * tokenizer_.most_bytes()) asked = tokenizer_.encode(line);
    asked.insert(asked.begin(), person_);
    asked.push_back(reply_);
    if (asked.size() == 2 || read + asked.size() > places_) {
      return tenon::error(Error::OutOfResources, "conversation ", number, " has ", read, " of ",
                          places_, " tokens: the line does not fit; /new begins it anew");
    }
    talk.begins.push_back(read);
    if (!is_typed) {
      std::printf("%zu> %.*s\n", number, static_cast<int>(line.size()), line.data());
    }
    std::printf("%zu: ", number);
    std::span<const std::int64_t> rest(asked);
    for (; rest.size() > most_; rest = rest.subspan(most_)) {
      TENON_RETURN_IF_ERROR(step(*talk.text, rest.first(most_)).status());
    }
    TENON_TRY(std::int64_t next, step(*talk.text, rest));
    std::vector<std::int64_t> answer;
    while (next != person_ && talk.text->position() < places_) {
      answer.push_back(next);
      ++num_tokens_;
      const std::string_view bytes = tokenizer_.bytes(next);
      std::fwrite(bytes.data(), 1, bytes.size(), stdout);
      std::fflush(stdout);
      TENON_TRY(next, step(*talk.text, std::span(&answer.back(), 1)));
    }
    std::printf("\n");
    if (!shows_tokens_) return ok();
    std::printf("%zu#", number);
    for (const std::int64_t token : asked) std::printf(" %lld", static_cast<long long>(token));
    std::printf(" ->");
    for (const std::int64_t token : answer) std::printf(" %lld", static_cast<long long>(token));
    std::printf("\n");
    return ok();
  }

  /// Continues a text by at most a run's tokens; the likeliest token after them.
  Result<std::int64_t> step(host::Conversation& text, std::span<const std::int64_t> tokens) {
    std::vector<std::int64_t> places(tokens.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i] = static_cast<std::int64_t>(text.position() + i);
    }
    const std::array sizes{std::int64_t{1}, static_cast<std::int64_t>(tokens.size())};
    const std::array<host::InputTensor, 2> inputs{
        {{tenon::ScalarType::Long, sizes, std::as_bytes(tokens)},
         {tenon::ScalarType::Long, sizes, std::as_bytes(std::span(places))}}};
    TENON_RETURN_IF_ERROR(text.execute(inputs, std::span(&logits_, 1), tokens.size()));
    const std::size_t num_tokens = tokenizer_.num_tokens();
    std::vector<float> last(num_tokens);
    std::memcpy(last.data(),
                logits_.bytes.data() + logits_.bytes.size() - num_tokens * sizeof(float),
                num_tokens * sizeof(float));
    return std::ranges::max_element(last) - last.begin();
  }

  chat::Tokenizer tokenizer_;
  std::int64_t person_ = 0, reply_ = 0;
  std::uint64_t most_ = 0, places_ = 0;  // Tokens of a run, and of a conversation.
  std::unique_ptr<host::Method> method_;
  std::unique_ptr<host::Conversations> conversations_;  // Destroyed before the method.
  std::array<Talk, num_conversations> talks_;
  host::StepOutput logits_;
  bool shows_tokens_ = false;
  std::uint64_t num_tokens_ = 0;
  Clock::duration spent_{};
};

Result<bool> run(const Arguments& arguments) {
  host::BackendRegistry registry;
  for (const std::string& plugin : arguments.plugins) {
    TENON_RETURN_IF_ERROR(registry.register_backend(plugin));
  }
  std::ifstream script;
  if (!arguments.script.empty()) {
    script.open(arguments.script);
    if (!script) return tenon::error(Error::AccessFailed, arguments.script, ": cannot be read");
  }
  TENON_TRY(Chat chat, Chat::open(arguments, registry));
  if (!arguments.script.empty()) return chat.run(script, false);
  return chat.run(std::cin, ::isatty(STDIN_FILENO) == 1);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(about);
  app.add_option("model", arguments.model, "the program, model.pte")->required();
  app.add_option("tokenizer", arguments.tokenizer, "tokenizer.json")->required();
  app.add_option("plugins", arguments.plugins, "files with its backends and kernels");
  app.add_option("--script", arguments.script, "a file with the lines, instead of standard input");
  app.add_flag("--tokens", arguments.tokens, "print the tokens of each line and its reply");
  CLI11_PARSE(app, argc, argv);
  Result<bool> done = run(arguments);
  if (done.ok()) return *done ? 0 : 1;
  const Status failure = std::move(done).status();
  std::fprintf(stderr, "chat: %s\n", tenon::describe(failure).c_str());
  return 1;
}
