# SPDX-License-Identifier: MIT
"""Programs, and the registry that all programs share."""

from __future__ import annotations

import os
from _collections_abc import Callable, Iterator, Mapping, Sequence  # As collections.abc has them, without collections.

from . import _paths, _tenon
from ._error import Error
from ._tenon import Array, Method, ThreadPool, Trace

TYPE_CHECKING = False  # As `typing` has it, whose import takes longer than all of this package.
if TYPE_CHECKING:
    from ._tenon import Input, InputArray, Output
else:  # In the stub they are protocols, of `typing`; typing.get_type_hints finds that any object may be one.
    Input = InputArray = Output = object

Path = str | os.PathLike[str]
Model = Path | InputArray
Options = Mapping[str, Mapping[str, bool | int | float | str | bytes]]

__all__ = ["Method", "MethodMeta", "Program", "TensorInfo", "Value", "load", "register_backend"]

_shared: tuple[_tenon.Registry, _Offers] | None = None


class _Offers:
    """What installed packages offer by entry points, for one registry."""

    def __init__(self, registry: _tenon.Registry) -> None:
        import threading

        self._registry = registry
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        self._files: set[str] = set()

    def register(self, ids: list[str]) -> None:
        """Registers the plugins that packages offer for `ids`; imports those packages."""
        with self._lock:
            for id in [id for id in ids if id not in self._asked]:
                from . import _entry_points  # Takes longer than all else of a small program.

                file = _entry_points.plugin_file(id)
                if file is not None and file not in self._files:
                    self._files.add(file)
                    try:
                        self._registry.register_backend(file)
                    except Error as error:
                        # What the application registered itself wins.
                        if error.name != "RegistrationAlreadyRegistered":
                            raise
                self._asked.add(id)


def default_registry() -> _tenon.Registry:
    """The registry of programs that name no plugins. It searches what every host searches."""
    return _defaults()[0]


def _defaults() -> tuple[_tenon.Registry, _Offers]:
    global _shared
    if _shared is None:
        registry = _tenon.Registry(_paths.plugin_paths(), _paths.worker())
        _shared = registry, _Offers(registry)
    return _shared


def register_backend(path: Path) -> None:
    """Adds the backends of a plugin file for all programs that are opened without `plugins`.

    The file is read now, and loaded when a program needs it.
    """
    default_registry().register_backend(os.fspath(path))


class _Facts:
    """A class whose members are its keyword arguments, without the import time of dataclasses."""

    def __init__(self, **members: object) -> None:
        self.__dict__.update(members)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({members})"


class TensorInfo(_Facts):
    """Facts of a tensor of a program (ExecuTorch: TensorInfo).

    dtype: "float32".
    sizes: upper bounds when the shape is dynamic.
    dim_order: dimensions from the outermost to the innermost.
    shape_dynamism: "static", "dynamic_bound" or "dynamic_unbound".
    is_memory_planned: whether the program has memory for it.
    device: "CPU" or another.
    name: the fully qualified name; may be empty.
    """

    dtype: str
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    shape_dynamism: str
    is_memory_planned: bool
    device: str
    name: str


class Value(_Facts):
    """An input or output of a method.

    kind: "Tensor", "Int", ...
    tensor: the facts of a tensor; None for other kinds.
    """

    kind: str
    tensor: TensorInfo | None


class MethodMeta(_Facts):
    """Facts of a method, without loading it (ExecuTorch: MethodMeta).

    name: "forward".
    variants: for each variant, the most wanted first, the ids of its backends; empty when the
        method has a single form. The rest is about the default one.
    inputs, outputs: a `Value` each.
    backends: ids of those that the method needs, sorted.
    memory_planned_buffers: bytes of each.
    num_instructions: of all chains.
    """

    name: str
    variants: dict[str, list[str]]
    inputs: list[Value]
    outputs: list[Value]
    backends: list[str]
    memory_planned_buffers: list[int]
    num_instructions: int


class Program:
    """An ExecuTorch program, opened and verified by `load`. Any thread may use it.

    `program["forward"]` is a method that is loaded once and kept; `load_method` loads a new one each
    time, as each thread needs its own. A program is a context manager that closes it at the end.
    """

    def __init__(self, program: _tenon.Program, offers: _Offers) -> None:
        self._program = program
        self._offers = offers
        self._methods: dict[str, Method] = {}

    @property
    def name(self) -> str:
        """The path, or "<bytes>"."""
        return self._program.name

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._program.is_closed

    @property
    def method_names(self) -> list[str]:
        """Names of all methods, in the order of the file. A variant of a method is not among them."""
        return self._program.method_names()

    def method_meta(self, name: str = "forward") -> MethodMeta:
        """Facts of a method, without loading it."""
        facts = self._program.method_meta(name)
        for side in ("inputs", "outputs"):
            facts[side] = [
                Value(kind=each["kind"],
                      tensor=TensorInfo(**each["tensor"]) if "tensor" in each else None)
                for each in facts[side]
            ]
        return MethodMeta(**facts)

    def named_data(self) -> dict[str, Array]:
        """The bytes of each key, of the program and of its data files. They are not copied."""
        return self._program.named_data()

    def load_method(self, name: str = "forward", *, options: Options | None = None,
                    embedded_code: str | None = None, variant: str | None = None,
                    progress: Callable[[int, int], object] | None = None) -> Method:
        """Loads a method: backends are looked up, and their delegates initialised.

        options, embedded_code: instead of those given to `load`.
        variant: the name of the variant to load; None: the best of those that can run here.
        progress: called with the number of delegates that are loaded, and of all, ten times a second.

        Ctrl-C raises KeyboardInterrupt at once; what was begun ends in the background.
        """
        if name in self._program.method_names():
            facts = self._program.method_meta(name)
            self._offers.register(sorted({*facts["backends"], *sum(facts["variants"].values(), [])}))
        return self._program.load_method(name, options, embedded_code, variant, progress)

    def __getitem__(self, name: str) -> Method:
        method = self._methods.get(name)
        if method is None or method.is_closed:
            if name not in self._program.method_names():
                raise KeyError(f"{self.name}: there is no method {name!r}; there are: "
                               f"{', '.join(self.method_names)}")
            method = self._methods[name] = self.load_method(name)
        return method

    def __contains__(self, name: object) -> bool:
        return name in self._program.method_names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._program.method_names())

    def __len__(self) -> int:
        return len(self._program.method_names())

    def close(self) -> None:
        """Closes the program and the methods that `program[name]` made.

        The file stays mapped as long as another method or array uses it.
        """
        methods, self._methods = self._methods, {}
        for method in methods.values():
            method.close()
        self._program.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else ", ".join(self.method_names)
        return f"<tenon.Program {self.name}: {state}>"


def load(model: Model, *, data: Sequence[Model] = (), plugins: Sequence[Path] = (), options: Options | None = None,
         embedded_code: str = "allow", limits: Mapping[str, int | str | None] | None = None,
         budget: Mapping[str, int | str] | None = None, trace: Trace | None = None,
         threads: ThreadPool | int | None = None, priority: str | None = None, goal: str | None = None,
         power: str | None = None, prepared: Path | bool | None = None, isolate: str | None = None) -> Program:
    """Opens a program and verifies all of it that is read later. No plugin is loaded yet.

    model: path of a `.pte` file, which is mapped, or its bytes, which are not copied when they are
        `bytes`, or a view of `bytes`, that begin at a multiple of 16.
    data: `.ptd` files, paths or bytes, with data that the program leaves out.
    plugins: plugin files; their backends win over those that are found by the search.
    options: `{"CpuAotiBackend": {"threads": 2}}`: for each backend, options of its delegates.
    embedded_code: whether native code that the program carries may run: "allow", "deny" or
        "sha256:HASH,HASH...". Programs of AOTInductor carry such code: do not allow it for files
        of others.
    limits: limits of the program's cost by name, `{"planned_bytes": "2G", "run_milliseconds": 500}`;
        None is no limit.
    budget: the most memory that one method may take, by device: `{"cpu": "512M", "cuda:0": 8 << 30}`.
        A method that needs more is not loaded: OutOfResources.
    trace: a `Trace`, which receives events of loading and running.
    threads: a `ThreadPool`, or a number of threads, for backends that compute on those of an
        application; None: each has its own.
    priority, goal, power: hints for backends whose device knows them: "low", "normal" or "high";
        "latency" or "throughput"; "low", "balanced" or "high". None leaves it to the backend.
    prepared: the directory in which backends keep what they prepare from the program, so that later
        loads are fast; True: the user's cache directory; None and False: nothing is kept.
    isolate: which plugins run in processes of their own, by the ids of their backends or the names of
        their files, each with a profile or without one: "AcmeBackend=strict, *_gpu.so=driver". Each
        method then has workers of its own. Linux.

    Raises `Error`: AccessFailed for a file that cannot be read, InvalidProgram and
    InvalidExternalData for damaged files, InvalidArgument for the rest.
    """
    if isinstance(data, (str, bytes, os.PathLike)):
        raise TypeError(f"data: expected a sequence of files, found {type(data).__name__}")
    if isinstance(plugins, (str, bytes, os.PathLike)):
        raise TypeError(f"plugins: expected a sequence of files, found {type(plugins).__name__}")
    if plugins:
        registry = _tenon.Registry(_paths.plugin_paths(), _paths.worker())
        for path in plugins:
            registry.register_backend(os.fspath(path))
        offers = _Offers(registry)
    else:
        registry, offers = _defaults()
    if isinstance(threads, int):
        threads = _tenon.ThreadPool(threads)
    cache = None
    if prepared is True:
        cache = _tenon.PreparedCache("")
    elif prepared is not None and prepared is not False:
        cache = _tenon.PreparedCache(os.fspath(prepared))
    return Program(_tenon.open_program(model, list(data), registry, options or {}, embedded_code,
                                       limits or {}, budget or {}, trace, threads, [priority, goal, power],
                                       cache, isolate),
                   offers)


async def execute_async(method: Method, inputs: Sequence[Input], *, borrow: bool = False) -> list[Output]:
    """`method.execute(inputs, borrow=borrow)` in a thread, for the event loop of asyncio.

    When the task that awaits it is cancelled (`asyncio.timeout`, `Task.cancel`), the run is ended:
    between two instructions of the program, and inside of backends that can be cancelled. The
    cancellation is raised when the run has ended, so that the method can be run again.
    """
    import asyncio

    run = asyncio.ensure_future(asyncio.to_thread(method.execute, inputs, borrow=borrow))
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError:
        # As long as the thread has not begun the run, there is none to cancel.
        while not run.done():
            method.cancel()
            try:
                await asyncio.wait([run], timeout=0.005)
            except asyncio.CancelledError:
                pass
        run.exception()  # Cancelled; asyncio warns about one that is not read.
        raise


for _each in (MethodMeta, Program, TensorInfo, Value, execute_async, load, register_backend):
    _each.__module__ = "tenon"
