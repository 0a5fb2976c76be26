"""The derivative rules. Importing this package registers all built-in ones."""

from importlib.util import find_spec

import numpy as np

from adcompiler.rules import axes as axes
from adcompiler.rules import callbacks as callbacks
from adcompiler.rules import checkpoints as checkpoints
from adcompiler.rules import cmathmodule as cmathmodule
from adcompiler.rules import conversions as conversions
from adcompiler.rules import counting as counting
from adcompiler.rules import covariance as covariance
from adcompiler.rules import diagonals as diagonals
from adcompiler.rules import elementary as elementary
from adcompiler.rules import elementwise as elementwise
from adcompiler.rules import emath as emath
from adcompiler.rules import factorisations as factorisations
from adcompiler.rules import forward_conversions as forward_conversions
from adcompiler.rules import forward_elementary as forward_elementary
from adcompiler.rules import forward_elementwise as forward_elementwise
from adcompiler.rules import forward_emath as forward_emath
from adcompiler.rules import forward_factorisations as forward_factorisations
from adcompiler.rules import forward_guarded as forward_guarded
from adcompiler.rules import forward_linalg as forward_linalg
from adcompiler.rules import forward_math as forward_math
from adcompiler.rules import forward_ordering as forward_ordering
from adcompiler.rules import forward_parts as forward_parts
from adcompiler.rules import forward_reductions as forward_reductions
from adcompiler.rules import forward_samples as forward_samples
from adcompiler.rules import forward_selected as forward_selected
from adcompiler.rules import fourier as fourier
from adcompiler.rules import grids as grids
from adcompiler.rules import guarded as guarded
from adcompiler.rules import helpers_functions as helpers_functions
from adcompiler.rules import helpers_guarded as helpers_guarded
from adcompiler.rules import helpers_inert as helpers_inert
from adcompiler.rules import helpers_pushing as helpers_pushing
from adcompiler.rules import helpers_reductions as helpers_reductions
from adcompiler.rules import helpers_shapes as helpers_shapes
from adcompiler.rules import indexing as indexing
from adcompiler.rules import inert as inert
from adcompiler.rules import joining as joining
from adcompiler.rules import linalg as linalg
from adcompiler.rules import mathmodule as mathmodule
from adcompiler.rules import memory as memory
from adcompiler.rules import nanreductions as nanreductions
from adcompiler.rules import norms as norms
from adcompiler.rules import outside as outside
from adcompiler.rules import polynomials as polynomials
from adcompiler.rules import products as products
from adcompiler.rules import python as python
from adcompiler.rules import quantiles as quantiles
from adcompiler.rules import random as random
from adcompiler.rules import ranges as ranges
from adcompiler.rules import reductions as reductions
from adcompiler.rules import reductions_general as reductions_general
from adcompiler.rules import registry as registry
from adcompiler.rules import repeating as repeating
from adcompiler.rules import running as running
from adcompiler.rules import shaping as shaping
from adcompiler.rules import sorting as sorting
from adcompiler.rules import splitting as splitting
from adcompiler.rules import ufuncs as ufuncs
from adcompiler.rules.registry import later

if hasattr(np, "cumulative_sum"):
    from adcompiler.rules import cumulative as cumulative
if hasattr(np, "matvec"):
    from adcompiler.rules import matvec as matvec

later("cupy", "adcompiler.rules.cupy")
later("statistics", "adcompiler.rules.statisticsmodule")
later("scipy.fft", "adcompiler.rules.scipy_fft")
later("scipy.integrate", "adcompiler.rules.integrate")
later("scipy.special", "adcompiler.rules.special")
later("scipy.stats", "adcompiler.rules.stats")
later("scipy.optimize", "adcompiler.rules.optimize")
later("scipy.linalg", "adcompiler.rules.scipy_linalg")
later("scipy.sparse", "adcompiler.rules.sparse")
later("scipy.signal", "adcompiler.rules.signal")
later("scipy.interpolate", "adcompiler.rules.interpolate_versions")
later("scipy.ndimage", "adcompiler.rules.ndimage")
later("scipy.spatial.distance", "adcompiler.rules.distance")
if find_spec("scipy") is not None:  # CuPy does without
    later("cupyx.scipy.special", "adcompiler.rules.special")
