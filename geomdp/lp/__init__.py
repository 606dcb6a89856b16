"""The mathematical programs, once and readably; the only room that imports a solver."""
