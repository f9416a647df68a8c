"""``python -m planimeter`` is the command ``planimeter``."""

from planimeter._command import main

if __name__ == "__main__":
    main()
