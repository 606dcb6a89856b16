"""Ground floor: domains, samples, classifiers, errors. Imports numpy only."""
