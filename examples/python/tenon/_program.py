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
    """Adds a plugin file's backends for all programs that are opened without `plugins`."""
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
    is_memory_planned: whether the program plans its memory.
    device: "CPU" or another.
    name: the fully qualified name, or empty.
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
    variants: ids of backends by variant, the most wanted first. The rest is about the default variant.
    inputs, outputs: a `Value` each.
    backends: sorted ids of the backends.
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

    `program["forward"]` loads a method once and keeps it. `load_method` loads a new one each time: each thread
    needs its own. Use `with` to close a program at the end.
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
        """Names of all methods, in the order of the file, without variants."""
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
        """The bytes of each key of the program and its data files, not copied."""
        return self._program.named_data()

    def load_method(self, name: str = "forward", *, options: Options | None = None,
                    embedded_code: str | None = None, variant: str | None = None,
                    progress: Callable[[int, int], object] | None = None) -> Method:
        """Loads a method: finds its backends, and initialises its delegates.

        options, embedded_code: instead of the arguments of `load`.
        variant: the variant's name; None: the best that can run here.
        progress: called ten times a second with the numbers of loaded delegates and of all.

        Ctrl-C raises KeyboardInterrupt at once; begun work ends in the background.
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
        """Closes the program and its `program[name]` methods. The file stays mapped while others use it."""
        methods, self._methods = self._methods, {}
        for method in methods.values():
            method.close()
        self._program.close()

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a tenon.Program cannot be copied or pickled: call tenon.load in each process, with the path of the "
                        "program")

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else ", ".join(self.method_names)
        return f"<tenon.Program {self.name}: {state}>"


def _check_model(what: str, model: object) -> None:
    if isinstance(model, (str, os.PathLike)) or hasattr(model, "__dlpack__"):
        return
    try:
        memoryview(model).release()  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{what}: expected a path or bytes, found {type(model).__name__}") from None


def load(model: Model, *, data: Sequence[Model] = (), plugins: Path | Sequence[Path] = (),
         options: Options | None = None, embedded_code: str = "allow",
         limits: Mapping[str, int | str | None] | None = None,
         budget: Mapping[str, int | str] | None = None, trace: Trace | None = None,
         threads: ThreadPool | int | None = None, priority: str | None = None, goal: str | None = None,
         power: str | None = None, prepared: Path | bool | None = None, isolate: str | None = None,
         prove: bool | None = None) -> Program:
    """Opens a program and verifies it. Plugins are loaded later, when a method needs them.

    model: path of a `.pte` file, which is mapped, or its bytes.
    data: `.ptd` files, paths or bytes, with data that the program leaves out.
    plugins: plugin files, or one; their backends win over discovered ones.
    options: for each backend, options of its delegates: `{"CpuAotiBackend": {"threads": 2}}`.
    embedded_code: whether native code in the program may run: "allow", "deny" or "sha256:HASH,HASH...". Programs
        of AOTInductor have such code: do not allow it for files that you do not trust.
    limits: of the program's cost: `{"planned_bytes": "2G", "run_milliseconds": 500}`; None is no limit.
    budget: the most memory of one method by device, `{"cpu": "512M", "cuda:0": 8 << 30}`; above it, loading
        fails with OutOfResources.
    trace: a `Trace`, which records loading and running.
    threads: a `ThreadPool`, or a number of threads, for backends that use an application's threads.
    priority, goal, power: hints: "low", "normal" or "high"; "latency" or "throughput"; "low", "balanced" or "high".
    prepared: a directory in which backends cache work for later loads; True: the user's cache directory.
    isolate: plugins that run in other processes, by backend or file name, with an optional profile:
        "AcmeBackend=strict, *_gpu.so=driver". Linux.
    prove: whether a method must pass the golden cases of the program before it is loaded; None: as TENON_PROVE says.

    Raises `Error`: AccessFailed, InvalidProgram and InvalidExternalData for files, else InvalidArgument.
    """
    if isinstance(data, (str, bytes, os.PathLike)):
        raise TypeError(f"data: expected a sequence of files, found {type(data).__name__}")
    _check_model("model", model)
    stores = list(data)
    for number, each in enumerate(stores):
        _check_model(f"data[{number}]", each)
    files = _paths.files("plugins", plugins)
    if files:
        registry = _tenon.Registry(_paths.plugin_paths(), _paths.worker())
        for path in files:
            registry.register_backend(path)
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
    return Program(_tenon.open_program(model, stores, registry, options or {}, embedded_code,
                                       limits or {}, budget or {}, trace, threads, [priority, goal, power],
                                       cache, isolate, prove),
                   offers)


async def execute_async(method: Method, inputs: Sequence[Input], *, borrow: bool = False) -> list[Output]:
    """`method.execute(inputs, borrow=borrow)` in a thread, for the event loop of asyncio.

    Cancelling the task that awaits it ends the run (`asyncio.timeout`, `Task.cancel`). The cancellation is raised
    after the run has ended, so the method can run again.
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
        run.exception()  # Cancelled; asyncio warns about an exception that is not read.
        raise


class _CallSignature:
    """What inspect.signature shows of a method, whose call is a slot of its type."""

    def __get__(self, method: Method | None, kind: type) -> object:
        if method is None:  # Of the class, which is not called.
            raise AttributeError("__signature__")
        import inspect

        return inspect.Signature([
            inspect.Parameter("inputs", inspect.Parameter.VAR_POSITIONAL),
            inspect.Parameter("borrow", inspect.Parameter.KEYWORD_ONLY, default=False)])


setattr(Method, "__signature__", _CallSignature())

for _each in (MethodMeta, Program, TensorInfo, Value, execute_async, load, register_backend):
    _each.__module__ = "tenon"
