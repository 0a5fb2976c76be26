"""The derivative rules. Importing this package registers all built-in ones."""

from adcompiler.rules import elementary as elementary
from adcompiler.rules import elementwise as elementwise
from adcompiler.rules import factorisations as factorisations
from adcompiler.rules import grids as grids
from adcompiler.rules import guarded as guarded
from adcompiler.rules import indexing as indexing
from adcompiler.rules import inert as inert
from adcompiler.rules import joining as joining
from adcompiler.rules import linalg as linalg
from adcompiler.rules import mathmodule as mathmodule
from adcompiler.rules import nanreductions as nanreductions
from adcompiler.rules import norms as norms
from adcompiler.rules import outside as outside
from adcompiler.rules import polynomials as polynomials
from adcompiler.rules import python as python
from adcompiler.rules import random as random
from adcompiler.rules import reductions as reductions
from adcompiler.rules import registry as registry
from adcompiler.rules import shaping as shaping

registry.later("cupy", "adcompiler.rules.cupy")
