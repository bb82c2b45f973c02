"""How long a server of ours lives: until it is told to end, or its parent dies."""

import os
import select
import signal


class Lifetime:
    """Make one before any thread is started: it takes over the signals. child says
    that standard input is a pipe which the parent holds open."""

    def __init__(self, child=True):
        self.child = child
        self.wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)

    def wait(self, seconds=None):
        """Returns True at SIGTERM or SIGINT, and False after so many seconds. When a
        child's standard input is closed, which is the parent's death, it ends the
        process at once."""
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        if self.child:
            poll.register(0, select.POLLIN)
        while ready := poll.poll(None if seconds is None else seconds * 1000):
            for fd, _ in ready:
                if fd == self.wake:
                    return True
                if not os.read(0, 4096):
                    os._exit(0)
        return False
