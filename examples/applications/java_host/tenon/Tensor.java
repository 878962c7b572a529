// SPDX-License-Identifier: MIT
package tenon;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import java.lang.foreign.MemorySegment;

/**
 * An output: a view of the memory of its method, which the next run writes over.
 *
 * @param type null for those that this package has no name for
 * @param sizes in elements, outermost first; the elements are dense in this order
 */
public record Tensor(Type type, long[] sizes, MemorySegment bytes) {
  /** Types of elements, with their code of DLPack and their bits. */
  public enum Type {
    INT8(0, 8),
    INT32(0, 32),
    INT64(0, 64),
    UINT8(1, 8),
    FLOAT16(2, 16),
    FLOAT32(2, 32),
    FLOAT64(2, 64),
    BOOL(6, 8);

    final byte code;
    final byte bits;

    Type(int code, int bits) {
      this.code = (byte) code;
      this.bits = (byte) bits;
    }

    static Type of(byte code, byte bits) {
      for (Type type : values()) {
        if (type.code == code && type.bits == bits)
          return type;
      }
      return null;
    }
  }

  /** A copy of the elements of a FLOAT32. */
  public float[] toFloats() {
    if (type != Type.FLOAT32)
      throw new IllegalStateException("expected FLOAT32, found " + type);
    return bytes.toArray(JAVA_FLOAT);
  }
}
