"""The exceptions of the package: everything that is refused is a DifferentiationError."""


class DifferentiationError(Exception):
    """The function cannot be differentiated, and no number was made up instead.

    The message says what was met, where (the user's file, line and source text), why it is not supported, and one
    concrete next step. Exceptions that the user's own code raises are never wrapped in this class; a TypeError in the
    pullback of a rule is the cause of one that names the rule.
    """

    origin: object = None  # the place in the user's file (adcompiler.errors.Origin), where it is known


class UnsupportedSyntaxError(DifferentiationError):
    """The source uses a form of Python that is outside the supported subset."""


class NoRuleError(DifferentiationError):
    """A function that has neither a derivative rule nor Python source was called with something to differentiate."""


class MutationError(DifferentiationError):
    """A write to an array or container whose derivative cannot be given."""


class NotScalarError(DifferentiationError):
    """A gradient was asked of a function whose output is not one real number."""


class SourceNotFoundError(DifferentiationError):
    """The Python source of a function cannot be read, so there is nothing to compile."""


class PullbackConsumedError(DifferentiationError):
    """A single-use pullback was called a second time, after it had given up its saved values."""


class TangentError(DifferentiationError, TypeError):
    """A derivative was asked for, or given, where its type has no meaning (of an int, of a wrong structure)."""


for _error in [DifferentiationError, *DifferentiationError.__subclasses__()]:
    _error.__module__ = "adcompiler"  # where users find them, and how tracebacks call them
