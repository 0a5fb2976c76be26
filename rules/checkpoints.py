"""The rule of functions that are computed once more by the pullback."""

from adcompiler.rules.registry import rrule
from adcompiler.runtime.checkpoints import Again, checkpoint, recomputed


@rrule(recomputed, kind="unknown", accepts=(object,))
def recomputed_rule(f, /, *args, config, apart, **kwargs):
    call = Again(config.wanted, apart, f, args, kwargs)
    y, call.value = call.value, None

    def pullback(y_bar):
        f_bar, *bars = call.pullback(y_bar)
        return f_bar, tuple(bars[: len(args)]), dict(zip(kwargs, bars[len(args) :], strict=True))

    return y, pullback


@rrule(checkpoint, kind="unknown", accepts=(object,))
def checkpoint_rule(f):
    def pullback(y_bar):
        return (y_bar.get("f"),)

    return checkpoint(f), pullback
