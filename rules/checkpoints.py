"""The rules of functions and loops that are computed once more by the pullback."""

from adcompiler.rules.registry import rrule
from adcompiler.runtime.checkpoints import called, checkpoint, recomputed
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


@rrule(checkpoint_loop, kind="unknown", accepts=(object,))
def checkpoint_loop_rule(body, state, n, *, snapshots=None, config, written_later):
    steps = Steps(config, written_later, body, state, n, snapshots)
    y = steps.run(state)

    def pullback(y_bar):
        body_bar, state_bar = steps.pullback(y_bar)
        return body_bar, state_bar, None, None

    return y, pullback
