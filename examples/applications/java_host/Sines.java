// SPDX-License-Identifier: MIT

import java.nio.file.Path;
import tenon.Method;
import tenon.Program;
import tenon.Registry;
import tenon.TenonException;

/** Runs a program through a plugin: Sines PLUGIN.so MODEL.pte. Its input is four numbers. */
public final class Sines {
  private Sines() {}

  // [run]
  static void run(Path plugin, Path model) {
    try (var registry = new Registry(); var program = new Program(model)) {
      registry.registerPlugin(plugin); // read, not loaded
      try (var method = program.load("forward", registry)) {
        method.setInput(0, new float[] {0.1f, 0.2f, 0.3f, 0.4f}, 1, 4);
        method.execute();
        for (float sine : method.output(0).toFloats()) System.out.println(sine);
      }
    }
  }
  // [run]

  public static void main(String[] arguments) {
    if (arguments.length != 2) {
      System.err.println("usage: Sines PLUGIN.so MODEL.pte");
      System.exit(2);
    }
    try {
      run(Path.of(arguments[0]), Path.of(arguments[1]));
    } catch (TenonException failure) {
      System.err.println("Sines: " + failure.getMessage());
      System.exit(1);
    }
  }
}
