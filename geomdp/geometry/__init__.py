"""Arrangements, dichotomies and containers: exact combinatorial geometry of finite integer domains."""
