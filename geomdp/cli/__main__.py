"""`python -m geomdp.cli`."""

from geomdp.cli import main

main()
