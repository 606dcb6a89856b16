"""Exact arithmetic on integers and Fractions: rational input, linear algebra, Farkas vectors, simplex."""
