// SPDX-License-Identifier: MIT
package tenon;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * The functions of tenon_host.h and the layouts of what they take, as far as this package uses
 * them.
 */
final class Native {
  private static final Linker LINKER = Linker.nativeLinker();
  // The property tenon.library is a path or a name that the dynamic loader finds.
  private static final SymbolLookup LIBRARY = SymbolLookup.libraryLookup(
      System.getProperty("tenon.library", libraryName()), Arena.global());

  static final StructLayout METHOD_OPTIONS = MemoryLayout.structLayout(
      JAVA_INT.withName("struct_size"), JAVA_INT.withName("flags"), ADDRESS.withName("registry"),
      ADDRESS.withName("executor"), ADDRESS.withName("backend_options"),
      ADDRESS.withName("data_files"), ADDRESS.withName("limits"), ADDRESS.withName("budget"),
      JAVA_INT.withName("num_backend_options"), JAVA_INT.withName("num_data_files"),
      JAVA_INT.withName("num_limits"), JAVA_INT.withName("num_budget"), ADDRESS.withName("variant"),
      ADDRESS.withName("embedded_code"), ADDRESS.withName("scheduling"));
  static final StructLayout DL_TENSOR = MemoryLayout.structLayout(ADDRESS.withName("data"),
      JAVA_INT.withName("device_type"), JAVA_INT.withName("device_id"), JAVA_INT.withName("ndim"),
      JAVA_BYTE.withName("code"), JAVA_BYTE.withName("bits"), JAVA_SHORT.withName("lanes"),
      ADDRESS.withName("shape"), ADDRESS.withName("strides"), JAVA_LONG.withName("byte_offset"));
  static final StructLayout TENSOR = MemoryLayout.structLayout(JAVA_INT.withName("struct_size"),
      JAVA_INT.withName("scalar_type"), DL_TENSOR.withName("dl"), ADDRESS.withName("dim_order"),
      ADDRESS.withName("bounds"), JAVA_LONG.withName("nbytes"), JAVA_LONG.withName("capacity"),
      JAVA_INT.withName("shape_dynamism"), JAVA_INT.withName("flags"));
  static final StructLayout VALUE = MemoryLayout.structLayout(JAVA_INT.withName("struct_size"),
      JAVA_INT.withName("kind"), ADDRESS.withName("tensor"), MemoryLayout.paddingLayout(8));
  static final int DEVICE_CPU = 1;
  static final int KIND_TENSOR = 1;

  private static final MethodHandle STATUS_NAME = function("tenon_status_name", ADDRESS, JAVA_INT);
  private static final MethodHandle ERROR_TEXT = function("tenon_error_text", ADDRESS, ADDRESS);
  private static final MethodHandle ERROR_DESTROY = action("tenon_error_destroy");
  static final MethodHandle REGISTRY_CREATE =
      function("tenon_registry_create", JAVA_INT, ADDRESS, ADDRESS, ADDRESS);
  static final MethodHandle REGISTRY_DESTROY = action("tenon_registry_destroy");
  static final MethodHandle REGISTRY_REGISTER_PLUGIN =
      function("tenon_registry_register_plugin", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
  static final MethodHandle REGISTRY_DISCOVER =
      function("tenon_registry_discover", JAVA_INT, ADDRESS, ADDRESS, ADDRESS);
  static final MethodHandle PROGRAM_OPEN =
      function("tenon_program_open", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
  static final MethodHandle PROGRAM_DESTROY = action("tenon_program_destroy");
  static final MethodHandle PROGRAM_NUM_METHODS =
      function("tenon_program_num_methods", JAVA_LONG, ADDRESS);
  static final MethodHandle PROGRAM_METHOD_NAME =
      function("tenon_program_method_name", ADDRESS, ADDRESS, JAVA_LONG);
  static final MethodHandle METHOD_LOAD =
      function("tenon_method_load", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
  static final MethodHandle METHOD_DESTROY = action("tenon_method_destroy");
  static final MethodHandle METHOD_NUM_INPUTS =
      function("tenon_method_num_inputs", JAVA_LONG, ADDRESS);
  static final MethodHandle METHOD_NUM_OUTPUTS =
      function("tenon_method_num_outputs", JAVA_LONG, ADDRESS);
  static final MethodHandle METHOD_SET_INPUT =
      function("tenon_method_set_input", JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
  static final MethodHandle METHOD_EXECUTE =
      function("tenon_method_execute", JAVA_INT, ADDRESS, ADDRESS);
  static final MethodHandle METHOD_GET_OUTPUT =
      function("tenon_method_get_output", ADDRESS, ADDRESS, JAVA_LONG);

  private Native() {}

  /** The name that the library's major is in. */
  private static String libraryName() {
    String system = System.getProperty("os.name");
    if (system.startsWith("Windows"))
      return "libtenon-1.dll";
    return system.startsWith("Mac") ? "libtenon.1.dylib" : "libtenon.so.1";
  }

  private static MethodHandle function(
      String name, MemoryLayout result, MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LIBRARY.findOrThrow(name), FunctionDescriptor.of(result, arguments));
  }

  private static MethodHandle action(String name) {
    return LINKER.downcallHandle(LIBRARY.findOrThrow(name), FunctionDescriptor.ofVoid(ADDRESS));
  }

  static long offset(StructLayout layout, String member) {
    return layout.byteOffset(PathElement.groupElement(member));
  }

  /** A call of a function of C. */
  interface Call<T> {
    T make() throws Throwable;
  }

  /** A call that returns a status, and stores an error at `error` when it fails. */
  interface Fallible {
    int make(MemorySegment error) throws Throwable;
  }

  /** A call that also stores what it makes at `out`. */
  interface Creation {
    int make(MemorySegment out, MemorySegment error) throws Throwable;
  }

  /**
   * Calls what throws nothing but the exceptions of MemorySegment, such as that of a closed arena.
   */
  static <T> T call(Call<T> call) {
    try {
      return call.make();
    } catch (RuntimeException | Error failure) {
      throw failure;
    } catch (Throwable failure) {
      throw new AssertionError(failure);
    }
  }

  static void check(Fallible call) {
    try (Arena arena = Arena.ofConfined()) {
      check(arena.allocate(ADDRESS), call);
    }
  }

  /** The same with memory for the error that is there already. */
  static void check(MemorySegment error, Fallible call) {
    int status = call(() -> call.make(error));
    if (status == 0)
      return;
    MemorySegment object = error.get(ADDRESS, 0);
    String name = text(call(() -> (MemorySegment) STATUS_NAME.invokeExact(status)));
    String text = text(call(() -> (MemorySegment) ERROR_TEXT.invokeExact(object)));
    destroy(ERROR_DESTROY, object);
    throw new TenonException(status, name, text);
  }

  /**
   * An object of the library that is destroyed with `owner`, which is closed when making it fails.
   */
  static MemorySegment create(Arena owner, MethodHandle destroy, Creation creation) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(ADDRESS);
      check(error -> creation.make(out, error));
      return out.get(ADDRESS, 0).reinterpret(owner, object -> destroy(destroy, object));
    } catch (RuntimeException | Error failure) {
      owner.close();
      throw failure;
    }
  }

  private static void destroy(MethodHandle destroy, MemorySegment object) {
    call(() -> {
      destroy.invokeExact(object);
      return null;
    });
  }

  /** A NUL-terminated text of the library. */
  static String text(MemorySegment text) {
    return text.reinterpret(Long.MAX_VALUE).getString(0);
  }
}
