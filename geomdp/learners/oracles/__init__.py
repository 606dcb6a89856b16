"""Component oracles: private choices of one coordinate, and of a point between given points."""
