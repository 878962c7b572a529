// SPDX-License-Identifier: MIT
package tenon;

/** Why a call failed: the host's status, as in ExecuTorch, and its text. */
public final class TenonException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private final int status;
  private final String name;

  TenonException(int status, String name, String text) {
    super(name + ": " + text);
    this.status = status;
    this.name = name;
  }

  /** The number of a TENON_STATUS_... */
  public int status() {
    return status;
  }

  /** "InvalidArgument", ... */
  public String name() {
    return name;
  }
}
