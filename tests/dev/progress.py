# SPDX-License-Identifier: MIT
"""How long a command has run, and how long it will still take if it takes as long as its last run."""

import contextlib
import json
import pathlib
import resource
import time


def minutes(seconds):
    """ "3:07"."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def processor_time():
    """What the programs that have ended took of the processor: in user's mode, and in the system's."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return " ".join(f"{int(used) // 60}m{used % 60:.3f}s" for used in (usage.ru_utime, usage.ru_stime))


class Progress:
    """The time of a command. A run that comes to its end is kept in a file, for the next one with the same words."""

    def __init__(self, words=None, folder="build/dev"):
        self.started = time.monotonic()
        self.words = words
        self.file = pathlib.Path(folder, f"{words[0]}.json") if words else None
        self.titles, self.last = {}, {}
        with contextlib.suppress(OSError, ValueError):
            kept = json.loads(self.file.read_text(encoding="utf-8")) if self.file else {}
            self.last = kept if kept.get("words") == words else {}

    def seconds(self):
        """Since the start."""
        return time.monotonic() - self.started

    def at(self, title):
        """The title of a step that begins, with the times."""
        now = self.seconds()
        self.titles[title] = now
        left = ""
        if title in self.last.get("titles", {}):
            left = f"about {minutes(max(0, self.last['seconds'] - self.last['titles'][title]))} left, "
        return f"{title}  [{minutes(now)}, {left}processor {processor_time()}]"

    def keep(self):
        """Writes the times of a run that came to its end."""
        if self.file and self.titles:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            kept = {"words": self.words, "seconds": self.seconds(), "titles": self.titles}
            self.file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
