"""`python -m lp_gadgets.cli`."""

from lp_gadgets.cli import main

main()
