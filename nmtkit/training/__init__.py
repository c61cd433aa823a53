"""Training: the loop, optimizers, schedules, validation, checkpoints."""
