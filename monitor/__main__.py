"""`python -m monitor` is the console script."""

from monitor.cli.main import main

if __name__ == "__main__":
    main()
