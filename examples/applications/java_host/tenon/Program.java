// SPDX-License-Identifier: MIT
package tenon;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A .pte file, mapped and verified. For all threads at once. */
public final class Program implements AutoCloseable {
  private final Arena arena = Arena.ofShared();
  final MemorySegment handle;

  /** The file must not change until this and all methods of it are closed. */
  public Program(Path path) {
    try (Arena words = Arena.ofConfined()) {
      MemorySegment text = words.allocateFrom(path.toString());
      handle = Native.create(arena, Native.PROGRAM_DESTROY,
          (out, error)
              -> (int) Native.PROGRAM_OPEN.invokeExact(text, MemorySegment.NULL, out, error));
    }
  }

  public List<String> methodNames() {
    List<String> names = new ArrayList<>();
    long count = Native.call(() -> (long) Native.PROGRAM_NUM_METHODS.invokeExact(handle));
    for (long i = 0; i < count; ++i) {
      long index = i;
      names.add(Native.text(Native.call(
          () -> (MemorySegment) Native.PROGRAM_METHOD_NAME.invokeExact(handle, index))));
    }
    return names;
  }

  /** Loads a method, whose backends `registry` finds. */
  public Method load(String name, Registry registry) {
    return new Method(this, name, registry);
  }

  @Override
  public void close() {
    arena.close();
  }
}
