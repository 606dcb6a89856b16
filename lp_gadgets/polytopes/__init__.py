"""Exact facets of finite point sets: double description, the walk across ridges, closed forms."""
