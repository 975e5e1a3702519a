"""What counts as a metric in the output of a program, and when two programs agree."""

import math

import pytest

from hybridize.evaluate.metrics import compare, is_accuracy, is_loss, missing, read


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("step: 500, loss: 0.3412, accuracy: 0.9062", {"loss": (0.3412,), "accuracy": (0.9062,)}),
        ("step 30 loss 2.5 accuracy 0.25", {"loss": (2.5,), "accuracy": (0.25,)}),
        ("Epoch 3 - val_loss=1e-3 - val_acc=93.1%", {"val_loss": (0.001,), "val_acc": (93.1,)}),
        ("{'loss': 0.5, 'auc': 0.75}", {"loss": (0.5,), "auc": (0.75,)}),
        ("test loss is tf.Tensor(0.25, shape=(), dtype=float32)", {"test loss": (0.25,)}),
        ("generator loss 0.7, discriminator loss -1.3", {"generator loss": (0.7,), "discriminator loss": (-1.3,)}),
        ("epoch 1: test ELBO -90.2, elapsed 25.7 s", {"test elbo": (-90.2,)}),
        ("loss: nan", {"loss": (math.nan,)}),
        ("training took 12.5 s, 340 ms per step, step time 0.1", {}),
        ("loss_time: 3.0", {}),
        ("wrote 12 files to out3", {}),
    ],
)
def test_pairs_of_a_name_and_a_number(line: str, expected: dict[str, tuple[float, ...]]) -> None:
    assert repr(read(line)) == repr(expected)  # nan is not equal to itself


def test_values_of_a_name_are_a_series() -> None:
    assert read("step 1 loss 3\nstep 2 loss 2\nstep 3 loss 1\n") == {"loss": (3.0, 2.0, 1.0)}


def test_of_a_progress_bar_only_its_end_counts() -> None:
    bar = "1/3 [==>...] - loss: 3.0\r2/3 [====>.] - loss: 2.5\r3/3 [======] - 2s 5ms/step - loss: 2.0 - accuracy: 0.5\n"
    assert read(bar) == {"loss": (2.0,), "accuracy": (0.5,)}


def test_kinds() -> None:
    assert is_loss("val_loss")
    assert is_loss("mean squared error")
    assert is_accuracy("test accuracy")
    assert not is_accuracy("loss")


def test_a_difference_is_that_of_the_worst_place() -> None:
    (found,) = compare([{"loss": (1.0, 0.5)}], [{"loss": (1.1, 0.5)}])
    assert found.largest == pytest.approx(0.1 / 1.1)
    assert (found.original, found.refactored) == (0.5, 0.5)
    assert not found.equal(0.05)
    assert found.equal(0.1)


def test_what_differs_between_runs_of_the_original_is_no_difference() -> None:
    (found,) = compare([{"loss": (1.0,)}, {"loss": (1.2,)}], [{"loss": (1.1,)}])
    assert found.spread == pytest.approx(0.2 / 1.2)
    assert found.equal(0.01)


def test_shorter_series_and_nan_are_differences() -> None:
    (shorter,) = compare([{"loss": (1.0, 0.5)}], [{"loss": (1.0,)}])
    assert not shorter.equal(0.5)
    (broken,) = compare([{"loss": (1.0,)}], [{"loss": (math.nan,)}])
    assert not broken.equal(0.5)
    (both,) = compare([{"loss": (math.nan,)}], [{"loss": (math.nan,)}])
    assert both.equal(0.0)


def test_metrics_that_one_lacks() -> None:
    assert missing({"loss": (1.0,)}, {"loss": (1.0,), "auc": (1.0,)}) == ["auc"]
