"""Settings of all tests."""

import signal

# A shell starts commands in the background with interrupts ignored, and Python then leaves them so.
# The tests send interrupts to themselves and to their children.
signal.signal(signal.SIGINT, signal.default_int_handler)
