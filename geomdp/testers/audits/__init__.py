"""Exact audits of every tester and mechanism on tiny domains, and the planted bugs that they catch."""
