"""Interface: the network interface of this machine by which the first one is reached, where gloo would guess another.

And how the first one is waited for. Gloo takes the address that the machine's own name has, which in many
installations is one of the loopback.
"""

import socket
import struct
import time

try:
    from fcntl import ioctl
except ImportError:  # Windows
    ioctl = None  # type: ignore[assignment]

SIOCGIFADDR = 0x8915
"""The ioctl that asks for the IPv4 address of an interface (netdevice(7))."""


SECONDS_BETWEEN_LOOKS = 0.25
"""At most this late does a process find that the first one has come."""
SECONDS_OF_A_LOOK = 5.0
"""Where packets are dropped, the kernel would try for minutes."""


def await_listener(address: str, port: int, seconds: float) -> None:
    """Wait until somebody listens at a place. Raises RuntimeError where nobody does within so many seconds.

    Torch would look ever more seldom: measured, 13 seconds too late for one who comes after 45.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((address, port), timeout=SECONDS_OF_A_LOOK).close()
            return
        except OSError as error:
            if time.monotonic() > until:
                raise RuntimeError(f"nobody listens there: {error.strerror or error}") from error
        time.sleep(SECONDS_BETWEEN_LOOKS)


def interface_towards(address: str, port: int) -> str | None:
    """Return by which interface connections to a place go out; None where that is unknown, or only the loopback."""
    if ioctl is None:
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, port))  # which sends nothing
            own = probe.getsockname()[0]
        except OSError:
            return None
        if own.startswith("127."):
            return None
        for _, name in socket.if_nameindex():
            if _address_of(probe, name) == own:
                return name
    return None


def _address_of(any_socket: socket.socket, interface: str) -> str | None:
    request = struct.pack("256s", interface.encode())
    try:
        return socket.inet_ntoa(ioctl(any_socket, SIOCGIFADDR, request)[20:24])
    except OSError:  # it has none, or none of IPv4
        return None
