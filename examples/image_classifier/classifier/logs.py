"""What the training loop remembers and shows."""


class History:
    """The loss of each step."""

    def __init__(self):
        self.losses = []

    def record(self, loss):
        self.losses.append(loss.numpy())

    def last(self, count):
        return [f"{loss:.4f}" for loss in self.losses[-count:]]


def show_batch(images, labels):
    print(f"a batch of shape {tuple(images.shape)} with labels {labels.numpy()[:8]}")
    return images


def show_epoch(epoch, loss, accuracy):
    print(f"epoch {epoch + 1}: loss {loss:.4f}, accuracy {accuracy:.3f}")
