// SPDX-License-Identifier: MIT

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import tenon.Method;
import tenon.Program;
import tenon.Registry;
import tenon.TenonException;
import tenon.Tensor;

/**
 * Tests of the package: TenonTest PLUGIN MODEL, demo_backend.so and the program of
 * tests/fixtures/demo_sin_inline. Ends with 1 when one fails.
 */
public final class TenonTest {
  private final Registry registry = new Registry();
  private final Program program;

  private TenonTest(Path plugin, Path model) {
    registry.registerPlugin(plugin);
    program = new Program(model);
  }

  private static void check(boolean good, Object found) {
    if (!good)
      throw new AssertionError("found " + found);
  }

  private static String refusal(Runnable call) {
    try {
      call.run();
    } catch (TenonException | IllegalStateException | IllegalArgumentException
        | IndexOutOfBoundsException refused) {
      return refused.getClass().getSimpleName() + ": " + refused.getMessage();
    }
    throw new AssertionError("nothing was refused");
  }

  private static void checkSines(Method method, float x) {
    float[] values = {x, x + 1, x + 2, x + 3};
    method.setInput(0, values, 1, 4);
    method.execute();
    Tensor output = method.output(0);
    check(List.of(1L, 4L).equals(IntStream.range(0, 2).mapToObj(i -> output.sizes()[i]).toList()),
        output);
    float[] sines = output.toFloats();
    for (int i = 0; i < 4; ++i) check(Math.abs(Math.sin(values[i]) - sines[i]) < 1e-6, sines[i]);
  }

  private void threadsShareAProgram() throws Exception {
    try (var threads = Executors.newFixedThreadPool(4)) {
      List<Callable<Void>> work = IntStream.range(0, 40)
                                      .<Callable<Void>>mapToObj(run -> () -> {
                                        try (Method method = program.load("forward", registry)) {
                                          for (int i = 0; i < 10; ++i)
                                            checkSines(method, run + i / 10f);
                                        }
                                        return null;
                                      })
                                      .toList();
      for (Future<Void> done : threads.invokeAll(work)) done.get();
    }
  }

  private void aFailureHasTheTextOfTheHost() {
    String text = refusal(() -> new Program(Path.of("/nowhere/model.pte")));
    check(text.startsWith("TenonException: AccessFailed: /nowhere/model.pte"), text);
    text = refusal(() -> program.load("backward", registry));
    check(text.contains("InvalidArgument") && text.contains("backward"), text);
    try (Registry empty = new Registry()) {
      text = refusal(() -> program.load("forward", empty));
      check(text.startsWith("TenonException: NotFound: "), text);
    }
    try (Method method = program.load("forward", registry)) {
      text = refusal(method::execute);
      check(text.contains("input 0"), text);
      text = refusal(() -> method.setInput(0, new float[8], 2, 4));
      check(text.startsWith("TenonException: NotSupported: "), text);
      checkSines(method, 1); // Runs after what was refused.
    }
  }

  private void whatIsWrongBeforeTheLibraryIsCalledIsRefused() {
    try (Method method = program.load("forward", registry)) {
      String text = refusal(() -> method.setInput(0, new float[] {1}, 1, 4));
      check(text.equals("IllegalArgumentException: input 0: 4 bytes for the sizes [1, 4]"), text);
      for (long[] sizes : new long[][] {{1L << 62, 1L << 62, 4}, {-1, -4}}) {
        text = refusal(() -> method.setInput(0, new float[4], sizes));
        check(text.startsWith("IllegalArgumentException: input 0: 16 bytes for the sizes ["), text);
      }
      text = refusal(
          () -> method.setInput(0, MemorySegment.ofArray(new float[4]), Tensor.Type.FLOAT32, 1, 4));
      check(text.contains("expected memory outside of the heap"), text);
      for (int index : new int[] {-1, 1}) {
        text = refusal(() -> method.output(index));
        check(text.equals("IndexOutOfBoundsException: output " + index + " of 1"), text);
        text = refusal(() -> method.setInput(index, new float[4], 1, 4));
        check(text.startsWith("TenonException: InvalidArgument: "), text);
      }
    }
  }

  private void anInputIsNotCopied() {
    try (Method method = program.load("forward", registry)) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment bytes = arena.allocateFrom(JAVA_FLOAT, 1, 2, 3, 4);
        method.setInput(0, bytes, Tensor.Type.FLOAT32, 1, 4);
        bytes.setAtIndex(JAVA_FLOAT, 0, 0.5f);
        method.execute();
        float sine = method.output(0).toFloats()[0];
        check(Math.abs(sine - Math.sin(0.5)) < 1e-6, sine);
      }
      String text = refusal(method::execute);
      check(text.equals("IllegalStateException: input 0: its arena was closed"), text);
      for (int i = 0; i < 3; ++i) checkSines(method, 2 + i); // In place of the array before.
    }
  }

  private void whatIsClosedIsRefused() {
    Method method = program.load("forward", registry);
    checkSines(method, 3);
    Tensor output = method.output(0);
    method.close();
    check(refusal(method::execute).startsWith("IllegalStateException: "), "");
    check(refusal(output::toFloats).startsWith("IllegalStateException: "), "");
    Registry closed = new Registry();
    closed.close();
    check(refusal(() -> program.load("forward", closed)).startsWith("IllegalStateException: "), "");
  }

  private void objectsAreClosedInAnyOrder(Path plugin, Path model) {
    Registry first = new Registry();
    first.registerPlugin(plugin);
    Program second = new Program(model);
    check(second.methodNames().equals(List.of("forward")), second.methodNames());
    Method third = second.load("forward", first);
    first.close();
    second.close();
    checkSines(third, 4);
    third.close();
  }

  public static void main(String[] arguments) throws Exception {
    Path plugin = Path.of(arguments[0]);
    Path model = Path.of(arguments[1]);
    TenonTest test = new TenonTest(plugin, model);
    test.threadsShareAProgram();
    test.aFailureHasTheTextOfTheHost();
    test.whatIsWrongBeforeTheLibraryIsCalledIsRefused();
    test.anInputIsNotCopied();
    test.whatIsClosedIsRefused();
    test.objectsAreClosedInAnyOrder(plugin, model);
    System.out.println("6 tests passed");
  }
}
