"""Shared helpers of the tests: samplers, zoo, strategies. Import as `support`."""
