# SPDX-License-Identifier: MIT
"""Repeats calls of Tenon's NamedDataStore on ExecuTorch's own, and compares what becomes of them.

Where Tenon differs on purpose: a key that is added again takes the least common multiple of both
alignments, where ExecuTorch keeps the first; and a merge that fails changes nothing, so only merges
that succeed are among the calls.
"""

from executorch.exir._serialize._named_data_store import NamedDataStore


def attempt(call):
    try:
        call()
    except ValueError:
        return False
    return True


def repeat(store, call, outputs):
    """Whether the call succeeds."""
    name, _, *args = call
    if name == "add":
        key, data, alignment, tag = args
        return attempt(lambda: store.add_named_data(key, data.encode(), alignment, tag))
    if name == "merge":
        return attempt(lambda: store.merge_named_data_store(outputs[args[0]]))
    return attempt(lambda: store.externalize_pte_data(*args))


def compare_entries(found, entries, expected, expected_entries, what):
    pairs = zip(entries.items(), expected_entries, strict=True)
    for (key, entry), (expected_key, index, alignment) in pairs:
        assert key == expected_key, f"{what}: {key}, expected {expected_key}"
        data = bytes(found.buffers[entry.buffer_index]).decode()
        assert data == expected["buffers"][index], f"{what}: data of {key}"
        assert alignment % entry.alignment == 0, f"{what}: alignment of {key}"


def compare(found, expected):
    # The order of tags may differ: ExecuTorch makes room for one even when nothing is added to it.
    # After a merge the order of buffers then differs, too.
    buffers = sorted(bytes(one).decode() for one in found.buffers)
    assert buffers == sorted(expected["buffers"]), "buffers"
    compare_entries(found, found.pte_data, expected, expected["pte_data"], "pte_data")
    tags = dict(expected["external_data"])
    assert found.external_data.keys() == tags.keys(), "tags"
    for tag, entries in found.external_data.items():
        compare_entries(found, entries, expected, tags[tag], tag)


def check(stores):
    """`stores` is what RandomStores (random_stores.hpp) wrote."""
    outputs, num_calls, num_refused = [], 0, 0
    for number, described in enumerate(stores):
        store = NamedDataStore()
        for call in described["calls"]:
            is_ok = repeat(store, call, outputs)
            assert is_ok == call[1], f"store {number}: {call}: ExecuTorch says {is_ok}"
            num_calls += 1
            num_refused += not is_ok
        outputs.append(store.get_named_data_store_output())
        compare(outputs[-1], described["output"])
    assert num_refused > 0
    print(f"{len(stores)} stores, {num_calls} calls, {num_refused} of them refused: as ExecuTorch's")
