"""The far ends of a switch's ports: frames are put on them and taken from them as they are."""
import errno
import select
import socket
import struct
import subprocess
import time

SOL_PACKET, PACKET_IGNORE_OUTGOING, ETH_P_ALL = 263, 23, 3
PATIENCE = 20


class Wire:
    """Network interfaces by the number of the port at their other end."""

    def __init__(self, interfaces, types):
        self.interfaces = interfaces
        # Whatever else hosts say of their own accord is passed over.
        self.types = types
        self.sockets = {port: self._open(name) for port, name in interfaces.items()}

    def _open(self, name):
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        raw.bind((name, 0))
        raw.setblocking(False)
        return raw

    def send(self, port, frame):
        assert self.sockets[port].send(frame) == len(frame)

    def receive(self, port):
        """The next frame; an error if none comes."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                frame = self.sockets[port].recv(65536)
            except OSError as error:
                # An interface that went down says so once.
                if error.errno not in (errno.EAGAIN, errno.ENETDOWN):
                    raise
                left = deadline - time.monotonic()
                assert left > 0, f"nothing more comes out of port {port}"
                select.select([self.sockets[port]], [], [], left)
                continue
            if struct.unpack_from("!H", frame, 12)[0] in self.types:
                return frame

    def set_up(self, port, up):
        """Plugs a cable in, or pulls it out."""
        state = "up" if up else "down"
        subprocess.run(["ip", "link", "set", self.interfaces[port], state], check=True)
