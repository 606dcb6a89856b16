"""Noise, selection, budgets and exact audits: everything that makes a released value private."""
