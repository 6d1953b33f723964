"""``python -m isotherm``: the program."""

from isotherm.start import main

if __name__ == "__main__":
    main()
