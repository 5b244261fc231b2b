"""A proxy between an agent that joins a study and the study."""
import socket
import threading


class CuttingProxy:
    """Passes connections on, and cuts each of the first `cuts` ones after at least `after` bytes."""

    def __init__(self, target, cuts, after):
        self.target, self.cuts, self.after, self.made, self.sockets = target, cuts, after, 0, []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.server.accept()
                far = socket.create_connection(self.target)
            except OSError:
                return
            self.made += 1
            self.sockets += [near, far]
            left = [self.after + 997 * self.made if self.made <= self.cuts else float("inf")]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(source, sink, left), daemon=True).start()

    def close(self):
        for one in (self.server, *self.sockets):
            one.close()

    @staticmethod
    def carry(source, sink, left):
        try:
            while left[0] > 0:
                data = source.recv(1000)
                if not data:
                    break
                left[0] -= len(data)
                sink.sendall(data)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
