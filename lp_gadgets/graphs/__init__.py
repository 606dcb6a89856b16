"""Tanner graphs: the data, makers of graphs, peeling, and the parts of the stopping-distance search."""
