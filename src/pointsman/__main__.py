"""``python -m pointsman`` is the command ``pointsman``."""

from pointsman.cli import main

if __name__ == "__main__":
    main()
