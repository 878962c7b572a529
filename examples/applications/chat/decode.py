# SPDX-License-Identifier: MIT
"""Decodes with a model whose keys and values are in the program: decode.py MODEL.pte PLUGIN.so... [OPTION]

The replies of expected.json, and tokens a second. With `--draft`, a smaller model guesses tokens, which the model checks
together; what it would not have said is rewound. The tokens are the same, and sooner there. `--check` compares bits after
going back and after forks, and prints times. Needs no tokenizer: expected.json has the tokens.
"""

import argparse
import json
import pathlib
import time

import numpy as np
import tenon

RECORDED = json.loads((pathlib.Path(__file__).resolve().parent / "expected.json").read_text(encoding="utf-8"))
AHEAD = 4  # Tokens that the draft guesses.


class Model:
    """A program of make_model.py: its method, the most tokens of a run and of a conversation, and conversations."""

    def __init__(self, program, plugins, progress=None, rewind_by="position"):
        loaded = tenon.load(program, plugins=plugins)
        self.most, self.places = (int(loaded[f"get_max_{name}_len"]()) for name in ("seq", "context"))
        self.method = loaded.load_method("forward", progress=progress)
        # Keys and values are indexed by the place, so that a rewind need only count.
        self.conversations = self.method.conversations(rewind_by=rewind_by, capacity=self.places)

    def read(self, text, tokens):
        """Continues the text by these tokens; the logits of what follows them."""
        for at in range(0, len(tokens), self.most):
            logits = step(text, tokens[at:at + self.most])
        return logits[-1]


def step(text, tokens):
    """Continues the text by at most a run's tokens; the logits of what follows each."""
    place = np.arange(text.position, text.position + len(tokens), dtype=np.int64)
    return np.asarray(text(np.array([tokens], np.int64), place[None], tokens=len(tokens)))[0]


def answer(model, text, asked):
    """The likeliest tokens after `asked`, up to the one that `asked` began with: it is the other's turn."""
    tokens, logits = [], model.read(text, asked)
    while (token := int(np.argmax(logits))) != asked[0] and text.position < model.places:
        tokens.append(token)
        logits = step(text, [token])[-1]
    return tokens


class Draft:
    """A smaller model with the same tokens, which reads a text too and guesses what follows. Counts what it guessed, and
    what was right."""

    def __init__(self, model):
        self.model, self.text, self.unread, self.guessed, self.right = model, model.conversations.open(), [], 0, 0

    def guess(self, tokens, count):
        """What follows `tokens`."""
        guesses, self.unread = [], self.unread + tokens
        for _ in range(count):
            guesses.append(int(np.argmax(self.model.read(self.text, self.unread))))
            self.unread = guesses[-1:]
        return guesses

    def judge(self, guesses, right):
        """So many were right."""
        self.guessed, self.right = self.guessed + len(guesses), self.right + right
        if right < len(guesses):
            self.text.rewind(len(guesses) - 1 - right)  # It did not read its last guess.
            self.unread = []


def speculate(model, text, draft, asked):
    """As `answer`: each run of the model reads the token that it said last, and guesses of what follows."""
    tokens, last = [], int(np.argmax(model.read(text, asked)))
    unread = asked + [last]
    while last != asked[0] and text.position < model.places:
        guesses = draft.guess(unread, min(AHEAD, model.places - 1 - text.position))
        said = np.argmax(step(text, [last] + guesses), axis=-1).tolist()
        right = next((i for i, guess in enumerate(guesses) if guess == asked[0] or guess != said[i]), len(guesses))
        text.rewind(len(guesses) - right)
        draft.judge(guesses, right)
        tokens += [last] + guesses[:right]
        last = said[right]
        unread = [last]
    draft.unread += unread[:-1]
    return tokens


def replies(model, speak):
    """What `speak(text, number, asked)` says in the recorded dialogue, which is checked; tokens a second, the most of three
    times."""
    seconds = []
    for _ in range(3):
        texts = {turn["conversation"]: model.conversations.open() for turn in RECORDED["dialogue"]}
        begin = time.perf_counter()
        said = [speak(texts[turn["conversation"]], turn["conversation"], turn["asked"]) for turn in RECORDED["dialogue"]]
        seconds.append(time.perf_counter() - begin)
        assert said == [turn["answer"] for turn in RECORDED["dialogue"]], "other tokens than PyTorch's"
    return round(sum(map(len, said)) / min(seconds))


def compare(program, draft, plugins):
    """With the draft and without: the share of right guesses, tokens a second."""
    model, small, drafts = Model(program, plugins), Model(draft, plugins), {}

    def guided(text, number, asked):
        if text.position == 0:
            drafts[number] = Draft(small)
        return speculate(model, text, drafts[number], asked)

    alone = replies(model, lambda text, _, asked: answer(model, text, asked))
    fast = replies(model, guided)
    guessed, right = (sum(getattr(each, name) for each in drafts.values()) for name in ("guessed", "right"))
    return {"accepted": round(right / guessed, 3), "alone_per_second": alone, "with_draft_per_second": fast}


def least(times, act):
    """Milliseconds, the least of several."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        act()
        found.append(time.perf_counter() - begin)
    return round(min(found) * 1e3, 4)


def check(program, plugins):
    """200 tokens, back by 100, and again: equal bits. A fork. Times."""
    journaled, counted = (Model(program, plugins, rewind_by=by) for by in ("journal", "position"))
    one = journaled.conversations.open()
    tokens = ([token for turn in RECORDED["dialogue"] for token in turn["asked"] + turn["answer"]] * 2)[:200]
    first = [step(one, [token]).tobytes() for token in tokens]
    one.rewind(100)
    assert [step(one, [token]).tobytes() for token in tokens[100:]] == first[100:], "after going back, other bits"
    branch = one.fork()
    branch.rewind(150)
    assert [step(branch, [token]).tobytes() for token in tokens[50:]] == first[50:], "a fork computes other bits"
    for token in tokens[:20]:
        step(branch, [token])
    one.rewind(10)
    assert [step(one, [token]).tobytes() for token in tokens[190:]] == first[190:], "a fork disturbs"
    stored = one.save()
    assert journaled.conversations.restore(stored).position == 200

    method = tenon.load(program, plugins=plugins)["forward"]
    two = [counted.conversations.open(), counted.conversations.open()]
    token, place = np.array([[5]], np.int64), np.array([[200]], np.int64)
    turn = iter(range(10**6))
    return {
        "state_bytes": counted.conversations.memory["bytes"] // 2,
        "run_ms": least(50, lambda: method(token, place)),
        "run_with_position_ms": least(50, lambda: two[0](token, place)),
        "run_with_journal_ms": least(50, lambda: one(token, place)),
        "run_in_turns_ms": least(50, lambda: two[next(turn) % 2](token, place)),
        "rewind_1_ms": least(50, lambda: one.rewind(1)),
        "fork_ms": least(20, one.fork),
        "save_ms": least(20, one.save),
        "restore_ms": least(20, lambda: journaled.conversations.restore(stored)),
    }


def main():
    """Checks and measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("plugins", nargs="*")
    parser.add_argument("--draft", help="a smaller model, which guesses")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.draft:
        print(json.dumps(compare(given.model, given.draft, given.plugins)))
    elif given.check:
        print(json.dumps(check(given.model, given.plugins)))
    else:
        model = Model(given.model, given.plugins)
        print(json.dumps({"per_second": replies(model, lambda text, _, asked: answer(model, text, asked))}))


if __name__ == "__main__":
    main()
