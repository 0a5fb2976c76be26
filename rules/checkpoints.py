"""The rules of functions and loops that are computed once more by the pullback, and of pullbacks of the user's own."""

from adcompiler.rules.registry import non_differentiable, rrule
from adcompiler.runtime.checkpoints import called, checkpoint, recomputed
from adcompiler.runtime.custom import custom_pullback, with_pullback, with_pullback_rule
from adcompiler.runtime.marks import Printed, is_differentiating
from adcompiler.runtime.revolve import Steps, checkpoint_loop


@rrule(recomputed, kind="unknown", accepts=(object,))
def recomputed_rule(f, /, *args, config, written_later, **kwargs):
    y, call = called(config.wanted, written_later, f, args, kwargs)

    def pullback(y_bar):
        f_bar, *bars = call.pullback(y_bar)
        return f_bar, tuple(bars[: len(args)]), dict(zip(kwargs, bars[len(args) :], strict=True))

    return y, pullback


@rrule(checkpoint, kind="unknown", accepts=(object,))
def checkpoint_rule(f):
    def pullback(y_bar):
        return (y_bar.get("f"),)

    return checkpoint(f), pullback


rrule(with_pullback, kind="unknown")(with_pullback_rule)
non_differentiable(is_differentiating, kind="bool")
non_differentiable(Printed, kind="other")


@rrule(custom_pullback, kind="unknown", accepts=(object,))
def custom_pullback_rule(f):
    def pullback(y_bar):
        return (y_bar.get("f"),)

    return custom_pullback(f), pullback


@rrule(checkpoint_loop, kind="unknown", accepts=(object,))
def checkpoint_loop_rule(body, state, n, *, snapshots=None, config, written_later):
    steps = Steps(config, written_later, body, state, n, snapshots)
    y = steps.run(state)

    def pullback(y_bar):
        body_bar, state_bar = steps.pullback(y_bar)
        return body_bar, state_bar, None, None

    return y, pullback
