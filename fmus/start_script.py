"""Start the model of the unit whose resources this file is among, for a host that is not Python.

The unit's library runs this with the interpreter that it has found, a socket as standard input. The file itself runs in
any Python 3, old ones too: its first task is to say what this one lacks.
"""

import os
import struct
import sys

# As in fmi2_process.c.
ELSEWHERE, ERROR, SOCKET = 100, 3, 0


def refuse(reason: str) -> None:
    """Tell the unit's library that this interpreter will not do, and why."""
    text = reason.encode("utf-8") + b"\0"
    os.write(SOCKET, struct.pack("=III", ELSEWHERE, 8 + len(text), 0) + struct.pack("=II", ERROR, len(text)) + text)
    os._exit(1)


def main() -> None:
    # Files and sockets of the host's that it did not mean to hand down.
    os.closerange(3, 4096)
    version = ".".join(str(part) for part in sys.version_info[:2])
    # A name of its own: a checker that knows the version would call the rest unreachable.
    oldest = (3, 11)
    if sys.version_info < oldest:
        refuse(f"is Python {version}, which is too old")
    here = os.path.dirname(os.path.abspath(__file__))
    bundle = os.path.join(here, "bundle")
    sys.path[0:1] = [bundle] if os.path.isdir(bundle) else []
    try:
        from simloop.fmus.serve import serve
    except ImportError as error:
        refuse(f"(Python {version}) has not all the packages: {error}")
    serve(SOCKET, here)


if __name__ == "__main__":
    main()
