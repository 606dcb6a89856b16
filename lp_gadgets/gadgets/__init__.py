"""Rows that impose one relation: encodings, facets as rows, why they force, and with what slack."""
