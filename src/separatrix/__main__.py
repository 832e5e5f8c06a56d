"""``python -m separatrix`` is the command ``separatrix``."""

from .apps.cli import main

if __name__ == "__main__":
    main()
