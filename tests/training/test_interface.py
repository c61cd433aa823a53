"""The interface by which another machine is reached, and waiting for the first one."""

import socket
import sys
import threading

import pytest

from nmtkit.training import interface
from nmtkit.training.interface import await_listener, interface_towards


class Probe:
    """A socket whose connections go out by one address; interfaces have those that a test gives them."""

    def __init__(self, own: str) -> None:
        self.own = own

    def __call__(self, *kind):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def connect(self, place):
        if not self.own:
            raise OSError("Network is unreachable")

    def getsockname(self):
        return self.own, 4711


@pytest.fixture
def machine(monkeypatch):
    """A machine with two interfaces that have addresses, and one without."""
    addresses = {"lo": "127.0.0.1", "ib0": "10.1.0.7", "eth0": "192.0.2.7"}

    def ioctl(probe, what, request):
        name = request.rstrip(b"\0").decode()
        if name not in addresses:
            raise OSError("Cannot assign requested address")
        return bytes(20) + socket.inet_aton(addresses[name]) + bytes(232)

    monkeypatch.setattr(interface, "ioctl", ioctl)
    monkeypatch.setattr(socket, "if_nameindex", lambda: list(enumerate(["lo", "wifi", "ib0", "eth0"])))
    return lambda own: monkeypatch.setattr(socket, "socket", Probe(own))


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ("192.0.2.7", "eth0"),
        ("10.1.0.7", "ib0"),
        ("127.0.0.1", None),  # the first machine itself, whose name leads to the loopback
        ("127.0.1.1", None),
        ("10.1.0.8", None),  # another address of an interface
        ("", None),  # no way there
    ],
)
def test_which_interface_has_the_address_that_connections_go_out_by(machine, own, name):
    machine(own)
    assert interface_towards("gpu01", 29500) == name


def test_another_system_leaves_it_to_gloo(machine, monkeypatch):
    machine("192.0.2.7")
    monkeypatch.setattr(interface, "ioctl", None)
    assert interface_towards("gpu01", 29500) is None


@pytest.mark.skipif(sys.platform != "linux", reason="the ioctl is Linux's")
def test_here():
    assert interface_towards("127.0.0.1", 29500) is None
    with socket.socket() as any_socket:
        assert interface._address_of(any_socket, "lo") == "127.0.0.1"
        assert interface._address_of(any_socket, "none") is None


def test_a_listener_that_comes_late_is_waited_for() -> None:
    with socket.socket() as late:
        late.bind(("127.0.0.1", 0))
        begun = threading.Event()

        def listen() -> None:
            begun.set()
            late.listen()

        timer = threading.Timer(0.3, listen)
        timer.start()
        await_listener("127.0.0.1", late.getsockname()[1], 60)
        assert begun.is_set()
        timer.join()


@pytest.mark.parametrize("address", ["127.0.0.1", "no.such.machine.invalid"])
def test_who_does_not_listen_in_time_is_given_up(address: str) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(RuntimeError, match=r"^nobody listens there: "):
            await_listener(address, silent.getsockname()[1], 0.1)
