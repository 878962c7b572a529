# SPDX-License-Identifier: MIT


class Error(RuntimeError):
    """A failure, with ExecuTorch's number and name, and a text.

        try:
            method(x)
        except tenon.Error as failure:
            print(failure.number, failure.name, failure.text)  # 18 InvalidArgument method forward: ...

    A wrong Python type is a TypeError instead.
    """

    number: int
    name: str
    text: str

    def __init__(self, number: int, name: str, text: str) -> None:
        super().__init__(number, name, text)
        self.number = number
        self.name = name
        self.text = text

    def __str__(self) -> str:
        return f"{self.name} (0x{self.number:02x}): {self.text}"


Error.__module__ = "tenon"
