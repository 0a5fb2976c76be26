"""The rules of scipy.interpolate, for the versions of SciPy whose splines keep their numbers where the rules look.

From 1.18 on a spline hands its fields to another object. Without the rules its calls are refused.
"""

from scipy import __version__

if tuple(map(int, __version__.split(".")[:2])) < (1, 18):
    from adcompiler.rules import interpolate as interpolate
