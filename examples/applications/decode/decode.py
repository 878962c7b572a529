# SPDX-License-Identifier: MIT
"""Decodes text with a model whose keys and values are in the program: decode.py MODEL.pte PLUGIN.so...

The prompt is run once, and answers are forks of it. With `--draft`, a smaller model guesses characters, which the model
checks together; what it would not have said is rewound. The text is the same, and sooner there. Plugins have the
backends and kernels of the programs. `--check` compares bits, and prints times as JSON.
"""

import argparse
import json
import time

import numpy as np
import tenon

PROMPT = "The project "
MOST = 8  # Characters of a run (make_model.py --tokens).
AHEAD = 4  # Characters that the draft guesses.


def encode(text):
    """Numbers of the characters, as make_model.py has them."""
    return [0 if c == "\n" else ord(c) - 31 if " " <= c <= "~" else 1 for c in text]


def decode(numbers):
    """The text of the numbers."""
    return "".join("\n" if n == 0 else chr(n + 31) for n in numbers)


def load(model, plugins):
    """Conversations with the model. Their keys and values are indexed by the place, so that a rewind only counts."""
    return tenon.load(model, plugins=plugins)["forward"].conversations(rewind_by="position", capacity=384)


def step(text, numbers):
    """Continues the text by these characters; the logits of what follows each."""
    place = np.arange(text.position, text.position + len(numbers), dtype=np.int64)
    return np.asarray(text(np.array([numbers], np.int64), place[None], tokens=len(numbers)))[0]


def run_prompt(text, prompt):
    """The logits after the prompt."""
    numbers = encode(prompt)
    for at in range(0, len(numbers), MOST):
        logits = step(text, numbers[at:at + MOST])[-1]
    return logits


def sample(logits, random, temperature=0.7):
    """The number of the next character; without a source of random numbers the likeliest."""
    if random is None:
        return int(np.argmax(logits))
    weights = np.exp((logits - logits.max()) / temperature)
    return int(random.choice(len(weights), p=weights / weights.sum()))


def answer(text, logits, count, random=None):
    """Continues the text by `count` characters."""
    numbers = []
    while len(numbers) < count:
        numbers.append(sample(logits, random))
        logits = step(text, numbers[-1:])[-1]
    return numbers


def speculate(text, draft, logits, count):
    """The likeliest `count` characters; how many were guessed, and how many of these were right. `draft` is a
    conversation of another model with the same characters."""
    numbers, guessed, right = [int(np.argmax(logits))], 0, 0
    unread = numbers[:]  # By the draft.
    while len(numbers) < count:
        guesses = []
        for _ in range(AHEAD):
            guesses.append(int(np.argmax(step(draft, unread)[-1])))
            unread = guesses[-1:]
        said = np.argmax(step(text, numbers[-1:] + guesses), axis=-1).tolist()
        same = next((i for i in range(AHEAD) if guesses[i] != said[i]), AHEAD)
        text.rewind(AHEAD - same)
        draft.rewind(max(AHEAD - 1 - same, 0))
        numbers += said[:same + 1]
        unread = numbers[-2:] if same == AHEAD else numbers[-1:]
        guessed, right = guessed + AHEAD, right + same
    return numbers[:count], guessed, right


def rate(count, act):
    """What `act` returns, and characters a second, the most of three times."""
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        found = act()
        seconds.append(time.perf_counter() - begin)
    return found, count / min(seconds)


def compare(model, draft, plugins, count=200):
    """With the draft and without: equal characters, the share of right guesses, characters a second."""
    texts, drafts = load(model, plugins), load(draft, plugins)
    text, small = texts.open(), drafts.open()
    logits = run_prompt(text, PROMPT)
    run_prompt(small, PROMPT)
    alone, slow = rate(count, lambda: answer(text.fork(), logits, count))
    (numbers, guessed, right), fast = rate(count, lambda: speculate(text.fork(), small.fork(), logits, count))
    assert numbers == alone, "with the draft, other characters"
    return {"characters": count, "accepted": round(right / guessed, 3), "alone_per_second": round(slow),
            "with_draft_per_second": round(fast), "text": decode(numbers)}


def show(model, plugins):
    """A prompt and its answers."""
    conversations = load(model, plugins)
    prompt = conversations.open()
    logits = run_prompt(prompt, PROMPT)
    stored = prompt.save()
    print(f"prompt: {PROMPT!r}, {prompt.position} places, {conversations.memory['bytes']} bytes")
    length = 60
    print(f"likeliest: {decode(answer(prompt.fork(), logits, length))!r}")
    for seed in (1, 2):
        print(f"seed {seed}: {decode(answer(prompt.fork(), logits, length, np.random.default_rng(seed)))!r}")
    for name in ("is ", "has "):
        branch = prompt.fork()
        print(f"branch: {name + decode(answer(branch, run_prompt(branch, name), length))!r}")
    print(f"taken up: {decode(answer(load(model, plugins).restore(stored), logits, length))!r}")


def least(times, act):
    """Milliseconds, the least of several."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        act()
        found.append(time.perf_counter() - begin)
    return round(min(found) * 1e3, 4)


def check(model, plugins):
    """256 characters, back by 100, and again: equal bits. A fork. Times."""
    method = tenon.load(model, plugins=plugins)["forward"]
    conversations = method.conversations(capacity=384)
    one = conversations.open()
    text = encode((PROMPT * 30)[:256])
    first = [step(one, [number]).tobytes() for number in text]
    one.rewind(100)
    again = [step(one, [number]).tobytes() for number in text[156:]]
    assert again == first[156:], "after going back, other bits"
    branch = one.fork()
    branch.rewind(200)
    assert [step(branch, [n]).tobytes() for n in text[56:]] == first[56:], "a fork computes other bits"
    other = [step(branch, [n]) for n in encode("another text")]
    one.rewind(10)
    assert [step(one, [n]).tobytes() for n in text[246:]] == first[246:], "a fork disturbs"
    assert len(other) == 12
    stored = one.save()

    counted = load(model, plugins)
    two = [counted.open(), counted.open()]
    plain = tenon.load(model, plugins=plugins)["forward"]
    number, place = np.array([[5]], np.int64), np.array([[200]], np.int64)
    turn = iter(range(10**6))
    print(json.dumps({
        "state_bytes": counted.memory["bytes"] // 2,
        "run_ms": least(50, lambda: plain(number, place)),
        "run_with_position_ms": least(50, lambda: two[0](number, place)),
        "run_with_journal_ms": least(50, lambda: one(number, place)),
        "run_in_turns_ms": least(50, lambda: two[next(turn) % 2](number, place)),
        "rewind_1_ms": least(50, lambda: one.rewind(1)),
        "fork_ms": least(20, one.fork),
        "save_ms": least(20, one.save),
        "restore_ms": least(20, lambda: conversations.restore(stored)),
    }))


def main():
    """Shows, or checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("plugins", nargs="*")
    parser.add_argument("--draft", help="a smaller model, which guesses")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.draft:
        print(json.dumps(compare(arguments.model, arguments.draft, arguments.plugins)))
    else:
        (check if arguments.check else show)(arguments.model, arguments.plugins)


main()
