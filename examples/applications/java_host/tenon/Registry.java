// SPDX-License-Identifier: MIT
package tenon;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Function;

/**
 * Finds and loads plugins. For all threads at once.
 *
 * <p>Objects of this package may be closed in any order. One that was closed throws
 * IllegalStateException when it is used; so does closing one that another thread is using.
 */
public final class Registry implements AutoCloseable {
  private final Arena arena = Arena.ofShared();
  private final ReadWriteLock uses = new ReentrantReadWriteLock();
  private final MemorySegment handle;

  /** A registry that knows no plugin. */
  public Registry() {
    handle = Native.create(arena, Native.REGISTRY_DESTROY,
        (out, error) -> (int) Native.REGISTRY_CREATE.invokeExact(MemorySegment.NULL, out, error));
  }

  /** Registers the plugin in a file, which is read and not loaded. */
  public void registerPlugin(Path path) {
    try (Arena words = Arena.ofConfined()) {
      MemorySegment text = words.allocateFrom(path.toString());
      Native.check(error
          -> (int) Native.REGISTRY_REGISTER_PLUGIN.invokeExact(
              handle, text, MemorySegment.NULL, error));
    }
  }

  /**
   * Looks for plugins where TENON_PLUGIN_PATH and its like say, and where plugins are installed.
   */
  public void discover() {
    Native.check(
        error -> (int) Native.REGISTRY_DISCOVER.invokeExact(handle, MemorySegment.NULL, error));
  }

  /**
   * Calls what gets the handle as a member of options. An address in memory, unlike an argument,
   * does not keep its arena open, so that `close` waits.
   */
  <T> T whileOpen(Function<MemorySegment, T> call) {
    uses.readLock().lock();
    try {
      if (!handle.scope().isAlive())
        throw new IllegalStateException("the registry was closed");
      return call.apply(handle);
    } finally {
      uses.readLock().unlock();
    }
  }

  @Override
  public void close() {
    uses.writeLock().lock();
    try {
      arena.close();
    } finally {
      uses.writeLock().unlock();
    }
  }
}
