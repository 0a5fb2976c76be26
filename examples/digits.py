"""Train a two-layer perceptron on scikit-learn's 1,797 handwritten digits, with the gradient that adcompiler writes.

    python examples/digits.py           trains, then prints the accuracy on digits never seen and the time per step
    python examples/digits.py --show    prints the generated forward function and pullback as well

The network is plain NumPy over a dict of parameters. The same training step is timed with a gradient written by hand.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

from adcompiler import differentiable, tree_map, value_and_grad

HIDDEN = 64
BATCH = 64
HELD_OUT = 360
MOMENTUM = 0.9


@differentiable
def loss(params, x, y):
    """Mean cross-entropy of the network's classes for the images `x` and their one-hot labels `y`."""
    hidden = np.tanh(x @ params["W1"] + params["b1"])
    logits = hidden @ params["W2"] + params["b2"]
    logits = logits - np.max(logits, axis=1, keepdims=True)
    log_p = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    return -np.mean(np.sum(y * log_p, axis=1))


def loss_and_gradient_by_hand(params, x, y):
    """The same loss and its gradient, as one would derive them on paper."""
    hidden = np.tanh(x @ params["W1"] + params["b1"])
    logits = hidden @ params["W2"] + params["b2"]
    logits = logits - np.max(logits, axis=1, keepdims=True)
    p = np.exp(logits)
    total = np.sum(p, axis=1, keepdims=True)
    value = -np.mean(np.sum(y * (logits - np.log(total)), axis=1))

    logits_bar = (p / total - y) / len(x)
    hidden_bar = (logits_bar @ params["W2"].T) * (1 - hidden * hidden)
    gradient = {
        "W1": x.T @ hidden_bar,
        "b1": np.sum(hidden_bar, axis=0),
        "W2": hidden.T @ logits_bar,
        "b2": np.sum(logits_bar, axis=0),
    }
    return value, gradient


def predict(params, x):
    """The most likely digit for each image."""
    hidden = np.tanh(x @ params["W1"] + params["b1"])
    return np.argmax(hidden @ params["W2"] + params["b2"], axis=1)


def load_data(rng):
    """Images with values from 0 to 1 and their digits, in random order: those to train on, then those held out."""
    digits = load_digits()
    order = rng.permutation(len(digits.target))
    images, labels = digits.data[order] / 16.0, digits.target[order]
    return images[HELD_OUT:], labels[HELD_OUT:], images[:HELD_OUT], labels[:HELD_OUT]


def initial_params(rng):
    return {
        "W1": rng.normal(size=(64, HIDDEN)) / np.sqrt(64),
        "b1": np.zeros(HIDDEN),
        "W2": rng.normal(size=(HIDDEN, 10)) / np.sqrt(HIDDEN),
        "b2": np.zeros(10),
    }


def step(loss_and_gradient, params, velocity, rate, batch):
    """One step of gradient descent with momentum."""
    value, gradient = loss_and_gradient(params, *batch)
    velocity = tree_map(lambda v, g: MOMENTUM * v - rate * g, velocity, gradient)
    params = tree_map(lambda p, v: p + v, params, velocity)
    return value, params, velocity


def train(loss_and_gradient, params, images, labels, steps, rng):
    """The trained parameters; the learning rate falls linearly to zero."""
    velocity = {name: np.zeros_like(value) for name, value in params.items()}
    one_hot = np.eye(10)[labels]
    with tqdm(range(steps), desc="training", unit="step") as bar:
        for number in bar:
            chosen = rng.integers(len(images), size=BATCH)
            rate = 0.1 * (1 - number / steps)
            batch = images[chosen], one_hot[chosen]
            value, params, velocity = step(loss_and_gradient, params, velocity, rate, batch)
            if number % 50 == 0:
                bar.set_postfix(loss=f"{value:.3f}", refresh=False)
    return params


def time_per_step(loss_and_gradient, params, batch, repeats=200):
    """Microseconds of the fastest of many equal steps."""
    velocity = {name: np.zeros_like(value) for name, value in params.items()}
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        step(loss_and_gradient, params, velocity, 0.1, batch)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def main():
    parser = argparse.ArgumentParser(description="Train a small network on handwritten digits.")
    parser.add_argument("--steps", type=int, default=2000, help="training steps (default: %(default)s)")
    parser.add_argument("--show", action="store_true", help="print the generated derivative of the loss")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    images, labels, held_out_images, held_out_labels = load_data(rng)
    params = initial_params(rng)
    batch = images[:BATCH], np.eye(10)[labels[:BATCH]]
    if options.show:
        print(loss.source(params, *batch))

    generated, by_hand = value_and_grad(loss), loss_and_gradient_by_hand
    params = train(generated, params, images, labels, options.steps, rng)
    accuracy = np.mean(predict(params, held_out_images) == held_out_labels)
    print(f"accuracy on {HELD_OUT} digits not trained on: {accuracy:.3f}")
    print(f"time per step, generated gradient: {time_per_step(generated, params, batch):4.0f} µs")
    print(f"time per step, gradient by hand:   {time_per_step(by_hand, params, batch):4.0f} µs")


if __name__ == "__main__":
    main()
