"""What Keras does around a trace: weights of layers, models and optimizers, masks, the mode, callbacks."""
