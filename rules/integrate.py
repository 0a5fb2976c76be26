"""Rules for scipy.integrate."""
