// SPDX-License-Identifier: MIT
package tenon;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** A method of a program, loaded. For one thread at a time. */
public final class Method implements AutoCloseable {
  private static final long DL = Native.offset(Native.TENSOR, "dl");

  private final Arena arena = Arena.ofShared();
  private final Arena memory = Arena.ofShared();
  private final MemorySegment handle;
  private final MemorySegment error = memory.allocate(ADDRESS);
  private final MemorySegment[] inputs;
  private final Arena[] copies; // Of inputs that were arrays.

  Method(Program program, String name, Registry registry) {
    try (Arena words = Arena.ofConfined()) {
      MemorySegment options = words.allocate(Native.METHOD_OPTIONS);
      options.set(JAVA_INT, Native.offset(Native.METHOD_OPTIONS, "struct_size"),
          (int) Native.METHOD_OPTIONS.byteSize());
      MemorySegment text = words.allocateFrom(name);
      handle = registry.whileOpen(of -> {
        options.set(ADDRESS, Native.offset(Native.METHOD_OPTIONS, "registry"), of);
        return Native.create(arena, Native.METHOD_DESTROY,
            (out, failure)
                -> (int) Native.METHOD_LOAD.invokeExact(
                    program.handle, text, options, out, failure));
      });
    } catch (RuntimeException | Error failure) {
      memory.close();
      throw failure;
    }
    inputs = new MemorySegment[Math.toIntExact(numInputs())];
    copies = new Arena[inputs.length];
  }

  public long numInputs() {
    return Native.call(() -> (long) Native.METHOD_NUM_INPUTS.invokeExact(handle));
  }

  public long numOutputs() {
    return Native.call(() -> (long) Native.METHOD_NUM_OUTPUTS.invokeExact(handle));
  }

  /** Copies values to memory of the method, and sets the input to them. */
  public void setInput(int index, float[] values, long... sizes) {
    long nbytes = 4L * values.length;
    boolean isInput = index >= 0 && index < inputs.length;
    Arena held = isInput ? copies[index] : null;
    boolean fits = held != null && held.scope().equals(inputs[index].scope())
        && inputs[index].byteSize() == nbytes;
    Arena copy = fits ? held : Arena.ofShared();
    try {
      MemorySegment bytes = fits ? inputs[index] : copy.allocate(nbytes, 16);
      MemorySegment.copy(values, 0, bytes, JAVA_FLOAT, 0, values.length);
      setInput(index, bytes, Tensor.Type.FLOAT32, sizes);
    } catch (RuntimeException | Error failure) {
      if (!fits)
        copy.close();
      throw failure;
    }
    copies[index] = copy;
    if (held != null && !fits)
      held.close();
  }

  /**
   * Sets an input without copying it. `bytes` is memory outside of the heap, and its arena must be
   * open, and the bytes unchanged, until the run has ended.
   */
  public void setInput(int index, MemorySegment bytes, Tensor.Type type, long... sizes) {
    if (!bytes.isNative()) {
      throw new IllegalArgumentException(
          "input " + index + ": expected memory outside of the heap");
    }
    checkOpen(index, bytes);
    if (bytes.byteSize() != nbytesOf(type, sizes)) {
      throw new IllegalArgumentException("input " + index + ": " + bytes.byteSize()
          + " bytes for the sizes " + Arrays.toString(sizes));
    }
    try (Arena words = Arena.ofConfined()) {
      MemorySegment tensor = words.allocate(Native.DL_TENSOR);
      tensor.set(ADDRESS, Native.offset(Native.DL_TENSOR, "data"), bytes);
      tensor.set(JAVA_INT, Native.offset(Native.DL_TENSOR, "device_type"), Native.DEVICE_CPU);
      tensor.set(JAVA_INT, Native.offset(Native.DL_TENSOR, "ndim"), sizes.length);
      tensor.set(JAVA_BYTE, Native.offset(Native.DL_TENSOR, "code"), type.code);
      tensor.set(JAVA_BYTE, Native.offset(Native.DL_TENSOR, "bits"), type.bits);
      tensor.set(JAVA_SHORT, Native.offset(Native.DL_TENSOR, "lanes"), (short) 1);
      tensor.set(
          ADDRESS, Native.offset(Native.DL_TENSOR, "shape"), words.allocateFrom(JAVA_LONG, sizes));
      Native.check(error,
          failure
          -> (int) Native.METHOD_SET_INPUT.invokeExact(handle, (long) index, tensor, failure));
    }
    inputs[index] = bytes;
  }

  private static void checkOpen(int index, MemorySegment input) {
    if (!input.scope().isAlive()) {
      throw new IllegalStateException("input " + index + ": its arena was closed");
    }
  }

  /** -1 when no tensor has these sizes. */
  private static long nbytesOf(Tensor.Type type, long[] sizes) {
    try {
      long negative = Arrays.stream(sizes).filter(size -> size < 0).count();
      return negative == 0 ? Arrays.stream(sizes).reduce(type.bits / 8, Math::multiplyExact) : -1;
    } catch (ArithmeticException overflow) {
      return -1;
    }
  }

  /** Runs the method once. After a failure it may be run again. */
  public void execute() {
    for (int i = 0; i < inputs.length; ++i) {
      if (inputs[i] != null)
        checkOpen(i, inputs[i]);
    }
    Native.check(error, failure -> (int) Native.METHOD_EXECUTE.invokeExact(handle, failure));
  }

  /** An output that is a tensor in the memory of the CPU. */
  public Tensor output(int index) {
    MemorySegment value = Native.call(
        () -> (MemorySegment) Native.METHOD_GET_OUTPUT.invokeExact(handle, (long) index));
    if (value.equals(MemorySegment.NULL)) {
      throw new IndexOutOfBoundsException("output " + index + " of " + numOutputs());
    }
    value = value.reinterpret(Native.VALUE.byteSize(), arena, null);
    int kind = value.get(JAVA_INT, Native.offset(Native.VALUE, "kind"));
    if (kind != Native.KIND_TENSOR) {
      throw new IllegalStateException(
          "output " + index + ": expected a tensor, found kind " + kind);
    }
    MemorySegment tensor = value.get(ADDRESS, Native.offset(Native.VALUE, "tensor"))
                               .reinterpret(Native.TENSOR.byteSize(), arena, null);
    MemorySegment dl = tensor.asSlice(DL, Native.DL_TENSOR);
    int device = dl.get(JAVA_INT, Native.offset(Native.DL_TENSOR, "device_type"));
    if (device != Native.DEVICE_CPU) {
      throw new IllegalStateException(
          "output " + index + ": expected the CPU, found device type " + device);
    }
    int rank = dl.get(JAVA_INT, Native.offset(Native.DL_TENSOR, "ndim"));
    long[] sizes = dl.get(ADDRESS, Native.offset(Native.DL_TENSOR, "shape"))
                       .reinterpret(8L * rank, arena, null)
                       .toArray(JAVA_LONG);
    MemorySegment bytes =
        dl.get(ADDRESS, Native.offset(Native.DL_TENSOR, "data"))
            .reinterpret(
                tensor.get(JAVA_LONG, Native.offset(Native.TENSOR, "nbytes")), arena, null);
    return new Tensor(Tensor.Type.of(dl.get(JAVA_BYTE, Native.offset(Native.DL_TENSOR, "code")),
                          dl.get(JAVA_BYTE, Native.offset(Native.DL_TENSOR, "bits"))),
        sizes, bytes);
  }

  @Override
  public void close() {
    arena.close();
    if (!memory.scope().isAlive())
      return;
    memory.close();
    for (Arena copy : copies) {
      if (copy != null)
        copy.close();
    }
  }
}
