"""Source-to-source reverse-mode AD for NumPy and CuPy code: the gradient of a plain function, as readable Python."""

from pathlib import Path

# A checkout keeps rules/ and runtime/ beside this package; a wheel has them inside.
_package = Path(__file__).resolve().parent
if not (_package / "rules").is_dir():
    __path__.append(str(_package.parent))

import adcompiler.rules  # noqa: F401  registers the built-in rules
from adcompiler import nested as nested
from adcompiler import towers as towers
from adcompiler.api import differentiable as differentiable
from adcompiler.api import gradient as gradient
from adcompiler.api import pullback as pullback
from adcompiler.api import value_and_grad as value_and_grad
from adcompiler.errors import DifferentiationError as DifferentiationError
from adcompiler.errors import MutationError as MutationError
from adcompiler.errors import NoRuleError as NoRuleError
from adcompiler.errors import NotScalarError as NotScalarError
from adcompiler.errors import PullbackConsumedError as PullbackConsumedError
from adcompiler.errors import SourceNotFoundError as SourceNotFoundError
from adcompiler.errors import TangentError as TangentError
from adcompiler.errors import UnsupportedSyntaxError as UnsupportedSyntaxError
from adcompiler.forward_api import jvp as jvp
from adcompiler.hessians import diag_hessian as diag_hessian
from adcompiler.hessians import hessian as hessian
from adcompiler.hessians import hvp as hvp
from adcompiler.jacobians import jacobian as jacobian
from adcompiler.jacobians import value_and_jacobian as value_and_jacobian
from adcompiler.memory import MemoryReport as MemoryReport
from adcompiler.memory import memory_report as memory_report
from adcompiler.rules.forward import frule as frule
from adcompiler.rules.registry import non_differentiable as non_differentiable
from adcompiler.rules.registry import opt_out as opt_out
from adcompiler.rules.registry import rrule as rrule
from adcompiler.rules.registry import scalar_rule as scalar_rule
from adcompiler.runtime.checkpoints import checkpoint as checkpoint
from adcompiler.runtime.custom import custom_pullback as custom_pullback
from adcompiler.runtime.marks import hook as hook
from adcompiler.runtime.marks import is_differentiating as is_differentiating
from adcompiler.runtime.marks import showgrad as showgrad
from adcompiler.runtime.marks import stop_gradient as stop_gradient
from adcompiler.runtime.project import materialize as materialize
from adcompiler.runtime.release import ReleaseStats as ReleaseStats
from adcompiler.runtime.release import release_mode as release_mode
from adcompiler.runtime.release import release_stats as release_stats
from adcompiler.runtime.revolve import checkpoint_loop as checkpoint_loop
from adcompiler.runtime.tangents import NO_TANGENT as NO_TANGENT
from adcompiler.runtime.tangents import NotImplementedTangent as NotImplementedTangent
from adcompiler.runtime.tangents import Tangent as Tangent
from adcompiler.runtime.tangents import Thunk as Thunk
from adcompiler.runtime.walk import tree_map as tree_map
from adcompiler.testing import check_gradient as check_gradient
from adcompiler.testing import check_rule as check_rule
from adcompiler.version import __version__ as __version__

grad = gradient
