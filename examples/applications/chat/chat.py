# SPDX-License-Identifier: MIT
"""Two conversations with one model, at the same time: chat.py MODEL.pte TOKENIZER.json PLUGIN.so... [OPTION]

A line speaks in the conversation of the line before, or begins with the number of the other one: `2: Hello.` Each
conversation has its own state; neither waits for the other's replies, which come token by token. The weights are loaded
once. `/undo` takes the last line and its reply back, `/new` begins anew. Needs the package `tokenizers` from PyPI.
"""

import argparse
import asyncio
import pathlib
import re
import sys
import time

import numpy as np
import tenon
from decode import Model, step

CONVERSATIONS = 2


def read_tokenizer(path):
    """Of the package `tokenizers`. What a person types has no special tokens."""
    from tokenizers import Tokenizer  # Not needed for `reply`.

    text = pathlib.Path(path).read_text(encoding="utf-8")
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as failure:  # The package has no class of its own.
        raise ValueError(f"{path}: {failure}") from failure
    tokenizer.encode_special_tokens = True
    return tokenizer


async def reply(model, text, asked):
    """The tokens after `asked`, one by one, up to the one that `asked` began with. Other conversations continue meanwhile."""
    logits = await asyncio.to_thread(model.read, text, asked)
    while (token := int(np.argmax(logits))) != asked[0] and text.position < model.places:
        yield token
        logits = (await asyncio.to_thread(step, text, [token]))[-1]


class Chat:
    """What the conversations share, and what they count."""

    def __init__(self, model, tokenizer, shows_tokens, echoes):
        self.model, self.tokenizer, self.shows_tokens, self.echoes = model, tokenizer, shows_tokens, echoes
        self.person, self.reply = (tokenizer.token_to_id(name) for name in ("<|person|>", "<|reply|>"))
        self.tokens, self.failed = 0, False

    async def converse(self, number, lines):
        """One conversation, until a line is None."""
        text, begins = self.model.conversations.open(), []
        while (line := await lines.get()) is not None:
            if line == "/new":
                text, begins = self.model.conversations.open(), []
            elif line == "/undo":
                text.rewind(text.position - begins.pop() if begins else 0)
            else:
                await self.turn(number, text, begins, line)

    async def turn(self, number, text, begins, line):
        """A line and its reply."""
        asked = [self.person, *self.tokenizer.encode(line).ids, self.reply]
        if text.position + len(asked) > self.model.places:
            self.complain(f"conversation {number} is full: {len(asked)} tokens more than its {text.position}, of"
                          f" {self.model.places}; /new begins it anew")
            return
        begins.append(text.position)
        tokens = [token async for token in reply(self.model, text, asked)]
        self.tokens += len(tokens)
        echo = f"{number}> {line}\n" if self.echoes else ""
        ids = f"{number}# {' '.join(map(str, asked))} -> {' '.join(map(str, tokens))}\n" if self.shows_tokens else ""
        print(f"{echo}{number}: {self.tokenizer.decode(tokens)}\n{ids}", end="", flush=True)

    def complain(self, text):
        self.failed = True
        print(f"chat: {text}", file=sys.stderr)

    async def run(self, source):
        """Gives each line to its conversation."""
        queues = [asyncio.Queue() for _ in range(CONVERSATIONS)]
        talks = [asyncio.create_task(self.converse(i + 1, queue)) for i, queue in enumerate(queues)]
        number = 1
        while line := await asyncio.to_thread(source.readline):
            named = re.fullmatch(r"(?:(\d+):)?\s*(.*?)\s*", line)
            if named[1] and not 1 <= int(named[1]) <= CONVERSATIONS:
                self.complain(f"expected a conversation from 1 to {CONVERSATIONS}, found {named[1]}")
                continue
            number = int(named[1] or number)
            if named[2]:
                queues[number - 1].put_nowait(named[2])
        for queue in queues:
            queue.put_nowait(None)
        await asyncio.gather(*talks)


def show_progress(loaded, total):
    """A bar, where someone sees it."""
    if sys.stderr.isatty():
        width = 40 * loaded // max(total, 1)
        end = "\n" if loaded == total else ""
        print(f"\rloading [{'#' * width}{'.' * (40 - width)}] {loaded} of {total} delegates", end=end, file=sys.stderr, flush=True)


def main():
    """Talks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("tokenizer")
    parser.add_argument("plugins", nargs="*", help="files with the backends and kernels of the program")
    parser.add_argument("--script", help="a file with the lines, instead of standard input")
    parser.add_argument("--tokens", action="store_true", help="print the tokens of each line and its reply")
    given = parser.parse_args()
    try:
        model = Model(given.model, given.plugins, show_progress)
        chat = Chat(model, read_tokenizer(given.tokenizer), given.tokens, bool(given.script) or not sys.stdin.isatty())
        with open(given.script, encoding="utf-8") if given.script else sys.stdin as source:
            begin = time.perf_counter()
            asyncio.run(chat.run(source))
            seconds = time.perf_counter() - begin
    except (tenon.Error, OSError, ValueError) as failure:
        sys.exit(f"chat: {failure}")
    print(f"{chat.tokens} tokens, {chat.tokens / seconds:.0f} a second", file=sys.stderr)
    sys.exit(chat.failed)


if __name__ == "__main__":
    main()
