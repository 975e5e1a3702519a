"""Whether a further call is traced anew: what calls pass anew, and what `tf.function` looks traces up by."""
